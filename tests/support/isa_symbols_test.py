# SPDX-License-Identifier: Apache-2.0
"""Each instruction set's object exports its table and nothing else.

An inline function that an AVX-512 object exports weakly may be the copy that the linker keeps for everyone: the program then
dies on older processors, far from the cause.

usage: isa_symbols_test.py NM ISA OBJECT...
"""
import re
import subprocess
import sys


def exported(nm, objects):
    """(type, name) of every defined global symbol."""
    text = subprocess.run([nm, "-C", "--defined-only", "-g", *objects], check=True, capture_output=True, text=True).stdout
    found = [re.match(r"[0-9a-f]*\s+(\w)\s+(.*)", line) for line in text.splitlines()]
    return [m.groups() for m in found if m]


def main():
    nm, isa, *objects = sys.argv[1:]
    if not objects:
        sys.exit(f"{isa}: no object to look at")
    symbols = [(kind, name) for kind, name in exported(nm, objects) if not name.startswith("DW.ref.")]
    table = f"tessera::kernels::{isa}::table()"
    wrong = [f"  {kind} {name}" for kind, name in symbols if name != table or kind != "T"]
    if ("T", table) not in symbols:
        wrong.append(f"  missing: {table}")
    if wrong:
        sys.exit(f"{isa}: wanted {table} alone, found\n" + "\n".join(wrong))
    print(f"{isa}: {table} alone")


main()
