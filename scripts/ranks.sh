#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests that take too long for scripts/test.sh: ranks under load, and ranks that are killed.
set -euo pipefail

usage() {
  cat <<END
Usage: scripts/ranks.sh BUILD [solves]
BUILD is a build folder with unit_tests/comm/lutra_test_ranks. Runs and checks 10000 triangular solves, or the given
number, on four ranks beside one busy process per core, and a tenth as many refactorizations and solves by fronts, on
devices if the build has any. Then kills one of four ranks meanwhile and checks that the job ends within ten seconds and
leaves no process. Then stops one rank and checks that all others name it.
END
}

[[ $# -ge 1 && $1 != --help ]] || { usage && exit 1; }
program=$(realpath "$1")/unit_tests/comm/lutra_test_ranks
solves=${2:-10000}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1
triangles='a hundred solves under load'
fronts='ten refactorizations and solves under load'

load=()
for ((core = 0; core < $(getconf _NPROCESSORS_ONLN); ++core)); do
  nice -n 19 bash -c "while :; do :; done" &
  load+=($!)
done
trap 'kill "${load[@]}" 2> /dev/null || true' EXIT
SECONDS=0
LUTRA_RANK_SOLVES=$solves timeout 3600 mpiexec -n 4 "$program" --reporter compact "$triangles" > /dev/null
echo "$solves solves on 4 ranks under load in $SECONDS s: passed"
SECONDS=0
LUTRA_RANK_SOLVES=$((solves / 10)) timeout 3600 mpiexec -n 4 "$program" --reporter compact "$fronts" > /dev/null
echo "$((solves / 10)) refactorizations and solves on 4 ranks under load in $SECONDS s: passed"
kill "${load[@]}" 2> /dev/null || true
trap - EXIT

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# disturb SIGNAL SECONDS TEST: sends a signal to rank 2 of 4 during solves. The job has to end in time and leave no
# process.
disturb() {
  local signal=$1 limit=$2 test=$3 job ranks
  LUTRA_RANK_SOLVES=1000000000 mpiexec -n 4 "$program" --reporter compact "$test" > "$folder/$signal" 2>&1 &
  job=$!
  sleep 4
  mapfile -t ranks < <(pgrep -P "$job" || true)
  [[ ${#ranks[@]} -eq 4 ]] || { echo "there are ${#ranks[@]} ranks, not 4" && kill "$job" && exit 1; }
  SECONDS=0
  kill -"$signal" "${ranks[2]}"
  wait "$job" && { echo "a job with a rank that got $signal succeeded" && exit 1; }
  for rank in "${ranks[@]}"; do
    while kill -0 "$rank" 2> /dev/null; do
      [[ $SECONDS -le $limit ]] || { echo "process $rank is left after $SECONDS s" && kill -KILL "$rank" && exit 1; }
      sleep 0.1
    done
  done
  [[ $SECONDS -le $limit ]] || { echo "the job took $SECONDS s to end" && exit 1; }
}

for test in "$triangles" "$fronts"; do
  disturb KILL 10 "$test"
  echo "a killed rank: the job ended after $SECONDS s, no process is left"
  disturb STOP 20 "$test" # time for the watchdog, the end of the test on all ranks, and of MPI without the stalled rank
  named=$(grep -ac 'rank 2 of 4 did not answer' "$folder/STOP" || true)
  [[ $named -ge 3 ]] || { echo "a stopped rank was named $named times, not by three others" && exit 1; }
  echo "a stopped rank: named by all others, the job ended after $SECONDS s, no process is left"
done
