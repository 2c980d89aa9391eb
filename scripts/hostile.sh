#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests ten thousand matrices built to break incomplete factorizations and Krylov methods, for each type and space of a
# build. NaN must come with a status that reports it, and success with a residual below the tolerance. The first hundred
# are part of scripts/test.sh.
#
#   scripts/hostile.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_HOSTILE="${2:-10000}" "$build/unit_tests/solver/lutra_test_solver" "[hostile]"
