#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two thousand KKT matrices whose inertia is known by construction, for each type and space of a build:
# permutations, scales, stored zeros, shifts and thresholds must not change it. The first twenty are part of
# scripts/test.sh.
#
#   scripts/kkt.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_KKT="${2:-2000}" "$build/unit_tests/solver/lutra_test_solver" "[kkt]"
