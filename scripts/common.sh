# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034
# Shared by quickstart.sh, test.sh, setup.sh and others: finds what Lutra needs, installs what is missing by apt, and
# configures a preset. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=release
assume_yes=false
jobs=$(nproc)

# shellcheck source=scripts/debian.sh
source "$root/scripts/debian.sh"

say() { printf '%s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

common_options_help='  --preset NAME   one of CMakePresets.json: release (default), debug, sanitize, openmp, cuda
  --yes           install what is missing without asking
  --help          this text'

# Reads one option from the command line. Sets `taken` to the number of words read, 0 if the option is not a common one.
take_common_option() {
  taken=1
  case $1 in
    --yes | -y) assume_yes=true ;;
    --preset)
      [[ $# -ge 2 ]] || die "--preset needs a name"
      preset=$2 taken=2
      ;;
    --preset=*) preset=${1#*=} ;;
    *) taken=0 ;;
  esac
}

# setup run|test|bench: provides everything that purpose needs, and configures build/<preset> for it. Returns at once if
# an earlier call saw the same environment, which build/<preset>/lutra-setup records.
setup() {
  local purpose=$1 build=$root/build/$preset
  local stamp=$build/lutra-setup environment last_environment='' done_for=''
  environment=$(environment_hash)
  if [[ -f $stamp && -f $build/CMakeCache.txt ]]; then
    read -r last_environment done_for <"$stamp"
  fi
  local options=() few=''
  if [[ $last_environment != "$environment" ]]; then
    [[ -z $last_environment ]] || options+=(--fresh)
    done_for=''
  elif [[ $purpose == run || " $done_for " == *" $purpose "* ]]; then
    return  # every configuration can run
  fi
  choose_parts "$purpose"
  if [[ $purpose == bench ]]; then options+=(-DLutra_ENABLE_BENCHMARKS=ON); fi
  provide_packages "$purpose"
  # The tests run each benchmark program once if Google Benchmark is installed. Not with sanitizers, which find leaks in
  # MPI, nor with CUDA, where compiling them takes minutes.
  if [[ $purpose == test && $preset != sanitize && $preset != cuda ]] && has benchmark; then
    options+=(-DLutra_ENABLE_BENCHMARKS=ON)
  fi
  if [[ $purpose == test ]]; then
    choose_python
    choose_plugins
  fi
  configure "${options[@]}"
  printf '%s %s\n' "$environment" "$done_for $purpose $few" >"$stamp"
}

# Types that a matrix in a file needs. The others take half of the compile time.
few_types=("-DLutra_SCALARS=f64;c128")

