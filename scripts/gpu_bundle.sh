#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a folder that a machine with a GPU can run without installing anything: the command of the bare + CUDA configuration, the shared
# libraries it needs beside it, and, for a machine whose C library is older, the headers that building there takes.
#   scripts/gpu_bundle.sh [FOLDER]     default: build/gpu-bundle
# scripts/gpu_check.sh --bundle FOLDER runs it there. Build options of your own: CMAKE_ARGS="-DTESSERA_CUDA_ARCHS=90-real" scripts/gpu_bundle.sh
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/gpu-bundle}
jobs=${JOBS:-$(nproc)}

# $ORIGIN as DT_RPATH and not DT_RUNPATH: the libraries' own libraries must be found there, too.
# shellcheck disable=SC2086  # CMAKE_ARGS are words
cmake --preset bare -B build/gpu -DTESSERA_CUDA=ON -DTESSERA_TESTS=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH='$ORIGIN' \
  -DCMAKE_EXE_LINKER_FLAGS="-static-libstdc++ -static-libgcc -Wl,--disable-new-dtags" ${CMAKE_ARGS:-} > /dev/null
cmake --build build/gpu --target tessera_cli --parallel "$jobs"

rm -rf "$out"
mkdir -p "$out/deps"
cp build/gpu/tools/tessera "$out/"
strip "$out/tessera"
# Everything but the C library, which belongs to the machine and to its driver.
ldd build/gpu/tools/tessera | awk '$3 ~ /^\// { print $3 }' | grep -Ev '/(libc|libm|libdl|librt|libpthread)\.so' | while read -r library; do
  cp -L "$library" "$out/"
done
# What building there needs, where Debian's packages put it.
if command -v dpkg > /dev/null; then
  dpkg -L libfmt-dev libfmt9 libcli11-dev nlohmann-json3-dev | grep -E '^/usr/(include|lib|share/cmake)/' | while read -r file; do
    [ -d "$file" ] || cp -d --parents "$file" "$out/deps"
  done
fi
echo "bundle: $out, $(du -sh "$out" | cut -f1)"
"$out/tessera" info | sed -n 's/^\(cuda\|gpu\)/  \1/p'
