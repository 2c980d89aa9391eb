#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the site from docs/, the public headers and the Python package, and checks its links.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<END
Usage: scripts/site.sh [options]
Builds the site in build/site/html. A link that leads nowhere is an error. Needs MkDocs and the theme that
packaging/site/requirements.txt names; where they are missing, they are installed in build/site/venv by pip.

  --python NAME  the Python that has them, or makes the virtual environment (default python3)
  --out DIR      instead of build/site; html, pages and venv in it are replaced
  --help         this text
END
}

out=$root/build/site python=python3
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --python | --out) [[ $# -ge 2 ]] || die "$1 needs a value" ;;&
    --python) python=$2 ;;
    --out) out=$2 ;;
    *) die "unknown option '$1'; --help lists the options" ;;
  esac
  shift 2
done
mkdir -p "$out"
out=$(cd "$out" && pwd)

has_mkdocs() { "$1" -c 'import material, mkdocs' 2>/dev/null; }
if ! has_mkdocs "$python"; then
  if ! has_mkdocs "$out/venv/bin/python"; then
    say "Installing MkDocs in $out/venv"
    "$python" -m venv "$out/venv" || die "no virtual environment (Debian: python3-venv)"
    "$out/venv/bin/python" -m pip install --quiet --requirement "$root/packaging/site/requirements.txt" ||
      die "MkDocs is not installed, and pip cannot install it"
  fi
  python=$out/venv/bin/python
fi
"$python" "$root/scripts/site.py" "$out"
NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --strict --quiet --clean --config-file "$out/mkdocs.yml"
say "The site is in $out/html; open index.html"
