#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets up, builds the benchmark programs and runs them.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

programs=(ordering preprocess symbolic levelization numeric dense trisolve ilu ldlt select io solve
          paper_end_to_end paper_gsofa paper_parilut paper_sptrsv paper_ssids)

usage() {
  cat <<END
Usage: scripts/bench.sh [options] [program…] [-- options of the programs]
Sets up, builds the named benchmark programs (default: solve) and runs them. Each writes a JSON report to
build/<preset>/benchmarks/. Programs: ${programs[*]}, or all.
Those of papers print Markdown (docs/papers.md).
Options of the programs: --matrix=FILE, --generate=KIND:SIZE, --samples=N, --benchmark_filter=REGEX, …

$common_options_help
END
}

chosen=()
program_options=()
while [[ $# -gt 0 ]]; do
  take_common_option "$@"
  if [[ $taken -gt 0 ]]; then
    shift "$taken"
    continue
  fi
  case $1 in
    --help | -h) usage && exit 0 ;;
    --) shift && program_options=("$@") && break ;;
    all) chosen=("${programs[@]}") ;;
    *)
      [[ " ${programs[*]} " == *" $1 "* ]] || die "invalid program or option '$1' (choose from ${programs[*]} all, or see --help)"
      chosen+=("$1")
      ;;
  esac
  shift
done
[[ ${#chosen[@]} -gt 0 ]] || chosen=(solve)

setup bench
targets=("${chosen[@]/#/lutra_perf_}")
build --target "${targets[@]/#lutra_perf_paper_/lutra_paper_}"
reports=$root/build/$preset/benchmarks
mkdir -p "$reports"
for program in "${chosen[@]}"; do
  if [[ $program == paper_* ]]; then
    "$root/build/$preset/perf_tests/papers/${program#paper_}/lutra_$program" "--json=$reports/$program.json" \
      "${program_options[@]}"
    continue
  fi
  "$root/build/$preset/perf_tests/$program/lutra_perf_$program" \
    "--benchmark_out=$reports/$program.json" --benchmark_out_format=json "${program_options[@]}"
done
say
say "Reports are in $reports; scripts/plot.py --table $reports/${chosen[0]}.json prints a table"
