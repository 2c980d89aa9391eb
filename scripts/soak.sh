#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Refactorizes and solves a million times on systems of about 100 rows, then on systems of 100 to 20,000 rows for
# MINUTES, then with eight threads of their own instances for MINUTES. Fails if a solution is wrong, or if time or memory
# grew (docs/reliability.md). With OpenMP set OMP_NUM_THREADS to 8 or more. Thirty thousand steps are part of scripts/test.sh.
#
#   scripts/soak.sh [BUILD FOLDER] [MINUTES] [STEPS]
set -euo pipefail
soak="${1:-build/release}/unit_tests/campaign/lutra_soak"
minutes="${2:-8}"
"$soak" --steps "${3:-1000000}"
"$soak" --tasks mixed --minutes "$minutes"
"$soak" --tasks mixed --minutes "$minutes" --threads 8
