#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of apt-packages.txt that are missing. Does nothing when none is.
#   scripts/install_packages.sh                       every package of the list
#   scripts/install_packages.sh --for build,optional  those whose second column says so (build, optional, data, test, gate, plot)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
list=$root/apt-packages.txt
purposes=$(grep -v '^#' "$list" | awk 'NF { print $2 }' | sort -u | paste -sd, -)

usage() {
  echo "usage: scripts/install_packages.sh [--for PURPOSE[,PURPOSE...]]   purposes: $purposes" >&2
  exit 2
}

wanted=$purposes
while [ $# -gt 0 ]; do
  case $1 in
    --for) [ $# -ge 2 ] || usage; wanted=$2; shift 2 ;;
    --for=*) wanted=${1#--for=}; shift ;;
    *) usage ;;
  esac
done
for purpose in ${wanted//,/ }; do
  [[ ,$purposes, == *,$purpose,* ]] || { echo "install_packages: no package is for '$purpose'" >&2; usage; }
done

if ! command -v dpkg-query > /dev/null; then
  echo "install_packages: this needs Debian or Ubuntu; elsewhere install the equivalents of apt-packages.txt" >&2
  exit 1
fi

missing=()
while read -r package purpose; do
  [[ ,$wanted, == *,$purpose,* ]] || continue
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done < <(grep -v '^#' "$list" | awk 'NF { print $1, $2 }')

if [ ${#missing[@]} -eq 0 ]; then
  echo "packages for $wanted: all installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "install_packages: not root and no sudo; as root run: apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "packages for $wanted: installing ${missing[*]}"
# ${as_root[@]+...}: an empty array counts as unset in bash before 4.4.
${as_root[@]+"${as_root[@]}"} apt-get update -q
${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
  "${missing[@]}"
