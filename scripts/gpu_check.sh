#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that only a GPU can show, in under 8 minutes: sanitizers, the CPU's bits, the model of the tensor cores, the speed table.
# Needs a driver and the CUDA toolkit, and Python with NumPy; torch and cupy for the parts that compare with them. Installs nothing.
#   scripts/gpu_check.sh [--bundle FOLDER] [--out FOLDER] [--only STEP,...] [--dry-run]
# --bundle   what scripts/gpu_bundle.sh made (default: build/gpu-bundle where it is). If it does not start here, or there is none, the bare + CUDA
#            configuration is built.
# --out      gets gpu_check.json and gpu_check.md (default: $OUT, else build/gpu-check)
# --dry-run  says what would run and what is missing, and runs nothing
# Ends well only if every step ran and passed.
set -euo pipefail
cd "$(dirname "$0")/.."

bundle=build/gpu-bundle
arguments=()
out=${OUT:-build/gpu-check}
dry=""
while [ $# -gt 0 ]; do
  case $1 in
    --bundle) bundle=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --only) arguments+=(--only "$2"); shift 2 ;;
    --dry-run) dry=1; arguments+=(--dry-run); shift ;;
    *) echo "gpu_check: $1: wanted --bundle FOLDER, --out FOLDER, --only STEPS or --dry-run" >&2; exit 2 ;;
  esac
done

say() { echo "gpu_check: $*"; }
export PATH=$PATH:/usr/local/cuda/bin
# The first Python that has most of what the steps want.
python=""
for module in torch numpy json; do
  for candidate in "${PYTHON:-python3}" python /usr/bin/python3; do
    if [ -z "$python" ] && "$candidate" -c "import $module" > /dev/null 2>&1; then python=$candidate; fi
  done
done
[ -n "$python" ] || { say "no python3: nothing can be checked" >&2; exit 1; }

build() {
  command -v cmake > /dev/null || { say "no cmake, and no bundle that starts: make one with scripts/gpu_bundle.sh and carry it here" >&2; return 1; }
  say "building the bare + CUDA configuration (4 minutes at most)"
  timeout 240 bash -c '
    cmake --preset bare -B build/gpu -DTESSERA_CUDA=ON -DTESSERA_TESTS=OFF -DCMAKE_PREFIX_PATH="$1/deps/usr" &&
    cmake --build build/gpu --target tessera_cli --parallel' _ "$PWD/$bundle" > build/gpu_build.log 2>&1 || {
    say "it does not build here, log of the last lines:" >&2
    tail -5 build/gpu_build.log >&2
    return 1
  }
  command=build/gpu/tools/tessera
}

mkdir -p "$out" build
command=$bundle/tessera
if [ -x "$command" ] && "$command" --version > /dev/null 2>&1; then
  say "command: $command, $("$command" --version)"
elif [ -n "$dry" ]; then
  say "no bundle that starts in $bundle: would build the bare + CUDA configuration"
  for candidate in build/gpu/tools/tessera build/release/tools/tessera; do
    if [ -x "$candidate" ]; then command=$candidate; break; fi
  done
else
  [ ! -x "$command" ] || say "$command does not start here: $("$command" --version 2>&1 | head -1)"
  build || exit 1
fi
exec "$python" bench/gpu_check.py --command "$command" --out "$out" ${arguments[@]+"${arguments[@]}"}
