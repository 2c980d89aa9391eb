#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Formats every tracked C and C++ file. --check only lists the files that would change, and fails if there are any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  '') mode=(-i) ;;
  --check) mode=(--dry-run -Werror) ;;
  --help | -h) echo "Usage: scripts/format.sh [--check]" && exit 0 ;;
  *) echo "format.sh: unknown option '$1'" >&2 && exit 2 ;;
esac
command -v clang-format >/dev/null || { echo "format.sh: clang-format is not there" >&2 && exit 1; }
git ls-files -z -- '*.h' '*.hpp' '*.c' '*.cpp' '*.cu' | xargs -0 --no-run-if-empty clang-format "${mode[@]}"
