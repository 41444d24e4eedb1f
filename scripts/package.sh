#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the shared library and the Debian package: build/package/tessera_VERSION_ARCH.deb.
#   scripts/package.sh            builds it
#   scripts/package.sh --check    also checks the exported symbols; installs the package on an overlay of this system, runs
#                                 the command, builds the examples against it, and removes it
# Writes to build/ alone; --check needs root (or sudo) for mount, chroot and dpkg.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/package
mkdir -p build
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DTESSERA_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr > "$build.log"
cmake --build "$build" --parallel "${JOBS:-$(nproc)}"
rm -f "$build"/*.deb
(cd "$build" && cpack > cpack.log) || { cat "$build/cpack.log" >&2; exit 1; }
package=$(ls "$build"/*.deb)
echo "built $package"
[ "${1:-}" = --check ] || exit 0

echo "-- exported symbols"
python3 tests/install/symbols_test.py nm "$build/src/libtessera.so" include/tessera
echo "-- the shared library, installed in a folder"
tests/install/install_test.sh "$build" .
echo "-- the package"
tests/install/package_test.sh "$package" .
