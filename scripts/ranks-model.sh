#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compares the model of solves on several ranks with measurements on this host.
set -euo pipefail

usage() {
  cat <<END
Usage: scripts/ranks-model.sh BUILD [RANKS [MATRIX…]]
With LUTRA_BACKEND=cuda the ranks' devices are calibrated and solve; all grids have RANKS ranks then.
BUILD is a build folder with bin/lutra. Calibrates on RANKS ranks (default 4). Then solves each matrix on all grids of 1
to RANKS ranks, each rank on its own core if there are enough. Prints predicted and measured seconds of a solve (median
of several) and the median of their errors. The default is six generated matrices.
END
}

[[ $# -ge 1 && $1 != --help ]] || { usage && exit 1; }
lutra=$(realpath "$1")/bin/lutra
backend=()
[[ -z ${LUTRA_BACKEND:-} ]] || backend=(--backend "$LUTRA_BACKEND")
most=${2:-4}
shift $(($# < 2 ? $# : 2))
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
launch=(mpiexec)
[[ $(OMP_NUM_THREADS='' nproc) -ge $most ]] && launch+=(--bind-to core)

files=("$@")
if [[ ${#files[@]} -eq 0 ]]; then
  for kind in poisson2d:100 poisson3d:16 poisson3d:20 circuit:5000 convdiff3d:12 aniso2d:150; do
    files+=("$folder/${kind/:/-}.mtx")
    "$lutra" generate "${kind%:*}" --size "${kind#*:}" "${files[-1]}"
  done
fi
"${launch[@]}" -n "$most" "$lutra" calibrate "$folder/model" "${backend[@]}"
grep trisolve.distributed "$folder/model"
for file in "${files[@]}"; do
  for ((ranks = ${#backend[@]} > 0 ? most : 1; ranks <= most; ++ranks)); do
    for ((columns = 1; columns <= ranks; ++columns)); do
      ((ranks % columns == 0)) || continue
      grid=$((ranks / columns))x$columns
      # one rank: the second one only holds half of B and X
      "${launch[@]}" -n $((ranks > 1 ? ranks : 2)) "$lutra" solve "$file" --grid $grid --repeat 5 "${backend[@]}" \
        --device-model "$folder/model" --json > "$folder/$(basename "$file")-$ranks-$grid.json"
    done
  done
done
python3 - "$folder" <<'END'
import glob, json, statistics, sys
errors = []
print(f"{'matrix':<20} ranks  grid  predicted us  measured us  ratio")
for name in sorted(glob.glob(sys.argv[1] + "/*.json")):
    run = json.load(open(name))
    predicted, measured = run["grid"]["predicted_seconds"], run["times"]["solve"]
    rows, columns = map(int, run["grid"]["name"].split("x"))
    errors.append(abs(predicted / measured - 1))
    print(f"{run['matrix']['file'].split('/')[-1]:<20} {rows * columns:5d} {run['grid']['name']:>5}"
          f" {1e6 * predicted:13.0f} {1e6 * measured:12.0f} {predicted / measured:6.2f}")
print(f"median error {statistics.median(errors):.3f} of {len(errors)}")
END
