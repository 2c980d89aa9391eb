#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The same Krylov solves with ParILU and ParILUT a hundred times while all processors are busy: deterministic
# sweeps must give the same bits; of asynchronous ones the spread of iterations is printed. Four runs of
# smaller matrices are part of scripts/test.sh.
#
#   OMP_NUM_THREADS=2 scripts/repeats.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/openmp}"
LUTRA_REPEATS="${2:-100}" "$build/unit_tests/driver/lutra_test_driver" "[repeats]"
