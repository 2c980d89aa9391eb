# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2154
# Programs and libraries that Lutra's plug-ins are tested in, for test.sh --plugins: PETSc, SUNDIALS and Eigen from Debian,
# Ipopt (with CasADi) and MFEM from PyPI. Sourced after common.sh.

hosts=$root/build/hosts  # what apt cannot install, and a virtual environment
host_options=()          # for CMake

# provide_hosts: installs what is missing, and sets `host_options`.
provide_hosts() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then die "--plugins installs PETSc and SUNDIALS by apt"; fi
  choose_root petsc-dev libsundials-dev
  say "Hosts of the plug-ins: PETSc, SUNDIALS and Eigen by apt; Ipopt and MFEM by pip, into build/hosts"
  $assume_yes || [[ -t 0 ]] || die "without a terminal this script cannot ask whether to install them; --yes installs them"
  confirm
  [[ -n $(candidate_of petsc-dev) ]] || update_lists
  # shellcheck disable=SC2034 # apt_install reads it
  wants_suites=false
  if can_install petsc-dev libsundials-dev; then
    apt_install petsc-dev libsundials-dev python3-petsc4py-real libeigen3-dev
  else
    extract_hosts
  fi
  install_python_hosts
  host_options+=(-DLutra_ENABLE_IPOPT=ON -DLutra_ENABLE_PETSC=ON -DLutra_ENABLE_SUNDIALS=ON)
}

can_install() { LC_ALL=C apt-get -s install --no-install-recommends "$@" >/dev/null 2>&1; }

# depends <package> <pattern>: names of the packages that it depends on and that match.
depends() { LC_ALL=C apt-cache depends "$1" | sed -n 's/^ *|\{0,1\}Depends: //p' | grep -E "^$2\$" | sort -u || true; }

# Beside the Kokkos of Debian's suite sid, apt installs the libraries of PETSc and SUNDIALS, but not their packages for
# developers, which ask for the older Trilinos of Debian 12. Those are extracted below build/hosts.
extract_hosts() {
  local petsc petsc_dev common sundials
  petsc_dev=$(depends libpetsc-real-dev 'libpetsc-real[0-9.]+-dev')
  common=$(depends "$petsc_dev" 'libpetsc[0-9.]+-dev-common')
  petsc=$(depends "$petsc_dev" 'libpetsc-real[0-9.]+[a-z0-9]*')
  mapfile -t sundials < <(depends libsundials-dev 'libsundials-(core|cvode|kinsol|nvecserial|sunlinsol|sunmatrix)[0-9]+')
  apt_install "$petsc" "${sundials[@]}" python3-petsc4py-real libeigen3-dev
  rm -rf "$hosts/root" "$hosts/packages"
  mkdir -p "$hosts/root" "$hosts/packages"
  (cd "$hosts/packages" && apt-get -q download libsundials-dev "$petsc_dev" "$common" >/dev/null 2>&1) ||
    die "apt-get download failed: libsundials-dev $petsc_dev $common"
  local package
  for package in "$hosts"/packages/*.deb; do dpkg -x "$package" "$hosts/root"; done
  complete_links
  host_options+=("-DSUNDIALS_ROOT=$hosts/root/usr"
    "-DPETSC_DIR=$(echo "$hosts"/root/usr/lib/petscdir/petsc*/*-real)")
}

# Links in build/hosts/root to files that were not extracted lead to those that are installed.
complete_links() {
  local link target top
  top=$(realpath "$hosts/root")
  while read -r link; do
    target=$(realpath -m "$link")
    target=${target#"$top"}
    if [[ ! -e $link && -e $target ]]; then ln -sf "$target" "$link"; fi
  done < <(find "$hosts/root" -type l)
}

# A virtual environment with CasADi and the headers and library of MFEM, whose other dependencies are not needed.
install_python_hosts() {
  local python=$hosts/python/bin/python log=$hosts/pip.log packages=$hosts/python
  if [[ ! -x $python ]] && ! { mkdir -p "$hosts" && /usr/bin/python3 -m venv "$packages" >"$log" 2>&1; }; then
    apt_install python3-venv
    /usr/bin/python3 -m venv "$packages" >"$log" 2>&1 || die "no virtual environment: $(cat "$log")"
  fi
  if "$python" -m pip install -q --disable-pip-version-check casadi >"$log" 2>&1 &&
    "$python" -m pip install -q --disable-pip-version-check --no-deps mfem >>"$log" 2>&1; then
    host_options+=("-DMFEM_ROOT=$(echo "$packages"/lib/python3*/site-packages/mfem/external/ser)"
      "-DPython3_EXECUTABLE=$python")
  else
    say "Ipopt and MFEM are not tested; pip failed: $(tail -n 1 "$log")"
  fi
}
