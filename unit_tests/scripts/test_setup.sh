#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Without a terminal and without --yes, set-up refuses to install packages before anything changes, and lists them. The
# quickstart configures few types, the tests all. Programs that write a log replace apt and root.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in apt-get apt-cache dpkg; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/log"\n' "$name" "$folder" >"$folder/$name"
done
printf '#!/bin/sh\necho 0\n' >"$folder/id"
chmod +x "$folder"/*
export PATH=$folder:$PATH

fail() {
  echo "$1" >&2
  cat "$folder/said" "$folder/log" >&2 || true
  exit 1
}

# try <assume_yes>: whether the installation of METIS succeeds.
try() {
  rm -f "$folder/log"
  bash -c "set -euo pipefail; source '$root/scripts/common.sh'; assume_yes=$1; install_by_apt METIS" \
    </dev/null >"$folder/said" 2>&1
}

if try false; then fail "installed without a terminal and without --yes"; fi
grep -q 'METIS' "$folder/said" && grep -q -e '--yes' "$folder/said" || fail "the message names neither METIS nor --yes"
if [[ -e $folder/log ]]; then fail "apt was called"; fi

try true || fail "--yes did not go ahead"
grep -q 'apt-get .* install .*libmetis-dev' "$folder/log" || fail "nothing was installed with --yes"

# Without CMake no package can be looked for. The refusal also names packages that may follow, and the upgrade of libc on
# Debian 12.
if bash -c "set -euo pipefail; source '$root/scripts/common.sh'
            missing_tools() { missing=(cmake ninja); }; provide_packages test" </dev/null >"$folder/said" 2>&1; then
  fail "went ahead without a terminal"
fi
for word in cmake ninja-build libopenmpi-dev libmetis-dev catch2 libtrilinos-kokkos-kernels-dev libc6 --yes; do
  grep -q -e " $word\b" "$folder/said" || fail "the refusal does not name $word"
done

# configured <purpose>…: prints a line for each setup, with the options it passes to CMake, or "-" if it does not configure.
configured() {
  bash -c "set -euo pipefail; source '$root/scripts/common.sh'
    root=$folder/tree
    environment_hash() { echo same; }
    provide_packages() { :; }
    has() { false; }
    choose_python() { :; }
    choose_plugins() { :; }
    configure() { mkdir -p \$root/build/\$preset; touch \$root/build/\$preset/CMakeCache.txt; said=\"\$*\"; }
    for purpose in $*; do said=-; setup \$purpose; echo \"\$said\"; done"
}
tests='-DLutra_ENABLE_TESTS=ON -DLutra_ENABLE_EXAMPLES=ON'
expect_configured() {
  local expected=$1
  shift
  rm -rf "$folder/tree"
  configured "$@" >"$folder/said"
  [[ $(cat "$folder/said") == "$expected" ]] || fail "setup for $*: expected
$expected"
}
few='-DLutra_ENABLE_TESTS=OFF -DLutra_ENABLE_EXAMPLES=OFF -DLutra_SCALARS=f64;c128'
expect_configured "$few
-
$tests -ULutra_SCALARS
-
-" run run test test run
expect_configured "$tests
-" test run

# A folder that was configured by hand keeps its types.
rm -rf "$folder/tree"
mkdir -p "$folder/tree/build/release"
touch "$folder/tree/build/release/CMakeCache.txt"
[[ $(configured run test) == "
$tests" ]] || fail "types of a folder configured by hand were changed"
