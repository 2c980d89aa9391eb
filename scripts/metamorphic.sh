#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Solves ten thousand generated matrices and every matrix of the folder LUTRA_MATRICES in seven ways, and again after
# changes that leave the solution known: units, permutations, transposition, doubling, zeros, signs (docs/reliability.md).
# Five hundred generated matrices and the twenty smallest of the folder are part of scripts/test.sh. Options after the
# build folder go to the program: --first 0 --generated 10000 --real 0 --seconds 20 …
#
#   scripts/metamorphic.sh [BUILD FOLDER] [options]
set -euo pipefail
build="${1:-build/release}"
shift || true
exec "$build/unit_tests/campaign/lutra_test_metamorphic" --generated 10000 --real 100000 "$@"
