#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets with clang++ and runs each of them; fails when one crashes, leaks or takes too much memory.
#   scripts/fuzz.sh [SECONDS] [TARGET...]   60 seconds a target, two at a time (FUZZ_JOBS); targets: npy npz safetensors fbin ...
# Writes nothing outside build/fuzz. Corpora are kept there between runs; a crash leaves its input beside them.
# The target h5 runs only when named, with PYTHON=... an interpreter that has h5py, for the seeds: libhdf5 1.10 crashes
# by itself on files broken with intent. What counts there is a crash whose innermost frames are Tessera's.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(npy npz safetensors fbin u64bin fvecs bvecs idx csv xyz gro pdb poscar lammps ragged any)

build=build/fuzz
mkdir -p build
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DTESSERA_FUZZ=ON -DTESSERA_TOOLS=OFF \
  -DTESSERA_TESTS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo > "$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
cmake --build "$build" --target fuzz_targets --parallel "${JOBS:-2}"
"${PYTHON:-python3}" tests/fuzz/make_seeds.py "$build/seeds"

# Runs one target: the line it prints names the inputs executed.
run() {
  local target=$1 folder=$build/corpus/$1 log=$build/$1.log limits=(-malloc_limit_mb=2048)
  # libhdf5 1.10 itself leaks a little when a file is broken, and asks for absurd sizes, whose refusal it handles.
  case $target in h5)
    limits=(-malloc_limit_mb=0 -detect_leaks=0)
    export ASAN_OPTIONS=allocator_may_return_null=1 ;;
  esac
  mkdir -p "$folder" "$build/seeds/$target"
  # 2 GiB and 10 s an input: a header of a few bytes must not cost more.
  if "$build/tests/fuzz/fuzz_$target" "$folder" "$build/seeds/$target" -max_total_time="$seconds" -max_len=8192 \
      -rss_limit_mb=2048 "${limits[@]}" -timeout=10 -print_final_stats=1 \
      -artifact_prefix="$build/$target-" > "$log" 2>&1; then
    echo "$target: $(grep -oP 'number_of_executed_units: \K\d+' "$log") inputs, no crash"
  else
    echo "$target: CRASHED; log $log" >&2
    grep -E 'SUMMARY|Test unit written' "$log" >&2 || tail -n 5 "$log" >&2
    return 1
  fi
}
export -f run
export build seconds
printf '%s\n' "${targets[@]}" | xargs -P "${FUZZ_JOBS:-2}" -I{} bash -c 'run {}'
