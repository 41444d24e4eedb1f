#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything and runs every test. Arguments go to ctest: scripts/test.sh -R cli
# Installs what is missing with apt-get; writes nothing outside build/.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/install_packages.sh --for build,optional,data,test

jobs=${JOBS:-$(nproc)}
cmake --preset release -DTESSERA_TESTS=ON -DTESSERA_TOOLS=ON
cmake --build --preset release --parallel "$jobs"
ctest --test-dir build/release --output-on-failure --parallel "$jobs" "$@"
