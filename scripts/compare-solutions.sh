#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Solves matrices with two builds of the program and compares the solutions bit by bit.
set -euo pipefail

# Circuits, power networks, grids, KKT systems, complex systems, and some for which refinement stalls.
default_matrices=(add20 add32 memplus cage10 bcsstk16 bcsstk18 Dubcova1 lhr01 bayer10 cont-200 young1c qc324 mhd1280b
  case13659pegase_pfjac ScaleMicrogrid_Jacobian_N1000_01 lpkkt_maros_r7 nnc1374 ex15 ani4 rajat19)

usage() {
  cat <<END
Usage: scripts/compare-solutions.sh OLD NEW FOLDER [--old "OPTIONS"] [--new "OPTIONS"] [MATRIX…]
OLD, NEW    two lutra programs
FOLDER      holds MATRIX.mtx, .mtx.gz or .mtx.xz; by default 20 matrices that this script lists
--old, --new  options of 'lutra solve' for one of the programs, in case their names differ
The exit status is 1 if a solution or the exit status of a program differs.
END
}

[[ ${1:-} != --help && ${1:-} != -h && $# -ge 3 ]] || { usage && exit 2; }
old=$1 new=$2 folder=$3
shift 3
old_options=() new_options=()
while [[ ${1:-} == --old || ${1:-} == --new ]]; do
  if [[ $1 == --old ]]; then read -ra old_options <<<"$2"; else read -ra new_options <<<"$2"; fi
  shift 2
done
if [[ $# -gt 0 ]]; then matrices=("$@"); else matrices=("${default_matrices[@]}"); fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run <name of the result> <program> <options>…: writes the solution and prints the exit status.
run() {
  local result=$1 status=0
  shift
  "$@" --quiet --out "$work/$result.mtx" >"$work/$result.log" 2>&1 || status=$?
  [[ -f $work/$result.mtx ]] || : >"$work/$result.mtx"
  printf '%s' "$status"
}

differences=0
for matrix in "${matrices[@]}"; do
  file=$(compgen -G "$folder/$matrix.mtx*" | head -n 1) || { echo "$matrix: not in $folder" >&2 && exit 2; }
  old_status=$(run old "$old" solve "$file" "${old_options[@]}")
  new_status=$(run new "$new" solve "$file" "${new_options[@]}")
  if [[ $old_status != "$new_status" ]]; then
    echo "$matrix: exit status $old_status, now $new_status"
  elif ! cmp -s "$work/old.mtx" "$work/new.mtx"; then
    echo "$matrix: solutions differ"
  else
    echo "$matrix: the same (exit status $new_status, $(wc -l <"$work/new.mtx") lines)"
    rm -f "$work"/{old,new}.mtx
    continue
  fi
  rm -f "$work"/{old,new}.mtx
  differences=$((differences + 1))
done
[[ $differences -eq 0 ]] || { echo "$differences of ${#matrices[@]} differ" && exit 1; }
