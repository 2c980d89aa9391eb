#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the tests with sanitizers and runs them; docs/sanitizers.md says what each finds.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Folders of unit_tests whose programs have tests that start threads, tagged [threads].
thread_programs=(c common ordering solver trisolve)

usage() {
  cat <<END
Usage: scripts/sanitize.sh [options] [address] [thread] [device]
Runs these jobs, address and thread without names. The exit status is 0 if none of them found anything.

  address         address, leak and undefined-behaviour sanitizers (build/sanitize) over all tests
  thread          thread sanitizer (build/thread) over the tests that start threads; exceptions are in
                  scripts/thread.supp, with their reasons
  device          compute-sanitizer's memcheck, racecheck, initcheck and synccheck over the tests of --cuda; names each
                  kernel that they did not cover

  --stages LIST   of the first two jobs only tests of these folders of unit_tests: common,solver
  --cuda BUILD    a CUDA build, for device (default build/cuda)
  --seconds N     limit of a test under a tool of device (default 300)
  --minutes N     limit of device in all; the next run goes on from there
  --list          print what would run, build and run nothing
  -DNAME=VALUE    passed to CMake: -DLutra_SCALARS=f64 takes a third of the time
  --yes           install missing packages without asking
  --help          this text
END
}

jobs_asked=()
stages=()
cuda=$root/build/cuda
device_options=()
definitions=()
list=false
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --yes | -y) assume_yes=true ;;
    --list) list=true device_options+=(--list) ;;
    --stages) IFS=, read -r -a stages <<<"${2:-}" && shift ;;
    --cuda) cuda=$(realpath "${2:-}") && shift ;;
    --seconds | --minutes) device_options+=("$1" "${2:-}") && shift ;;
    -D?*) definitions+=("$1") ;;
    address | thread | device) jobs_asked+=("$1") ;;
    *) die "unknown option or job '$1'; --help lists them" ;;
  esac
  shift
done
if [[ ${#jobs_asked[@]} -eq 0 ]]; then jobs_asked=(address thread); fi
for stage in "${stages[@]}"; do
  [[ -d $root/unit_tests/$stage ]] || die "there is no folder unit_tests/$stage"
done

# programs_in STAGE…: test programs of a build, as targets.
programs_in() {
  local folder=$root/build/$preset stage
  for stage in "$@"; do
    ninja -C "$folder" -t targets all | sed -n "s,^unit_tests/$stage/\(lutra_test_[a-z0-9_]*\): .*,\1,p"
  done
}

# Configures build/<preset> for tests.
prepare() {
  setup test
  if [[ ${#definitions[@]} -gt 0 ]]; then configure "${definitions[@]}"; fi
}

run_address() {
  preset=sanitize
  if $list; then
    echo "build/sanitize: ctest over ${stages[*]:-all tests}"
    return
  fi
  prepare
  local targets=() chosen=()
  if [[ ${#stages[@]} -gt 0 ]]; then
    mapfile -t targets < <(programs_in "${stages[@]}")
    chosen=(--tests-regex "^(comm_)?($(printf '%s\n' "${targets[@]#lutra_test_}" | sed 's/^rank.*/&_[0-9]/' | paste -sd'|'))\$")
  fi
  build --target "${targets[@]:-all}"
  (cd "$root" && ctest --preset sanitize --output-on-failure --parallel "$jobs" "${chosen[@]}")
}

run_thread() {
  local programs=() program stage failed=0
  preset=thread
  local folders=()
  for stage in "${thread_programs[@]}"; do
    if [[ ${#stages[@]} -eq 0 || " ${stages[*]} " == *" $stage "* ]]; then folders+=("$stage"); fi
  done
  if $list; then
    echo "build/thread: tests [threads] of ${folders[*]}"
    return
  fi
  prepare
  mapfile -t programs < <(for stage in "${folders[@]}"; do echo "lutra_test_$stage"; done)
  build --target "${programs[@]}"
  export TSAN_OPTIONS="suppressions=$root/scripts/thread.supp halt_on_error=0 second_deadlock_stack=1"
  for stage in "${folders[@]}"; do
    program=$root/build/thread/unit_tests/$stage/lutra_test_$stage
    say "$stage: tests that start threads"
    # Without randomized addresses, of which older versions of the sanitizer do not bear as many as Linux 6 uses.
    setarch -R "$program" '[threads]' || failed=1
  done
  return "$failed"
}

run_device() {
  python3 "$root/scripts/device_sanitizer.py" "$cuda" "${device_options[@]}"
}

failed=()
for job in "${jobs_asked[@]}"; do
  "run_$job" || failed+=("$job")
done
[[ ${#failed[@]} -eq 0 ]] || die "these jobs found something: ${failed[*]}"
