#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two thousand sequences of values whose rows and columns grow and shrink: a solver that keeps its analysis answers
# as a fresh one, for each type and space of a build. The first fifty are part of scripts/test.sh.
#
#   scripts/sequences.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_SEQUENCES="${2:-2000}" "$build/unit_tests/solver/lutra_test_solver" "[sequences]"
