#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets up, builds the program lutra for real and complex double and solves a generated circuit matrix with it.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/quickstart.sh [options]
Sets up, builds the program lutra for real and complex double and solves a generated circuit matrix with it.
An existing build folder keeps its configuration.

  --size N        unknowns of that matrix (default 20000)
$common_options_help
END
}

size=20000
while [[ $# -gt 0 ]]; do
  take_common_option "$@"
  if [[ $taken -gt 0 ]]; then
    shift "$taken"
    continue
  fi
  case $1 in
    --help | -h) usage && exit 0 ;;
    --size) size=${2:-} && shift ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift
done
[[ $size =~ ^[1-9][0-9]*$ ]] || die "--size takes a positive number"

setup run
build --target lutra_cli
lutra=$root/build/$preset/bin/lutra
matrix=$root/build/$preset/circuit-$size.mtx
[[ -f $matrix ]] || "$lutra" generate circuit --size "$size" "$matrix"
say
say "$ lutra solve $matrix"
"$lutra" solve "$matrix"
say
say "For your own file, and to add lutra to PATH:"
say "  $lutra solve A.mtx"
say "  export PATH=$(dirname "$lutra"):\$PATH"
if has_few_types; then
  say "Compiled for real and complex double. All types and the C interface take about twice as long:"
  say "  cmake --preset $preset -ULutra_SCALARS && cmake --build --preset $preset"
fi
say "To install what was built, and to configure your own programs (with Ninja, since make may not be installed):"
say "  cmake --install build/$preset --prefix ~/lutra"
say "  cmake -G Ninja -S . -B build -DLutra_ROOT=\$HOME/lutra"
say "C++, C, Fortran, Python, Spack, containers: docs/building.md, \"All ways in\""
