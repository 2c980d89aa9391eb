#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests ten thousand matrices built to break incomplete factorizations and Krylov methods, and ten thousand batches with
# systems built to be called solved, for each type and space of a build. NaN must come with a status that reports it, and
# success with an error below the tolerance; systems beside broken ones keep their bits, and none that is singular to the
# last bit is solved. The first hundred of each are part of scripts/test.sh.
#
#   scripts/hostile.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
count="${2:-10000}"
LUTRA_HOSTILE="$count" "$build/unit_tests/solver/lutra_test_solver" "[hostile]"
LUTRA_HOSTILE_BATCHES="$count" "$build/unit_tests/batch/lutra_test_batch" "[hostile]"
