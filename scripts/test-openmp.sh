#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds Lutra with OpenMP and runs all tests on several threads.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/test-openmp.sh [options] [-- ctest options]
Builds Lutra in build/openmp and runs all tests on several threads; the exit status is ctest's.
Kokkos_ROOT names a Kokkos with OpenMP; docs/building.md shows how to build one.
LUTRA_MATRICES, if set, names a folder of matrices for further tests.

  --threads N     threads of each test (default 2)
  -DNAME=VALUE    passed to CMake, for instance -DLutra_SCALARS=f64
  --yes           install missing packages without asking
  --help          this text
END
}

threads=2
definitions=()
ctest_options=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --yes | -y) assume_yes=true ;;
    --threads) threads=${2:-} && shift ;;
    -D?*) definitions+=("$1") ;;
    --) shift && ctest_options=("$@") && break ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift
done
[[ $threads =~ ^[1-9][0-9]*$ ]] || die "--threads takes a positive number"
[[ -n ${Kokkos_ROOT:-} ]] || die "Kokkos_ROOT is not set; it names a Kokkos with OpenMP"

preset=openmp
setup test
if [[ ${#definitions[@]} -gt 0 ]]; then configure "${definitions[@]}"; fi
build --target all
cd "$root"
# Tests of several ranks set OMP_NUM_THREADS=1 for themselves.
export OMP_NUM_THREADS=$threads OMP_PROC_BIND=false
tests_at_once=$(((jobs + threads - 1) / threads))
ctest --preset "$preset" --output-on-failure --parallel "$tests_at_once" "${ctest_options[@]}"
