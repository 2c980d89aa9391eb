#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Solves a list of matrices RUNS times with the option `deterministic` while all processors are busy, for 1, 2, 3 and 8
# OpenMP threads: all bits must agree (docs/deterministic.md). LUTRA_MATRICES, if set, names a folder for more matrices.
# Two runs of the generated matrices are part of scripts/test.sh.
#
#   scripts/deterministic.sh [BUILD FOLDER] [RUNS] [THREADS]
set -euo pipefail
build="${1:-build/openmp}"
options="--load${LUTRA_MATRICES:+ --matrices $LUTRA_MATRICES}"
cmake "-DPROGRAM=$build/unit_tests/campaign/lutra_deterministic" "-DTHREADS=${3:-1,2,3,8}" "-DRUNS=${2:-100}" \
  "-DOPTIONS=$options" -P "$(dirname "$0")/../unit_tests/campaign/deterministic.cmake"
