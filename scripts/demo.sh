#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Tessera and finds the 10 nearest of Fashion-MNIST's 60,000 training images for each of its 10,000 test images.
# Installs what is missing with apt-get; writes nothing outside build/.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/install_packages.sh --for build,optional,data

cmake --preset release
cmake --build --preset release --target tessera_cli --parallel "${JOBS:-$(nproc)}"

. scripts/fashion_mnist.sh
train=$(fashion_mnist_file 'train-images-idx3-ubyte(\.gz)?')
test=$(fashion_mnist_file 't10k-images-idx3-ubyte(\.gz)?')

set -x
build/release/tools/tessera topk -b "$train" --queries "$test" -k 10 -m l2 -o build/fashion-mnist-nn.npz --force
