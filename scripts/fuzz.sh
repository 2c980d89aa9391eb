#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the fuzzers with Clang and runs them one after another; docs/fuzzing.md explains the targets.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/fuzz.sh [options] [target...]
Builds the fuzzers in build/fuzz and runs each target for some minutes from its corpus in fuzz/corpus. Prints executions,
coverage and what was found. Inputs found go to build/fuzz/found/TARGET, new inputs that reach more code to
build/fuzz/corpus/TARGET, which the next run begins with. The exit status is 0 if nothing was found.
Readers: ${readers[*]}. Without names they run.
Targets for which the whole library is compiled, half an hour of two cores: ${solvers[*]}.

  --minutes N     minutes for each target (default 15)
  --all           all targets
  -DNAME=VALUE    passed to CMake
  --help          this text

Needs clang and libclang-rt-14-dev, or those of a later version.
END
}

readers=(matrix_market compressed ordering device_model options messages)
solvers=(analysis command_line c_interface inertia)
minutes=15
chosen=()
definitions=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --minutes)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--minutes needs a whole number above 0"
      minutes=$2
      shift
      ;;
    --all) chosen=("${readers[@]}" "${solvers[@]}") ;;
    -D?*) definitions+=("$1") ;;
    -*) die "unknown option '$1'; --help lists the options" ;;
    *)
      [[ " ${readers[*]} ${solvers[*]} " == *" $1 "* ]] || die "there is no target '$1'; --help lists the targets"
      chosen+=("$1")
      ;;
  esac
  shift
done
if [[ ${#chosen[@]} -eq 0 ]]; then chosen=("${readers[@]}"); fi
library=OFF
for target in "${chosen[@]}"; do
  if [[ " ${solvers[*]} " == *" $target "* ]]; then library=ON; fi
done
compiler=${CXX:-clang++}
command -v "$compiler" >/dev/null || die "$compiler is not installed; Debian's packages are clang and libclang-rt-14-dev"

build=$root/build/fuzz
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DLutra_ENABLE_FUZZERS=ON -DLutra_ENABLE_MPI=OFF -DLutra_ENABLE_CLI=OFF -DLutra_ENABLE_EXAMPLES=OFF \
  -DLutra_ENABLE_C="$library" -DLutra_FUZZ_LIBRARY="$library" -DLutra_SCALARS=f64 "${definitions[@]}" >"$build.log" ||
  die "CMake failed; see $build.log"
cmake --build "$build" --parallel "$jobs" --target "${chosen[@]/#/lutra_fuzz_}" >>"$build.log" ||
  die "the build failed; see $build.log"

# A folder in memory for the files that targets write, removed also after a crash.
TMPDIR=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" lutra_fuzz.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# Few freed blocks are kept, so that long runs stay below the limit of memory.
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=16}

# run TARGET: fuzzes a target and prints its last counts. Fails if an input was found.
run() {
  local found=$build/found/$1 corpus=$build/corpus/$1 log=$build/$1.log
  mkdir -p "$found" "$corpus"
  say "$1: $minutes minutes"
  if "$build/fuzz/lutra_fuzz_$1" -max_total_time=$((60 * minutes)) -timeout=30 -rss_limit_mb=2048 \
    -malloc_limit_mb=8192 -max_len=6000 -len_control=20 -print_final_stats=1 -artifact_prefix="$found/" \
    "$corpus" "$root/fuzz/corpus/$1" >"$log" 2>&1 </dev/null; then
    grep -E 'DONE|^Done|peak_rss' "$log"
    return
  fi
  grep -E 'ERROR|error:|what\(\)|SUMMARY|Test unit written' "$log" || tail -n 20 "$log"
  return 1
}

failed=()
for target in "${chosen[@]}"; do run "$target" || failed+=("$target"); done
[[ ${#failed[@]} -eq 0 ]] || die "found something in ${failed[*]}; inputs are in $build/found"
say "Nothing was found."
