#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Provides what Lutra needs and configures build/<preset>.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/setup.sh [options]
Looks for what Lutra needs, installs missing packages by apt, and configures build/<preset>.
A Kokkos that you already have (Kokkos_ROOT, CMAKE_PREFIX_PATH, modules, Spack) is used unchanged.

  --for PURPOSE   run, test (default) or bench
  --packages      install packages only, do not configure
$common_options_help
END
}

purpose="test"
packages_only=false
while [[ $# -gt 0 ]]; do
  take_common_option "$@"
  if [[ $taken -gt 0 ]]; then
    shift "$taken"
    continue
  fi
  case $1 in
    --help | -h) usage && exit 0 ;;
    --for) purpose=${2:-} && shift ;;
    --packages) packages_only=true ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift
done
[[ $purpose == run || $purpose == test || $purpose == bench ]] || die "--for takes run, test or bench"

if $packages_only; then provide_packages "$purpose"; else setup "$purpose"; fi
