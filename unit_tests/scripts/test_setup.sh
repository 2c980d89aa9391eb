#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installing packages without a terminal: refused without --yes, before anything has changed. apt and root are replaced by
# programs that keep a log.
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

# try <assume_yes>: whether installing METIS goes through.
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
