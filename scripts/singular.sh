#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests ten thousand singular matrices and ten thousand regular ones, for each type and space of a build. No singular
# matrix may be reported as solved. The condition of the regular ones leaves half of the digits, and none may be refused.
# The first hundred of each are part of scripts/test.sh.
#
#   scripts/singular.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/release}"
LUTRA_SINGULAR="${2:-10000}" "$build/unit_tests/solver/lutra_test_solver" "[singular]"
