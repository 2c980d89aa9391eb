#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Repeats Krylov solves with ParILU and ParILUT a hundred times while all processors are busy. Deterministic sweeps must
# give the same bits. For asynchronous sweeps the spread of iterations is printed. Two runs of smaller matrices are part
# of scripts/test.sh.
#
#   OMP_NUM_THREADS=2 scripts/repeats.sh [BUILD FOLDER] [COUNT]
set -euo pipefail
build="${1:-build/openmp}"
# Waiting threads sleep, so that the load gets the processors.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
LUTRA_REPEATS="${2:-100}" "$build/unit_tests/solver/lutra_test_solver" "[repeats]"
