# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2154
# Packages from Debian for common.sh, which calls install_by_apt.
#
# Kokkos and Kokkos Kernels are parts of Trilinos 16.1 in Debian's suite sid. The script adds the suites trixie and sid to
# apt with priorities that allow only those packages and their dependencies: on Debian 12 libc, libstdc++ and a few base
# packages of trixie, on Debian 13 nothing else. Wider priorities would replace much more (OpenSSL, gdb), and the compiler
# of CUDA 13 cannot read the libc of sid.

apt_preferences=/etc/apt/preferences.d/lutra
apt_sources=/etc/apt/sources.list.d/lutra.sources
kokkos_packages=(libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev)
kokkos_version=16.1
later=()  # packages that are looked for once the tools are installed

# packages_for <what CMake did not find>…: sets `packages` to the names of Debian packages.
packages_for() {
  local name
  packages=()
  for name in "$@"; do
    case $name in
      cmake) packages+=(cmake) ;;
      ninja) packages+=(ninja-build) ;;
      compiler) packages+=(g++ git) ;;
      MPI) packages+=(libopenmpi-dev) ;;
      METIS) packages+=(libmetis-dev) ;;
      ZLIB) packages+=(zlib1g-dev) ;;
      LibLZMA) packages+=(liblzma-dev xz-utils) ;;
      nlohmann_json) packages+=(nlohmann-json3-dev) ;;
      CLI11) packages+=(libcli11-dev) ;;
      Catch2) packages+=(catch2 gfortran pkg-config) ;;  # the last two for examples from C and Fortran
      benchmark) packages+=(libbenchmark-dev) ;;
      KLU | UMFPACK) packages+=(libsuitesparse-dev) ;;
      MUMPS) packages+=(libmumps-dev) ;;
      nanobind) packages+=(nanobind-dev robin-map-dev python3-dev python3-numpy python3-scipy python3-venv) ;;
      mpi4py) packages+=(python3-mpi4py) ;;
      BLAS) packages+=(libopenblas-dev) ;;
      Kokkos) packages+=("${kokkos_packages[@]}" libopenblas-dev) ;;
      *) die "no Debian package known for $name" ;;
    esac
  done
}

in_one_line() { sort -u <<<"$(printf '%s\n' "$@")" | tr '\n' ' '; }

base_upgrade="On Debian 12 some 20 base packages are upgraded to Debian 13's with that, libc6 and libstdc++6 among them."

