#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests two thousand KKT matrices with known inertia, for each type and space of a build. Permutations, scales, stored
# zeros, shifts and thresholds must not change the inertia. The first twenty are part of scripts/test.sh.
#
#   scripts/kkt.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_KKT="${2:-2000}" "$build/unit_tests/solver/lutra_test_solver" "[kkt]"
