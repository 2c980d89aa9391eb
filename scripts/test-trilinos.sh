#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests the adapters for Trilinos on one process and on four.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/test-trilinos.sh [options] [-- matrices]
Builds Lutra in double precision with its adapters for Trilinos, and runs their tests. If CMake finds no Trilinos with
Amesos2, Ifpack2, Stratimikos and Belos, this script makes a root directory with Debian's suite sid and builds there. It
needs root, debootstrap and about 3 GB, and changes nothing outside that directory.
LUTRA_MATRICES, if set, names a folder of matrices for further tests.

  --root DIR      the root directory (default build/sid)
  --bench         also compares with KLU2 and Tacho, on the given matrices: files below LUTRA_MATRICES, or kind:size as
                  in 'lutra generate'
  --help          this text
END
}

sid=$root/build/sid
bench=false
matrices=(poisson2d:100 convdiff3d:16 circuit:5000)
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --root) [[ $# -ge 2 ]] || die "--root needs a directory"
      sid=$2 && shift ;;
    --bench) bench=true ;;
    --) shift && matrices=("$@") && break ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift
done

trilinos_packages=(amesos amesos2 aztecoo belos epetra epetraext galeri ifpack ifpack2 isorropia kokkos kokkos-kernels ml
  rtop shylu stratimikos teuchos thyra tpetra trilinosss triutils xpetra zoltan zoltan2)
other_packages=(g++ cmake ninja-build openmpi-bin libopenmpi-dev libmetis-dev libsuitesparse-dev zlib1g-dev liblzma-dev
  nlohmann-json3-dev catch2 libbenchmark-dev libopenblas-dev libptscotch-dev)

# Whether CMake finds the packages for the adapters and their tests on this machine.
has_trilinos() {
  local folder
  folder=$(mktemp -d)
  # shellcheck disable=SC2016 # expanded by CMake
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(probe C CXX)' \
    'foreach(package Kokkos Amesos2 Ifpack2 Stratimikos Belos)' '  find_package(${package} REQUIRED CONFIG)' \
    'endforeach()' >"$folder/CMakeLists.txt"
  local found=true
  cmake -S "$folder" -B "$folder/build" -G Ninja >/dev/null 2>&1 || found=false
  rm -rf "$folder"
  $found
}

# build_and_test <source> <build> <folder of matrices, or nothing>: runs where Trilinos is installed.
build_and_test() {
  local source=$1 build=$2 folder=$3 matrix
  local targets=(lutra_test_trilinos trilinos_first trilinos_distributed trilinos_cells)
  export CXX=${CXX:-mpicxx} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  [[ -z $folder ]] || export LUTRA_MATRICES=$folder
  if $bench; then targets+=(lutra_perf_trilinos); fi
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLutra_ENABLE_TRILINOS=ON -DLutra_ENABLE_TESTS=ON \
    -DLutra_ENABLE_BENCHMARKS=$bench -DLutra_ENABLE_CLI=OFF -DLutra_ENABLE_EXAMPLES=OFF -DLutra_SCALARS=f64 \
     -DBUILD_SHARED_LIBS=ON
  cmake --build "$build" --parallel "$jobs" --target "${targets[@]}"
  ctest --test-dir "$build" --tests-regex '^trilinos' --output-on-failure
  if $bench; then
    local files=()
    for matrix in "${matrices[@]}"; do
      if [[ -n $folder && -f $folder/$matrix ]]; then files+=("$folder/$matrix"); else files+=("$matrix"); fi
    done
    OMP_NUM_THREADS=1 "$build/perf_tests/trilinos/lutra_perf_trilinos" "${files[@]}"
  fi
}

# Prints the address of the Debian archive in apt's sources on this machine.
archive() {
  local uri
  uri=$(debian_archives | awk '$1 ~ /^(bookworm|trixie|forky|sid)$/ { print $2; exit }')
  [[ -n $uri ]] || die "apt's sources on this system name no Debian archive, and CMake found no Trilinos"
  printf '%s' "$uri"
}

# Makes the root directory with sid unless it exists.
make_root() {
  [[ $(id -u) -eq 0 ]] || die "making a root directory with Debian's sid needs root; or install Trilinos 16"
  command -v debootstrap >/dev/null || die "debootstrap is not installed; or install Trilinos 16"
  local uri
  if [[ ! -f $sid/lutra-ready ]]; then
    uri=$(archive)
    say "Making $sid from $uri"
    mkdir -p "$sid"
    [[ -d $sid/etc/apt ]] || debootstrap --variant=minbase sid "$sid" "$uri" >&2
    cp /etc/resolv.conf "$sid/etc/resolv.conf"
    # The download settings of apt on this machine.
    apt-config dump | grep -iE '^Acquire::(https?::proxy|check-valid-until) ' >"$sid/etc/apt/apt.conf.d/acquire" || true
    in_root "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
      ${other_packages[*]} $(printf 'libtrilinos-%s-dev ' "${trilinos_packages[@]}")" >&2
    touch "$sid/lutra-ready"
  fi
}

# in_root <commands>: runs them in the root directory, in a mount namespace of its own, with the project at /lutra and
# matrices at /matrices, both read-only.
in_root() {
  mkdir -p "$sid/lutra" "$sid/matrices" "$sid/build"
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount -- bash -euc '
    mount --bind "$2" "$1/lutra" && mount -o remount,ro,bind "$1/lutra"
    if [[ -n $3 ]]; then mount --bind "$3" "$1/matrices" && mount -o remount,ro,bind "$1/matrices"; fi
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" /bin/bash -euc "$4"' _ "$sid" "$root" "${LUTRA_MATRICES:-}" "$1"
}

if has_trilinos; then
  say "Found Trilinos: testing in build/trilinos"
  build_and_test "$root" "$root/build/trilinos" "${LUTRA_MATRICES:-}"
else
  make_root
  folder=''
  [[ -z ${LUTRA_MATRICES:-} ]] || folder=/matrices
  in_root "jobs=$jobs bench=$bench; matrices=(${matrices[*]@Q})
$(declare -f build_and_test)
build_and_test /lutra /build '$folder'"
fi
