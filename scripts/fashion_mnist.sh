# SPDX-License-Identifier: Apache-2.0
# Sourced: prints the one installed file of Debian's dataset-fashion-mnist whose path ends so, e.g.
#   fashion_mnist_file 'train-images-idx3-ubyte(\.gz)?'
fashion_mnist_file() {
  local path
  path=$(dpkg -L dataset-fashion-mnist | grep -E "/$1\$" | head -n 1)
  [ -r "$path" ] || { echo "${0##*/}: dataset-fashion-mnist has no readable $1" >&2; exit 1; }
  echo "$path"
}
