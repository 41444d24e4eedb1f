#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shared library exports the public names of tessera:: and nothing else of its own.

usage: symbols_test.py NM LIBRARY HEADERS_DIR

Templates of the C++ library come out as weak symbols of std:: whatever the visibility; they are let pass.
"""
import pathlib
import re
import subprocess
import sys


def main():
    nm, library, headers = sys.argv[1:4]
    listing = subprocess.run([nm, "-D", "--defined-only", "-C", library], check=True, capture_output=True, text=True).stdout
    public = set(re.findall(r"\w+", " ".join(path.read_text() for path in pathlib.Path(headers).glob("*.hpp"))))
    names, wrong = 0, []
    for line in listing.splitlines():
        kind, symbol = line.split(maxsplit=2)[1:]
        own = re.match(r"(?:vtable for |typeinfo for |typeinfo name for |VTT for )?(?:\w+ )*tessera::(\w+)(?:\(|::|$|\[)", symbol)
        if own and own.group(1) in public:
            names += 1
        elif not (kind in "WVu" and re.search(r"\bstd::|__gnu_cxx::", symbol)):
            wrong.append(line)
    for line in wrong:
        print("exported by mistake:", line)
    if names < 10:
        print(f"only {names} names of tessera:: are exported")
    print(f"{library}: {names} names of tessera::, {len(wrong)} others")
    return 1 if wrong or names < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
