#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests two thousand sequences of values whose rows and columns grow and shrink, for each type and space of a build. A
# solver that keeps its analysis must give the result of a fresh solver. The first fifty are part of scripts/test.sh.
#
#   scripts/sequences.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_SEQUENCES="${2:-2000}" "$build/unit_tests/solver/lutra_test_solver" "[sequences]"
