#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles the library for HIP. Nothing runs, so no GPU is needed.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/compile-hip.sh [options]
Compiles the library for HIP in build/hip, in double precision. Nothing runs, so no GPU is needed. All sources are
compiled, even if some fail; the exit status is 0 if none did.
Kokkos_ROOT names a Kokkos with HIP; docs/building.md shows how to build one.

  -DNAME=VALUE    passed to CMake, for instance -DLutra_SCALARS=c128
  --help          this text
END
}

definitions=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    -D?*) definitions+=("$1") ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift
done
[[ -n ${Kokkos_ROOT:-} ]] || die "Kokkos_ROOT is not set; it names a Kokkos with HIP"
hipcc=${CXX:-hipcc}
command -v "$hipcc" >/dev/null || die "$hipcc is not installed; Debian's package is hipcc"

cmake -S "$root" -B "$root/build/hip" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$hipcc" \
  -DLutra_REQUIRE_BACKENDS=HIP -DLutra_SCALARS=f64 -DLutra_ENABLE_CLI=OFF -DLutra_ENABLE_C=OFF \
  -DLutra_ENABLE_TESTS=OFF -DLutra_ENABLE_EXAMPLES=OFF "${definitions[@]}"
cmake --build "$root/build/hip" --parallel "$jobs" --target lutra -- -k 0
