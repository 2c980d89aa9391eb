#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets up, builds everything and runs all tests.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/hosts.sh
source "$root/scripts/hosts.sh"

usage() {
  cat <<END
Usage: scripts/test.sh [options] [-- ctest options]
Sets up, builds everything and runs all tests. The exit status is that of ctest.
LUTRA_MATRICES, if set, names a folder of matrices for further tests.

  --plugins       instead tests Lutra in Ipopt, PETSc, SUNDIALS, Eigen and MFEM, which are installed first
$common_options_help
END
}

ctest_options=()
target=all
while [[ $# -gt 0 ]]; do
  take_common_option "$@"
  if [[ $taken -gt 0 ]]; then
    shift "$taken"
    continue
  fi
  case $1 in
    --help | -h) usage && exit 0 ;;
    --plugins) target=plugin_tests ctest_options=(--label-regex '^plugins$') ;;
    --) shift && ctest_options+=("$@") && break ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift
done

setup test
if [[ $target == plugin_tests ]]; then
  provide_hosts
  configure "${host_options[@]}"
fi
build --target "$target"
cd "$root"
ctest --preset "$preset" --output-on-failure --parallel "$jobs" "${ctest_options[@]}"
