#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds wheels and a .deb in a Debian 12 root. docs/packaging.md tells what they contain.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/wheel.sh --kokkos-source DIR --kokkos-kernels-source DIR [options]
Builds wheels of the Python package, for Python 3.11 and for 3.12 and later, and a .deb with the program and the C
interface. They are compiled in a Debian 12 root, which debootstrap makes, and run there and on later systems. Needs
root and debootstrap.

  --parts LIST    wheel, deb, or wheel,deb (default)
  --scalars LIST  Lutra_SCALARS (default f32;f64;c64;c128)
  --cuda ARCH     with CUDA, for a device by the name that Kokkos has, HOPPER90 for instance (dist-HOPPER90)
  --cuda-toolkit DIR   the toolkit that compiles for --cuda (default /usr/local/cuda)
  --work DIR      the root and all builds, kept for the next call (default build/wheel)
  --out DIR       for wheels and .deb (default build/wheel/dist)
  --ccache DIR    cache of the compiler (default build/wheel/ccache)
  --mirror URL    an archive of Debian (default: the one that apt has)
  --jobs N        compilers at once (default: one per core)
  --test          afterwards install everything in fresh Debian 12 roots, solve a system, and print the seconds
  --help          this text
END
}

work=$root/build/wheel out='' ccache='' mirror=''
scalars='f32;f64;c64;c128' parts=wheel,deb cuda='' toolkit=/usr/local/cuda
kokkos='' kernels='' tests=false
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --test) tests=true && shift && continue ;;
    --*) [[ $# -ge 2 ]] || die "$1 needs a value" ;;&
    --kokkos-source) kokkos=$2 ;;
    --kokkos-kernels-source) kernels=$2 ;;
    --parts) parts=$2 ;;
    --scalars) scalars=$2 ;;
    --cuda) cuda=$2 ;;
    --cuda-toolkit) toolkit=$2 ;;
    --work) work=$2 ;;
    --out) out=$2 ;;
    --ccache) ccache=$2 ;;
    --mirror) mirror=$2 ;;
    --jobs) jobs=$2 ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift 2
done
[[ $parts =~ ^(wheel|deb|wheel,deb|deb,wheel)$ ]] || die "--parts takes wheel, deb, or wheel,deb"
[[ -f $kokkos/core/src/Kokkos_Core.hpp ]] || die "--kokkos-source names the sources of Kokkos"
[[ -d $kernels/sparse/src ]] || die "--kokkos-kernels-source names the sources of Kokkos Kernels"
[[ -z $cuda || -x $toolkit/bin/nvcc ]] || die "--cuda needs a toolkit; $toolkit/bin/nvcc is missing"
[[ $(id -u) -eq 0 ]] || die "needs root, for debootstrap and chroot"
command -v debootstrap >/dev/null || die "needs debootstrap (Debian's package of that name)"
if [[ -z $mirror ]]; then mirror=$(debian_archives | awk '{print $2; exit}'); fi
[[ -n $mirror ]] || die "apt has no archive of Debian; --mirror names one"
out=${out:-$work/dist${cuda:+-$cuda}} ccache=${ccache:-$work/ccache}
mkdir -p "$work" "$out" "$ccache"
work=$(realpath "$work") out=$(realpath "$out") ccache=$(realpath "$ccache")
kokkos=$(realpath "$kokkos") kernels=$(realpath "$kernels")

# make_root <folder> <packages, separated by commas>: a Debian 12 with the certificates and settings of pip that this
# machine has.
make_root() {
  local folder=$1 file
  if [[ ! -f $folder/etc/debian_version.lutra ]]; then
    say "Making a Debian 12 root in $folder"
    rm -rf "$folder"
    debootstrap --variant=minbase "--include=ca-certificates,$2" bookworm "$folder" "$mirror" >"$work/debootstrap.log" ||
      die "debootstrap failed: $work/debootstrap.log"
    cp "$folder/etc/debian_version" "$folder/etc/debian_version.lutra"
  fi
  for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/resolv.conf; do
    if [[ -f $file ]]; then cp -L "$file" "$folder$file"; fi
  done
}

