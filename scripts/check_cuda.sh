#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles every CUDA kernel for every architecture, with the build's own flags, and prints what each takes of a multiprocessor as a Markdown
# table (docs/performance.md has a copy). Fails on register spills and on local memory, which no kernel has a use for: arrays that do
# not stay in registers make a kernel many times slower, and nothing else would tell.
#   scripts/check_cuda.sh [--require]   without nvcc it says so and ends well; --require: it fails
set -euo pipefail
cd "$(dirname "$0")/.."

nvcc=${CUDACXX:-$(command -v nvcc || true)}
[ -n "$nvcc" ] || nvcc=/usr/local/cuda/bin/nvcc
if ! command -v "$nvcc" > /dev/null; then
  echo "check_cuda: no nvcc on PATH or in /usr/local/cuda: the kernels are not compiled for GPUs here (tests/simt runs them on the host)"
  [ "${1:-}" != --require ] || exit 1
  exit 0
fi

# The build's flags and architectures, from the one place that has them.
flags=$(sed -n 's/^set(TESSERA_CUDA_FLAGS \(.*\))$/\1/p' cmake/TesseraCuda.cmake)
[ -n "$flags" ] || { echo "check_cuda: cmake/TesseraCuda.cmake has no TESSERA_CUDA_FLAGS" >&2; exit 1; }
archs="80 90"
if "$nvcc" --list-gpu-code | grep -qx sm_100; then archs+=" 100"; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nvcc" --version | grep release | sed 's/^/check_cuda: nvcc, /'
for arch in $archs; do
  # shellcheck disable=SC2086  # flags are words
  "$nvcc" $flags -O3 -DNDEBUG -Iinclude -Isrc -gencode "arch=compute_$arch,code=sm_$arch" -Xptxas -v -cubin -o "$work/$arch.cubin" \
    src/kernels/cuda/kernels.cu > "$work/$arch.log" 2>&1 || { cat "$work/$arch.log"; exit 1; }
done

kernels=$(sed -n 's/^TESSERA_CUDA_KERNEL(\([a-z0-9_]*\),.*/\1/p' src/kernels/cuda/kernels.def | tr '\n' ' ')
printf '\n| kernel |'
for arch in $archs; do printf ' sm_%s: registers, static shared bytes |' "$arch"; done
printf '\n| --- |%s\n' "$(printf ' --- |%.0s' $archs)"
for arch in $archs; do
  # ptxas names a function, then its stack and spills, then (entries only) what it used.
  awk -v list="$kernels" '
    BEGIN { count = split(list, ids, " ") }
    /Compiling entry function|Function properties for/ {
      name = $0
      sub(/.*(entry function .|properties for )/, "", name)
      sub(/[^A-Za-z0-9_].*/, "", name)
      # Mangled: every part stands behind its length, which may follow other digits.
      for (i = 1; i <= count; ++i) if (index(name, (length(ids[i]) + 7) "kernel_" ids[i] "E")) { name = ids[i]; break }
    }
    /bytes stack frame/ {
      if ($1 + 0 > 0 || $5 + 0 > 0 || $9 + 0 > 0) print "bad", name, $0 > "/dev/stderr"
    }
    /Used [0-9]+ registers/ {
      shared = 0
      for (i = 1; i < NF; ++i) if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) shared = $i
      for (i = 1; i < NF; ++i) if ($i == "Used") print name, $(i + 1), shared
    }' "$work/$arch.log" > "$work/$arch.txt" 2> "$work/$arch.bad"
  [ -s "$work/$arch.txt" ] || { echo "check_cuda: nothing in ptxas's output for sm_$arch" >&2; cat "$work/$arch.log" >&2; exit 1; }
done
first=${archs%% *}
for kernel in $kernels; do
  printf '| `%s` |' "$kernel"
  for arch in $archs; do awk -v k="$kernel" '$1 == k { printf " %s, %s |", $2, $3 }' "$work/$arch.txt"; done
  printf '\n'
done
printf '\n'

failed=0
for arch in $archs; do
  while read -r _ kernel what; do
    echo "check_cuda: sm_$arch, $kernel: $what" >&2
    failed=1
  done < "$work/$arch.bad"
done
wanted=$(wc -w <<< "$kernels")
found=$(wc -l < "$work/$first.txt")
if [ "$wanted" -ne "$found" ]; then
  echo "check_cuda: kernels.def lists $wanted kernels, ptxas reports $found" >&2
  failed=1
fi
exit $failed
