#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the build into an empty folder and uses it as a stranger would: find_package, pkg-config, the command.
#   install_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"

libdir=$(dirname "$(find "$work/prefix" -name tessera.pc)")
export LD_LIBRARY_PATH=$libdir/..  # of a shared library

echo "-- find_package"
cmake -S "$source/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release > "$work/configure.log" \
  || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/examples" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/examples/nearest_rows" | tee "$work/out.txt"
grep -q 'query 1: row 2 at 1.0000' "$work/out.txt"
"$work/examples/prepared_base"

echo "-- pkg-config"
read -ra flags <<< "$(PKG_CONFIG_PATH=$libdir pkg-config --define-variable=prefix="$work/prefix" --static --cflags --libs tessera)"
"${CXX:-c++}" "$source/examples/nearest_rows.cpp" "${flags[@]}" -o "$work/by_pkg_config"
"$work/by_pkg_config" > "$work/out2.txt"
cmp "$work/out.txt" "$work/out2.txt"

echo "-- the command"
if [ -x "$work/prefix/bin/tessera" ]; then
  printf '0,0\n3,4\n6,8\n' > "$work/points.csv"
  "$work/prefix/bin/tessera" topk -b "$work/points.csv" -k 1 -o - -q | tee "$work/table.txt"
  grep -Eq '^0[[:space:]]+.*1[[:space:]]+5' "$work/table.txt"
fi
echo "installed and used"
