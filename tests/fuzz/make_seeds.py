#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small valid files for every fuzz target, from which libFuzzer starts.

usage: make_seeds.py FOLDER     -> FOLDER/npy/*, FOLDER/fbin/*, ...
Needs the standard library only; with h5py there are HDF5 seeds too.
"""

import gzip
import io
import json
import pathlib
import struct
import sys
import zipfile

SIX = [1, 2, 3, 4, 5, 6]


def npy(descr="<f4", shape="(3, 2)", order="False", code="f", version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    sign = ">" if descr[0] == ">" else "<"
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + struct.pack(f"{sign}6{code}", *SIX)


def ints(*values):
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(values)},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + struct.pack(f"<{len(values)}q", *values)


def npz(compression, members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=len(members) > 1) as member:
                member.write(content)
    return out.getvalue()


def safetensors(tensors, data):
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text + data


def vecs(code):
    return b"".join(struct.pack(f"<i2{code}", 2, *SIX[i:i + 2]) for i in (0, 2, 4))


def idx(code, kind, dims):
    return bytes([0, 0, kind, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + struct.pack(f">6{code}", *SIX)


def h5_files():
    try:
        import h5py
        import numpy as np
    except ImportError:
        print("make_seeds: no h5py, so no HDF5 seeds", file=sys.stderr)
        return []
    files = []
    array = np.arange(6, dtype="<f4").reshape(3, 2)
    for options in ({}, {"chunks": (1, 2), "compression": "gzip"}, {"chunks": (2, 2), "shuffle": True}):
        for extra in (False, True):
            out = io.BytesIO()
            with h5py.File(out, "w") as file:
                file.create_dataset("train", data=array, **options)
                if extra:
                    file.create_dataset("g/ids", data=array.astype(">i2"))
                    file.attrs["distance"] = "euclidean"
            files.append(out.getvalue())
    return files


def seeds():
    floats = struct.pack("<6f", *SIX)
    entry = {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}
    other = {"dtype": "U16", "shape": [12], "data_offsets": [0, 24]}
    yield "npy", [npy(), npy(">i2", code="h"), npy(order="True"), npy("|u1", "(6,)", code="B"), npy(version=2)]
    yield "npz", [npz(zipfile.ZIP_STORED, [("a.npy", npy())]),
                  npz(zipfile.ZIP_DEFLATED, [("a.npy", npy()), ("b.npy", npy("<i4", "(6,)", code="i"))])]
    values, offsets = ("values.npy", npy("<f8", "(6,)", code="d")), ("offsets.npy", ints(0, 2, 2, 6))
    yield "ragged", [npz(zipfile.ZIP_STORED, [values, offsets]),
                     npz(zipfile.ZIP_STORED, [values, offsets, ("weights.npy", npy("<f4", "(6,)"))]),
                     npz(zipfile.ZIP_DEFLATED, [("values.npy", npy("|u1", "(6,)", code="B")), ("offsets.npy", ints(0, 1, 4, 5, 6)), ("shape.npy", ints(2, 2))]),
                     npz(zipfile.ZIP_STORED, [("arr_0.npy", npy("<i2", "(6,)", code="h")), ("arr_1.npy", npy("<f4", "(6,)"))]),
                     npz(zipfile.ZIP_STORED, [("grid.npy", npy("<f4", "(1, 2, 3)"))])]
    yield "h5", h5_files()
    yield "safetensors", [safetensors({"a": entry}, floats),
                          safetensors({"__metadata__": {"x": "y"}, "a": entry, "b": other}, floats)]
    yield "fbin", [struct.pack("<II", 3, 2) + floats, struct.pack("<QQ", 3, 2) + floats]
    yield "u64bin", [struct.pack("<II", 3, 2) + struct.pack("<6Q", *SIX)]
    yield "fvecs", [vecs("f")]
    yield "bvecs", [vecs("B")]
    yield "idx", [idx("B", 8, (3, 2)), idx("f", 13, (6,)), idx("d", 14, (1, 3, 2))]
    yield "csv", [b"1,2\n3,4\n5,6\n", b"# words\nx y\n1 -2e3\nnan inf\n", b"\xef\xbb\xbf.5\t+7\r\n1\t2\r\n"]
    yield "xyz", [b'2\nLattice="5 0 0 1 6 0 0 0 7" Properties=species:S:1:pos:R:3 pbc="T F T"\nH 0.5 1 -2\nO 3 4 5\n1\nplain\nO 7 8 9\n']
    yield "gro", [b"t\n1\n    1SOL     OW    1   0.126   1.624   1.679\n 1 1 1 0 0 .5 0 0 0\nt\n1\n    1SOL     OW    1   0.1   1.6   1.6\n 1 1 1\n"]
    yield "pdb", [b"CRYST1   10.000   20.000   30.000  90.00  90.00 120.00 P 1           1\nMODEL        1\n"
                  b"ATOM      1  N   ALA A   1    -966.000-100.000   6.000  1.00  0.00           N\nENDMDL\n"]
    yield "poscar", [b"c\n2.0\n1 0 0\n0.5 1 0\n0 0 2\nSi O\n1 1\nSelective\nDirect\n0.5 0.5 0.5\n0 0 0.25\n", b"c\n-8\n1 0 0\n0 1 0\n0 0 1\n1\nC\n0 0 0\n"]
    yield "lammps", [b"c\n\n1 atoms\n-1 4 xlo xhi\n0 6 ylo yhi\n0 7.0 zlo zhi\n1 0.5 0.25 xy xz yz\n\nAtoms # full\n\n1 1 1 0.4 4 5 6\n"]
    yield "any", [npy(), gzip.compress(npy()), gzip.compress(npy()[:20]) + gzip.compress(npy()[20:]),
                  npz(zipfile.ZIP_STORED, [("a.npy", npy())]), safetensors({"a": entry}, floats), idx("B", 8, (3, 2))]


def main():
    for target, files in seeds():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(files):
            (folder / f"seed-{number}").write_bytes(content)


if __name__ == "__main__":
    main()