# choose_parts <purpose>: adds to `options` the parts of Lutra to configure, and sets `few` if that is for few types. A
# configured folder keeps its parts, and the tests add what they need: all types if the quickstart chose few.
choose_parts() {
  local purpose=$1 is_new=true
  if [[ -f $build/CMakeCache.txt && " ${options[*]} " != *" --fresh "* ]]; then is_new=false; fi
  if [[ $purpose == test ]]; then
    options+=(-DLutra_ENABLE_TESTS=ON -DLutra_ENABLE_EXAMPLES=ON)
    if [[ " $done_for " == *" few "* ]]; then options+=(-ULutra_SCALARS); fi
    done_for=${done_for//few/}
  elif $is_new; then
    options+=(-DLutra_ENABLE_TESTS=OFF -DLutra_ENABLE_EXAMPLES=OFF)
    if [[ $purpose == run ]]; then few=few options+=("${few_types[@]}"); fi
  fi
}

# Whether build/<preset> has the types that the quickstart chooses.
has_few_types() { grep -q ' few\b' "$root/build/$preset/lutra-setup"; }

# Adds to `options` whether the Python package is built and tested. Not with sanitizers, whose library would have to be
# loaded before Python, nor with CUDA, where compiling it takes minutes.
choose_python() {
  if [[ $preset == sanitize || $preset == cuda ]]; then
    say "Python is not tested with --preset $preset"
  elif has nanobind; then
    options+=(-DLutra_ENABLE_PYTHON=ON)
  else
    say "Python is not tested$(sed -n 's/^-- lack nanobind/:/p' "$probe_log")"
  fi
}

# Adds the plug-in to `options` that needs no host. It is a shared library, for which Kokkos of one's own may not have been
# compiled.
choose_plugins() {
  if [[ $preset != sanitize && $(found Kokkos) == *" at /usr/lib/"* ]]; then options+=(-DLutra_ENABLE_IPOPT=ON); fi
}

# Calls with the same hash configure the same build.
environment_hash() {
  {
    env | grep -E '^(Kokkos|KokkosKernels|METIS|MPI|Catch2|CMAKE|Lutra)_?[A-Za-z_]*=|^(CC|CXX|CXXFLAGS|LDFLAGS)=' |
      sort || true
    echo "$root"
    cat "$root/CMakePresets.json" "$root/cmake/LutraDependencies.cmake" "$root/cmake/LutraFindPython.cmake"
  } | cksum | tr ' ' '-'
}

# configure <options of cmake>…: configures the preset, and shows the output of CMake only if it fails.
configure() {
  local log=$root/build/$preset/configure.log options=("$@")
  say "Configuring build/$preset"
  mkdir -p "$(dirname "$log")"
  if ! (cd "$root" && cmake --preset "$preset" "${options[@]}") >"$log" 2>&1; then
    cat "$log" >&2
    die "configuring build/$preset failed"
  fi
}

# build <options of cmake --build>…
build() {
  say "Building build/$preset with $jobs jobs"
  cmake --build "$root/build/$preset" --parallel "$jobs" "$@"
}

# ---- installed and missing packages ------------------------------------------------------------------------------

# provide_packages run|test|bench: looks for all packages, and installs missing ones by apt or lists them.
provide_packages() {
  local purpose=$1 wanted
  check_own_kokkos_is_whole_path
  missing_tools
  if [[ ${#missing[@]} -gt 0 ]]; then
    wanted_packages "$purpose"
    later=("${wanted[@]}")  # without CMake it is unknown which of them are installed
    if [[ -z ${Kokkos_ROOT:-} ]]; then later+=(Kokkos); fi
    install_missing
    later=()
  fi
  probe
  missing_packages "$purpose"
  if [[ ${#missing[@]} -gt 0 ]]; then
    install_missing
    probe
    missing_packages "$purpose"
    [[ ${#missing[@]} -eq 0 || "nanobind mpi4py" == *"${missing[*]}"* ]] || die "still not found by CMake after installing: ${missing[*]}
$(cat "$probe_log")"
  fi
  say "Kokkos $(found Kokkos)"
  say "Kokkos Kernels$(found KokkosKernels | sed "s/^ */ /")"
}

check_own_kokkos_is_whole_path() {
  local name
  for name in Kokkos_ROOT KokkosKernels_ROOT; do
    [[ -z ${!name:-} || -d ${!name} ]] || die "$name is '${!name}', which is not a folder"
  done
}

# Sets `missing` to missing tools that CMake needs to look for the rest.
missing_tools() {
  missing=()
  command -v cmake >/dev/null || missing+=(cmake)
  command -v ninja >/dev/null || missing+=(ninja)
  command -v "${CXX:-c++}" >/dev/null && command -v "${CC:-cc}" >/dev/null || missing+=(compiler)
}

# Runs scripts/probe in a folder of its own. `probe_log` names its output.
probe() {
  local folder=$root/build/probe
  say "Looking for Kokkos and the other packages"
  rm -rf "$folder"
  mkdir -p "$folder"
  probe_log=$folder/probe.log
  cmake -S "$root/scripts/probe" -B "$folder" -G Ninja >"$probe_log" 2>&1 || true
  grep -q '^-- have\|^-- lack' "$probe_log" || die "CMake cannot compile C and C++ programs:
$(cat "$probe_log")"
}

found() { sed -n "s/^-- have $1 //p" "$probe_log"; }
has() { grep -q "^-- have $1\b" "$probe_log"; }

# wanted_packages <purpose>: sets `wanted` to the packages that it needs beside Kokkos.
wanted_packages() {
  wanted=(MPI METIS ZLIB LibLZMA nlohmann_json CLI11)
  case $1 in
    test) wanted+=(Catch2) ;;
    bench) wanted+=(benchmark KLU UMFPACK MUMPS) ;;
  esac
}

# missing_packages <purpose>: sets `missing` to the packages that it needs and the probe did not find.
missing_packages() {
  local purpose=$1 name wanted
  wanted_packages "$purpose"
  missing=()
  for name in "${wanted[@]}"; do
    has "$name" || missing+=("$name")
  done
  missing_kokkos
  # Packages for Python are installed with others. They alone are no reason to ask.
  if [[ $purpose == test ]] && command -v apt-get >/dev/null && { $assume_yes || [[ ${#missing[@]} -gt 0 ]]; }; then
    if ! has nanobind && apt_has_nanobind; then missing+=(nanobind); fi
    if ! has mpi4py && [[ -n $(candidate_of python3-mpi4py) ]]; then missing+=(mpi4py); fi
  fi
}

# Adds Kokkos to `missing`, or stops if no Debian package can complete the Kokkos of the user.
missing_kokkos() {
  local where
  where=$(found Kokkos)
  if [[ -n ${Kokkos_ROOT:-} && "$where/" != *" at ${Kokkos_ROOT%/}/"* ]]; then
    die "no usable Kokkos 4.5 or later at Kokkos_ROOT=$Kokkos_ROOT
$(sed -n '/^-- trying Kokkos$/,$p' "$probe_log")"
  fi
  if [[ -z $where ]]; then
    if grep -q '^-- lack Kokkos ' "$probe_log"; then
      sed -n 's/^-- lack Kokkos  *(/(/p' "$probe_log" >&2
    else
      say "A Kokkos was found but cannot be used:"
      sed -n '/^-- trying Kokkos$/,$p' "$probe_log" >&2
    fi
    missing+=(Kokkos)
  elif ! has KokkosKernels; then
    # Debian packages complete only a Kokkos from Debian.
    [[ $where == *" at /usr/lib/"* ]] || die "found Kokkos $where, but no Kokkos Kernels built with it
$(sed -n 's/^-- lack KokkosKernels //p' "$probe_log")"
    missing+=(Kokkos)
  elif grep -q '^-- lack BLAS' "$probe_log"; then
    missing+=(BLAS)
  fi
}

what_is_needed='Lutra needs these packages; CMAKE_PREFIX_PATH or <name>_ROOT tell CMake where to look:
  CMake 3.25, Ninja, a C++20 compiler
  Kokkos and Kokkos Kernels 4.5 or later, built with the same compiler
  MPI, METIS 5, zlib, liblzma, nlohmann_json 3, CLI11 2; for the tests Catch2 3
docs/building.md shows how to build Kokkos and Kokkos Kernels.'

install_missing() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    die "not found: ${missing[*]}

$what_is_needed"
  fi
  install_by_apt "${missing[@]}"
}

# Asks on a terminal, unless --yes was given.
confirm() {
  if $assume_yes; then return; fi
  local answer
  read -r -p "Go ahead? [Y/n] " answer
  [[ -z $answer || $answer == [yY]* ]] || die "stopped. Nothing was changed"
}
