#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the files of a release from the last commit, and checks them. docs/releasing.md has the steps around it.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/release.sh [options]
Makes build/release-$version from the last commit: the source archive, wheels and .deb, the site, and SHA256SUMS.
Stops if files are not committed, name different versions, or fail their checks. It tags and publishes nothing.

  --wheels DIR    take wheels and .deb from there (default build/wheel/dist, where scripts/wheel.sh leaves them)
  --kokkos-source DIR, --kokkos-kernels-source DIR
                  build wheels and .deb first, by scripts/wheel.sh
  --python NAME   Python for the checks and the site (default python3)
  --skip PART     leave out site, packages, or configure (of the archive); may be repeated
  --version       print the version of the sources
  --help          this text
END
}

version=$(sed -n 's/^project(Lutra VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
dist=$root/build/wheel/dist kokkos='' kernels='' python=python3 skipped=' '
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --version) printf '%s\n' "$version" && exit 0 ;;
    --*) [[ $# -ge 2 ]] || die "$1 needs a value; --help lists the options" ;;&
    --wheels) dist=$2 ;;
    --kokkos-source) kokkos=$2 ;;
    --kokkos-kernels-source) kernels=$2 ;;
    --python) python=$2 ;;
    --skip)
      [[ $2 =~ ^(site|packages|configure)$ ]] || die "--skip takes site, packages or configure"
      skipped+="$2 "
      ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift 2
done
[[ -n $kokkos && -n $kernels || -z $kokkos$kernels ]] || die "--kokkos-source and --kokkos-kernels-source go together"
name=lutra-$version
out=$root/build/release-$version
missing_parts=()

skips() { [[ $skipped == *" $1 "* ]]; }

# check_tree: everything is committed, and a tag of this version is that of the last commit.
check_tree() {
  local changed tagged
  changed=$(git -C "$root" status --porcelain)
  [[ -z $changed ]] || die "not committed:
$changed"
  tagged=$(git -C "$root" rev-parse --quiet --verify "refs/tags/v$version^{commit}" || true)
  [[ -z $tagged || $tagged == "$(git -C "$root" rev-parse HEAD)" ]] ||
    die "the tag v$version is another commit, $tagged; raise the version"
}

# check_sources DIR: versions, pages, names and links of the sources in a folder.
check_sources() {
  local test
  for test in versions pages names site; do
    "$python" "$1/unit_tests/scripts/test_$test.py" 2>"$out/check.log" || {
      cat "$out/check.log" >&2
      die "unit_tests/scripts/test_$test.py failed in $1"
    }
  done
  rm -f "$out/check.log"
}

# make_archive: the files of the last commit, all of them, and no others; the archive passes the checks and configures.
make_archive() {
  local unpacked=$out/check
  say "Source archive"
  git -C "$root" archive --prefix="$name/" HEAD | gzip -n -9 >"$out/$name.tar.gz"
  mkdir "$unpacked"
  tar -xzf "$out/$name.tar.gz" -C "$unpacked"
  diff <(cd "$unpacked/$name" && find . -type f -o -type l | LC_ALL=C sort) \
    <(git -C "$root" ls-files | sed 's|^|./|' | LC_ALL=C sort) >&2 || die "the archive lacks files of the last commit"
  check_sources "$unpacked/$name"
  if ! skips configure; then
    say "Configuring the archive"
    cmake -G Ninja -S "$unpacked/$name" -B "$unpacked/build" -DCMAKE_BUILD_TYPE=Release -DLutra_ENABLE_TESTS=OFF \
      >"$out/configure.log" 2>&1 || {
      cat "$out/configure.log" >&2
      die "the archive does not configure; --skip configure leaves this out"
    }
    rm "$out/configure.log"
  fi
  rm -rf "$unpacked"
}

# check_wheel FILE: the archive is whole, has this version, the compiled module and every module of the package.
check_wheel() {
  "$python" - "$1" "$version" "$root/python/lutra" <<'END' || die "${1##*/} is not a wheel of this release"
import sys, zipfile
from pathlib import Path
wheel, version, package = sys.argv[1:]
with zipfile.ZipFile(wheel) as files:
    names = files.namelist()
    bad = files.testzip()
    metadata = next(files.read(n).decode() for n in names if n.endswith(".dist-info/METADATA"))
missing = {f"lutra/{p.name}" for p in Path(package).glob("*.py")} - set(names)
if not any(n.startswith("lutra/_core.") and n.endswith(".so") for n in names): missing.add("lutra/_core")
if bad or missing or f"\nVersion: {version}\n" not in metadata:
    sys.exit(f"{wheel}: damaged: {bad}, missing: {sorted(missing)}, {metadata.split('Summary')[0]}")
END
}

# check_deb FILE
check_deb() {
  local found
  found=$(dpkg-deb --field "$1" Version) || die "${1##*/} is no Debian package"
  [[ ${found%%-*} == "$version" ]] || die "${1##*/} has the version $found"
}

# take_packages: copies wheels and .deb of this version, after building them if Kokkos' sources were given.
take_packages() {
  local file
  say "Wheels and .deb"
  if [[ -n $kokkos ]]; then
    "$root/scripts/wheel.sh" --kokkos-source "$kokkos" --kokkos-kernels-source "$kernels" --out "$dist" --test
  fi
  shopt -s nullglob
  for file in "$dist"/*"$version"*.whl; do check_wheel "$file" && cp "$file" "$out"; done
  for file in "$dist"/*"$version"*.deb; do check_deb "$file" && cp "$file" "$out"; done
  compgen -G "$out/*.whl" >/dev/null || missing_parts+=("wheels: none of version $version in $dist; scripts/wheel.sh builds them")
  compgen -G "$out/*.deb" >/dev/null || missing_parts+=("a .deb: none of version $version in $dist; scripts/wheel.sh builds it")
}

# make_site: the site as an archive.
make_site() {
  say "Site"
  "$root/scripts/site.sh" --python "$python"
  tar -C "$root/build/site" --transform "s|^html|$name-site|" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git -C "$root" log -1 --format=%ct)" -cf - html | gzip -n -9 >"$out/$name-site.tar.gz"
}

check_tree
rm -rf "$out"
mkdir -p "$out"
check_sources "$root"
make_archive
if skips packages; then missing_parts+=("wheels and .deb: skipped"); else take_packages; fi
if skips site; then missing_parts+=("the site: skipped"); else make_site; fi
(cd "$out" && sha256sum -- * >"$out.sums" && mv "$out.sums" SHA256SUMS)

say "
$out"
sed 's/^/  /' "$out/SHA256SUMS" >&2
if [[ ${#missing_parts[@]} -gt 0 ]]; then printf 'not included: %s\n' "${missing_parts[@]}" >&2; fi
say "To publish: git tag -a v$version -m 'Lutra $version', and upload these files"