# in_root <folder> <mounts, a line each: this machine's folder, the root's folder> <command>…: the mounts end with it.
in_root() {
  local folder=$1 mounts=$2
  shift 2
  # shellcheck disable=SC2016
  unshare --mount bash -c '
    set -e
    folder=$1 mounts=$2
    shift 2
    mount --make-rprivate /
    while read -r from to; do
      [[ -n $from ]] || continue
      mkdir -p "$folder$to"
      mount --bind "$from" "$folder$to"
    done <<<"$mounts"
    mount -t proc proc "$folder/proc"
    mount -t devpts devpts "$folder/dev/pts"
    exec chroot "$folder" "$@"' in_root "$folder" "$mounts" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LC_ALL=C.UTF-8 "${passed[@]}" "$@"
}

passed=()
while IFS= read -r line; do passed+=("$line"); done < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_CERT|PIP_(EXTRA_)?INDEX_URL)=' || true)

commit=$(git -C "$root" describe --always --dirty --exclude "*" --abbrev=12 2>/dev/null) && passed+=("LUTRA_COMMIT=$commit")
make_root "$work/root" python3
builds=$work/build${cuda:+-$cuda}
mkdir -p "$builds"
mounts="$root /lutra
$kokkos /kokkos
$kernels /kokkos-kernels
$ccache /ccache
$builds /work
$out /out"
if [[ -n $cuda ]]; then mounts+="
$(realpath "$toolkit") /usr/local/cuda"; fi
in_root "$work/root" "$mounts" bash /lutra/packaging/wheel/build.sh "$scalars" "$jobs" "$parts" "$cuda"
(cd "$out" && du -b ./*.whl ./*.deb 2>/dev/null) || true

version=$(sed -n 's/^project(Lutra VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")

# ---- in fresh roots ------------------------------------------------------------------------------------------------
if $tests && [[ $parts == *wheel* ]]; then
  rm -rf "$work/bare"
  make_root "$work/bare" python3,python3-venv
  mounts="$out /out
$root/packaging/wheel /recipe"
  seconds_before=$(date +%s.%N)
  # shellcheck disable=SC2016
  in_root "$work/bare" "$mounts" bash -c '
    set -e
    python3 -m venv /venv
    /venv/bin/pip install --quiet /out/lutra_sparse-"$1"-cp311-cp311-*.whl
    /venv/bin/python /recipe/first_solution.py' wheel "$version"
  say "wheel: $(date +%s.%N | awk -v before="$seconds_before" '{printf "%.1f", $1 - before}') s from a fresh root to a solution"
fi
if $tests && [[ $parts == *deb* ]]; then
  rm -rf "$work/bare-deb"
  make_root "$work/bare-deb" apt
  mounts="$out /out
$root /lutra"
  seconds_before=$(date +%s.%N)
  # shellcheck disable=SC2016
  in_root "$work/bare-deb" "$mounts" bash -c '
    set -e
    apt-get -q update >/dev/null
    apt-get -q -y install --no-install-recommends /out/lutra_"$1"_*.deb >/dev/null
    lutra generate poisson2d --size 100 /tmp/A.mtx
    lutra solve /tmp/A.mtx' deb "$version"
  say "deb: $(date +%s.%N | awk -v before="$seconds_before" '{printf "%.1f", $1 - before}') s from a root to a solution"
  in_root "$work/bare-deb" "$mounts" bash -c '
    set -e
    apt-get -q -y install --no-install-recommends gcc libc6-dev cmake make >/dev/null
    cmake -S /lutra/unit_tests/consumer/c_only -B /tmp/c -DLUTRA_SOURCE=/lutra >/dev/null
    cmake --build /tmp/c >/dev/null
    /tmp/c/c_solve'
fi
