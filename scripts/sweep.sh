#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Tessera, sweeps HNSW32, IVF1024,Flat and IVF256_HNSW32,Flat over Fashion-MNIST beside the exact search, and draws the result:
# build/sweep/fashion-mnist.{json,csv,png,svg,html}. Installs what is missing with apt-get; writes nothing outside build/.
#   scripts/sweep.sh                      Fashion-MNIST
#   scripts/sweep.sh BASE QUERIES NAME    files of your own, e.g. of bench/make_sift.py
#   PYTHON=... an interpreter with matplotlib (default: Debian's)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/install_packages.sh --for build,optional,data,plot

cmake --preset release
cmake --build --preset release --target tessera_cli --parallel "${JOBS:-$(nproc)}"

. scripts/fashion_mnist.sh
base=${1:-$(fashion_mnist_file 'train-images-idx3-ubyte(\.gz)?')}
queries=${2:-$(fashion_mnist_file 't10k-images-idx3-ubyte(\.gz)?')}
name=${3:-fashion-mnist}

mkdir -p build/sweep
set -x
build/release/tools/tessera ann sweep -b "$base" --queries "$queries" -k 10 -m l2 \
  --index HNSW32 --index IVF1024,Flat --index IVF256_HNSW32,Flat -o "build/sweep/$name.json" --force
"${PYTHON:-/usr/bin/python3}" scripts/plot_sweep.py "build/sweep/$name.json"