# can_confirm <what is missing>…: without a terminal and without --yes, stops and lists all packages to be installed,
# including those of `later`.
can_confirm() {
  if $assume_yes || [[ -t 0 ]]; then return; fi
  local text packages now
  packages_for "$@"
  now=$(in_one_line "${packages[@]}")
  text="not found: $*
Without a terminal this script cannot ask whether to install packages; --yes installs them. Nothing was changed.
To be installed by apt: $now"
  if [[ ${#later[@]} -gt 0 ]]; then
    packages_for "${later[@]}"
    text+="
and then, unless CMake finds them: $(in_one_line "${packages[@]}")"
  fi
  if [[ " $* ${later[*]} " =~ \ (Kokkos|Catch2|nanobind)\  ]]; then
    text+="
If the Debian release is too old for these, later suites are added to apt for them only. $base_upgrade"
  fi
  die "$text"
}

# install_by_apt <what CMake did not find>…
install_by_apt() {
  local packages wants_suites=false
  packages_for "$@"
  local as_root=()
  can_confirm "$@"
  choose_root "$@"

  [[ -n $(candidate_of cmake) ]] || update_lists
  if [[ " $* " == *" Kokkos "* ]] && ! is_available "${kokkos_packages[1]}" "$kokkos_version"; then wants_suites=true; fi
  if [[ " $* " == *" Catch2 "* ]] && ! is_available catch2 3; then  # Debian 12's is version 2
    wants_suites=true
    packages+=(libstdc++6)  # that of trixie, with which its Catch2 was compiled
  fi
  if [[ " $* " == *" nanobind "* ]] && ! is_available robin-map-dev 1.3; then wants_suites=true; fi  # Debian 12's is older
  say "Not found: $*"
  if $wants_suites; then announce_suites "$@"; fi
  say "To be installed by apt: $(in_one_line "${packages[@]}")"
  confirm
  if $wants_suites; then add_suites; fi
  apt_install "${packages[@]}"
}

# choose_root <what is missing>…: sets `as_root` to the words that run a command as root; stops if there are none.
choose_root() {
  as_root=()
  if [[ $(id -u) -eq 0 ]]; then return; fi
  as_root=(sudo)
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then return; fi
  die "not found: $*
Installing them needs root, and sudo is not available here. Either run, as root,
  $root/scripts/setup.sh --packages --yes
or provide them yourself.

$what_is_needed"
}

candidate_of() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '(none)' || true; }

is_available() {
  local candidate
  candidate=$(candidate_of "$1")
  [[ -n $candidate ]] && dpkg --compare-versions "$candidate" ge "$2"
}

apt_has_nanobind() {
  { is_available nanobind-dev 2 && is_available robin-map-dev 1.3; } || debian_archives | grep -qE '^(bookworm|trixie) '
}

update_lists() {
  say "Updating apt's package lists"
  run_apt update
}

# Runs apt-get quietly, without questions, and without replacing edited configuration files. Shows its output on failure.
run_apt() {
  local log
  log=$(mktemp)
  if "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l LC_ALL=C apt-get -q -y \
    -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
    "$@" </dev/null >"$log" 2>&1; then
    rm -f "$log"
    return 0
  fi
  cat "$log" >&2
  rm -f "$log"
  return 1
}

apt_install() {
  local plan
  plan=$(LC_ALL=C apt-get -s install --no-install-recommends "$@" 2>&1) || {
    if $wants_suites; then drop_suites; fi
    printf '%s\n' "$plan" >&2
    die "apt cannot install: $*

$what_is_needed"
  }
  if grep '^Remv ' <<<"$plan" >&2; then
    if $wants_suites; then drop_suites; fi
    die "apt would remove the packages above to install: $*
Nothing was installed. Provide these packages in another way, Kokkos in Kokkos_ROOT for instance.

$what_is_needed"
  fi
  say "Installing $(grep -c '^Inst [^ ]* (' <<<"$plan" || true) packages, upgrading $(grep -c '^Inst [^ ]* \[' <<<"$plan" || true), removing none"
  if ! run_apt install --no-install-recommends "$@"; then
    say "Once more, with new package lists"
    if ! update_lists || ! run_apt install --no-install-recommends "$@"; then die "apt-get install failed"; fi
  fi
}

# ---- the suites trixie and sid, and their priorities --------------------------------------------------------------

# Prints "suite uri file" for each source of the Debian archive that apt knows, except our own.
debian_archives() {
  # shellcheck disable=SC2016 # apt's variables, not the shell's
  LC_ALL=C apt-get indextargets --format '$(RELEASE) $(REPO_URI) $(SOURCESENTRY) $(COMPONENT)' 'Created-By: Packages' |
    awk -v ours="$apt_sources" '$4 == "main" && index($3, ours ":") != 1 { sub(/:[0-9]+$/, "", $3); print $1, $2, $3 }' |
    sort -u
}

# find_archive <what is missing>…: sets `base_suite`, `archive_uri`, `archive_file` to the Debian release in apt's sources.
# The version in /etc/os-release is not reliable, since upgrading base-files from trixie changes it.
find_archive() {
  local suite
  archive_uri=''
  for suite in bookworm trixie; do
    read -r base_suite archive_uri archive_file < <(debian_archives | awk -v s="$suite" '$1 == s') || true
    if [[ -n $archive_uri ]]; then return; fi
  done
  die "not found: $*
apt's sources on this system have no Kokkos $kokkos_version or no Catch2 3. This script knows where to get them only for
Debian 12 and 13, if those sources name 'bookworm' or 'trixie'.

$what_is_needed"
}

announce_suites() {
  find_archive "$@"
  say "Debian's suite sid at $archive_uri has the Kokkos of Trilinos ${kokkos_version}. Files to be written:"
  say "  $apt_sources  adds that suite"
  say "  $apt_preferences     allows only these packages and their dependencies from it"
  if [[ $base_suite == bookworm ]]; then
    say "$base_upgrade"
  fi
}

add_suites() {
  local keyring=''
  if [[ -r $archive_file ]]; then
    keyring=$(sed -nE 's/^Signed-By:[[:space:]]*(\/[^[:space:]]+).*/\1/Ip; s/.*[[ ]signed-by=(\/[^] ,]+).*/\1/p' "$archive_file" | head -n 1)
  fi
  if [[ -z $keyring && -f /usr/share/keyrings/debian-archive-keyring.gpg ]]; then
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  fi
  write_as_root "$apt_preferences" "$(preferences)"
  write_as_root "$apt_sources" "$(sources "$keyring")"
  if ! update_lists; then
    drop_suites
    die "apt-get update failed; $apt_sources and $apt_preferences were removed again"
  fi
}

drop_suites() { "${as_root[@]}" rm -f "$apt_sources" "$apt_preferences"; }

sources() {
  local keyring=$1 suites=sid
  # A suite that the machine already has is not added again.
  if [[ $base_suite == bookworm ]] && ! debian_archives | grep -q '^trixie '; then suites="trixie sid"; fi
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "${archive_uri%/}" "$suites"
  [[ -z $keyring ]] || printf 'Signed-By: %s\n' "$keyring"
}

preferences() {
  if [[ $base_suite == bookworm ]]; then pin '*' trixie 50; fi
  pin '*' sid 40
  if [[ $base_suite == bookworm ]]; then
    pin 'src:glibc src:gcc-14 src:dpkg src:libzstd base-files' trixie 990
    pin 'src:catch2 src:benchmark src:nanobind src:robin-map' trixie 990
  fi
  pin 'src:trilinos' sid 995
}

pin() { printf 'Package: %s\nPin: release n=%s\nPin-Priority: %s\n\n' "$1" "$2" "$3"; }

write_as_root() {
  local file=$1 text=$2
  if [[ -f $file && $(cat "$file") == "$text" ]]; then return; fi
  printf '%s\n' "$text" | "${as_root[@]}" tee "$file" >/dev/null
}
