#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian package, uses it as a stranger would, and removes it: all on an overlay of this system that vanishes.
# Needs root (or sudo) for mount, chroot and dpkg.
#   package_test.sh PACKAGE.deb SOURCE_DIR
set -euo pipefail

# Inside the overlay: the package and the examples lie in /tmp/package.
if [ "${1:-}" = --inside ]; then
  cd /tmp/package
  dpkg -i ./*.deb > dpkg.log 2>&1 || { cat dpkg.log; exit 1; }
  dpkg -L tessera | sort > files.txt
  echo "-- the command"
  tessera --version
  printf '0,0\n3,4\n6,8\n' > points.csv
  tessera topk -b points.csv -k 1 -o - -q > table.txt
  grep -Eq '^0[[:space:]]+.*1[[:space:]]+5' table.txt
  ldd "$(command -v tessera)" | grep -q '/usr/lib.*libtessera.so\|/lib.*libtessera.so'
  echo "-- find_package and pkg-config"
  cmake -S examples -B build -DCMAKE_BUILD_TYPE=Release > configure.log || { cat configure.log; exit 1; }
  cmake --build build > build.log || { cat build.log; exit 1; }
  build/nearest_rows | grep -q 'query 1: row 2 at 1.0000'
  read -ra flags <<< "$(pkg-config --cflags --libs tessera)"
  c++ examples/nearest_rows.cpp "${flags[@]}" -o by_pkg_config
  ./by_pkg_config | grep -q 'query 1: row 2 at 1.0000'
  echo "-- removing it"
  dpkg -r tessera > dpkg.log 2>&1 || { cat dpkg.log; exit 1; }
  while read -r path; do
    if [ -f "$path" ]; then echo "left behind: $path"; exit 1; fi
  done < files.txt
  exit 0
fi

self=$(realpath "$0")
package=$(realpath "$1")
source=$(realpath "$2")
if [ "$(id -u)" -ne 0 ]; then exec sudo "$self" "$package" "$source"; fi

if [ -z "${TESSERA_OVERLAY:-}" ]; then
  TESSERA_OVERLAY=$(mktemp -d)
  export TESSERA_OVERLAY
  trap 'rmdir "$TESSERA_OVERLAY"' EXIT
  unshare -m "$self" "$package" "$source"  # the mounts below vanish with it
  exit
fi

overlay=$TESSERA_OVERLAY
mount -t tmpfs none "$overlay"
mkdir "$overlay/upper" "$overlay/work" "$overlay/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$overlay/upper,workdir=$overlay/work" "$overlay/root"
for folder in dev proc; do mount --rbind "/$folder" "$overlay/root/$folder"; done
mkdir "$overlay/root/tmp/package"
cp "$package" "$overlay/root/tmp/package"
cp -r "$source/examples" "$self" "$overlay/root/tmp/package"
if dpkg -s tessera > /dev/null 2>&1; then chroot "$overlay/root" dpkg -r tessera > /dev/null; fi
chroot "$overlay/root" "/tmp/package/$(basename "$self")" --inside
echo "installed, used and removed"
