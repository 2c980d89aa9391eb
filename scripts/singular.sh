#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ten thousand singular matrices, none of which may be called solved, and ten thousand regular ones whose
# condition leaves half of the digits, none of which may be refused, for each type and space of a build.
# The first hundred of each are part of scripts/test.sh.
#
#   scripts/singular.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_SINGULAR="${2:-10000}" "$build/unit_tests/solver/lutra_test_solver" "[singular]"
