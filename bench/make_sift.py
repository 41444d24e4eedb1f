#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes SIFT descriptors of photographs that Debian ships: real, clustered data with duplicates, and nothing to download by hand.

    apt-get install mate-backgrounds plasma-workspace-wallpapers gnome-backgrounds
    build/venv/bin/pip install numpy opencv-python-headless
    build/venv/bin/python bench/make_sift.py build/sift [--rows 200000] [--queries 2000]

Writes FOLDER/sift_base.u8bin and FOLDER/sift_queries.u8bin (u32 rows, u32 columns, uint8 [rows, 128]). Descriptors of all pictures are
shuffled by a fixed seed; queries are the ones after the base: other descriptors of the same pictures.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np

PACKAGES = ["mate-backgrounds", "plasma-workspace-wallpapers", "gnome-backgrounds"]
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}
LONGEST = 2400  # pixels: larger pictures are scaled down, as SIFT doubles them first


def pictures(packages):
    files = []
    for package in packages:
        listing = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
        if listing.returncode != 0:
            print(f"make_sift: {package} is not installed; apt-get install {package}", file=sys.stderr)
            continue
        files += [Path(line) for line in listing.stdout.splitlines() if Path(line).suffix.lower() in SUFFIXES and Path(line).is_file()]
    return sorted({file.resolve() for file in files})


def descriptors(file, sift):
    image = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
    if image is None:
        return None
    scale = LONGEST / max(image.shape)
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    found = sift.detectAndCompute(image, None)[1]
    return None if found is None else np.clip(np.rint(found), 0, 255).astype(np.uint8)


def write(path, rows):
    with open(path, "wb") as file:
        np.array(rows.shape, "<u4").tofile(file)
        np.ascontiguousarray(rows).tofile(file)
    print(f"{path}: {rows.shape[0]:,} x {rows.shape[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    wanted = args.rows + args.queries
    sift = cv2.SIFT_create()
    parts, total = [], 0
    for file in pictures(args.packages):
        part = descriptors(file, sift)
        if part is not None:
            parts.append(part)
            total += len(part)
    if total < wanted:
        sys.exit(f"make_sift: {total:,} descriptors, wanted {wanted:,}: install {', '.join(args.packages)}, or ask for fewer --rows")
    rows = np.concatenate(parts)
    rows = rows[np.random.default_rng(20260101).permutation(len(rows))[:wanted]]
    args.folder.mkdir(parents=True, exist_ok=True)
    write(args.folder / "sift_base.u8bin", rows[:args.rows])
    write(args.folder / "sift_queries.u8bin", rows[args.rows:])


if __name__ == "__main__":
    main()
