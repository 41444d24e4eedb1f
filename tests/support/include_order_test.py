# SPDX-License-Identifier: Apache-2.0
"""Includes between the rooms of src/ point one way, and tools/ sees public headers only.

usage: include_order_test.py PROJECT_ROOT
"""
import pathlib
import re
import sys

CHAIN = ["support", "core", "metrics", "kernels", "select", "prepare", "engine", "api"]
OUTSIDE = {"support", "core", "tessera"}  # what the rooms beside the chain may include, and their own room
SIDE_ROOMS = ["io", "dump", "graph", "ann", "recall"]
TOOL_LIBRARIES = ("nlohmann/", "fmt/", "CLI/")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
SUFFIXES = {".hpp", ".cpp", ".h", ".inc", ".def", ".in", ".cu", ".cuh"}


def allowed_rooms(room):
    if room in CHAIN:
        # core/backend.hpp and its kind are interfaces that everything behind core may fill in.
        return {"tessera", *CHAIN[: CHAIN.index(room) + 1]}
    rooms = OUTSIDE | {room}
    return rooms if room == "io" else rooms | {"io"}


def includes(path):
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def sources(folder):
    return [p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix in SUFFIXES]


def wrong_in_src(src):
    known = {p.name for p in src.iterdir() if p.is_dir()} | {"tessera"}
    for room in sorted(p.name for p in src.iterdir() if p.is_dir()):
        if room not in CHAIN + SIDE_ROOMS:
            yield f"src/{room}: a room that this test does not know; say here what it may include"
            continue
        for path in sources(src / room):
            for quote, target in includes(path):
                first = target.split("/")[0]
                if quote == '"' and (first not in known or "/" not in target):
                    yield f'{path}: "{target}" names no room; paths start at src/'
                elif first in known and first not in allowed_rooms(room):
                    yield f"{path}: {room} may not include {target}"


def wrong_in_tools(tools, src):
    rooms = {p.name for p in src.iterdir() if p.is_dir()}
    for path in sources(tools):
        for quote, target in includes(path):
            own = (tools / target).exists() or (tools.parent / target).exists() and target.startswith("tools/")
            public = target.startswith("tessera/")
            if quote == '"' and not own and not public and not target.startswith(TOOL_LIBRARIES):
                yield f"{path}: {target} is neither a public header nor one of tools/"
            elif not own and target.split("/")[0] in rooms and "/" in target:
                yield f"{path}: tools may not include {target}"


def wrong_in_public(include):
    for path in sources(include):
        for quote, target in includes(path):
            if quote == '"' and not target.startswith("tessera/"):
                yield f"{path}: a public header may not include {target}"


def main():
    root = pathlib.Path(sys.argv[1])
    looked_at = len(sources(root / "src")) + len(sources(root / "include"))
    if looked_at < 20:
        sys.exit(f"{root}: {looked_at} sources only; wrong folder?")
    wrong = [*wrong_in_src(root / "src"), *wrong_in_public(root / "include")]
    if (root / "tools").is_dir():
        wrong += wrong_in_tools(root / "tools", root / "src")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{looked_at} sources: includes point one way")


main()
