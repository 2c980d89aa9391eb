#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ten thousand matrices that are out to break incomplete factors and Krylov methods, for each type and space
# of a build: no NaN without a status that says so, no success whose residual is above the tolerance.
# The first hundred are part of scripts/test.sh.
#
#   scripts/hostile.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_HOSTILE="${2:-10000}" "$build/unit_tests/solver/lutra_test_solver" "[hostile]"
