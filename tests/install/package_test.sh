#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian package, uses it as a stranger would, and removes it: all on an overlay of this system that vanishes.
# Needs root (or sudo) for mount, chroot and dpkg. Where no overlay can be mounted (containers) it fails, or, with
# TESSERA_PACKAGE_IN_PLACE=1, installs in the system itself.
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
  ldd "$(command -v tessera)" > libraries.txt
  grep -q 'libtessera.so.* => /.*lib/.*libtessera.so' libraries.txt
  echo "-- find_package and pkg-config"
  cmake -S examples -B build -DCMAKE_BUILD_TYPE=Release > configure.log || { cat configure.log; exit 1; }
  cmake --build build > build.log || { cat build.log; exit 1; }
  build/nearest_rows > nearest.txt
  grep -q 'query 1: row 2 at 1.0000' nearest.txt
  read -ra flags <<< "$(pkg-config --cflags --libs tessera)"
  c++ examples/nearest_rows.cpp "${flags[@]}" -o by_pkg_config
  ./by_pkg_config > by_pkg_config.txt
  cmp nearest.txt by_pkg_config.txt
  echo "-- removing it"
  dpkg -r tessera > dpkg.log 2>&1 || { cat dpkg.log; exit 1; }
  while read -r path; do
    if [ -f "$path" ]; then echo "left behind: $path"; exit 1; fi
  done < files.txt
  exit 0
fi

# use_package ROOT: the part above, in that root.
use_package() {
  rm -rf "$1/tmp/package"
  mkdir "$1/tmp/package"
  cp "$package" "$1/tmp/package"
  cp -r "$source/examples" "$self" "$1/tmp/package"
  chroot "$1" "/tmp/package/$(basename "$self")" --inside
}
kNoOverlay=75

self=$(realpath "$0")
package=$(realpath "$1")
source=$(realpath "$2")
if [ "$(id -u)" -ne 0 ]; then exec sudo TESSERA_PACKAGE_IN_PLACE="${TESSERA_PACKAGE_IN_PLACE:-0}" "$self" "$package" "$source"; fi

if [ -z "${TESSERA_OVERLAY:-}" ]; then
  TESSERA_OVERLAY=$(mktemp -d)
  export TESSERA_OVERLAY
  trap 'rm -rf "$TESSERA_OVERLAY"' EXIT
  status=0
  if unshare -m true; then
    unshare -m "$self" "$package" "$source" || status=$?  # the mounts below vanish with it
  else
    status=$kNoOverlay
  fi
  if [ "$status" -eq "$kNoOverlay" ] && [ "${TESSERA_PACKAGE_IN_PLACE:-0}" = 1 ]; then
    echo "no overlay can be mounted here: installing in this system itself"
    use_package /
    rm -rf /tmp/package
    status=0
  fi
  [ "$status" -eq 0 ] && echo "installed, used and removed"
  exit "$status"
fi

overlay=$TESSERA_OVERLAY
mount -t tmpfs none "$overlay" || exit "$kNoOverlay"
mkdir "$overlay/upper" "$overlay/work" "$overlay/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$overlay/upper,workdir=$overlay/work" "$overlay/root" || exit "$kNoOverlay"
for folder in dev proc; do mount --rbind "/$folder" "$overlay/root/$folder"; done
if dpkg -s tessera > /dev/null 2>&1; then chroot "$overlay/root" dpkg -r tessera > /dev/null; fi
use_package "$overlay/root"
