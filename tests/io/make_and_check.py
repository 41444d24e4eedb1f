#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes files with numpy and Python, reads them with rows_dump, and reads what lists_write wrote.

usage: make_and_check.py ROWS_DUMP LISTS_WRITE
numpy, h5py, safetensors and the standard library judge. Without numpy the exit status is 77 (skipped); without one of
the others its checks are skipped and named.
"""

import gzip
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing")
    sys.exit(77)

try:
    import h5py
except ImportError:
    h5py = None
try:
    import ml_dtypes
    import safetensors.numpy
except ImportError:
    safetensors = None

ROWS_DUMP, LISTS_WRITE = sys.argv[1:3]
NUMBERS = np.array([[0, 1, 2, 3, 5], [7, 11, 100, 101, 127], [3, 1, 4, 1, 5], [0, 0, 0, 0, 1]])
DTYPES = ["f2", "f4", "f8", "u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8"]
checks = 0


def read(path, *arguments):
    """returns  (facts, rows [n, d] float64), or ("error", message)."""
    done = subprocess.run([ROWS_DUMP, str(path), *map(str, arguments)], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert lines, f"{path}: no output, status {done.returncode}: {done.stderr}"
    if lines[0].startswith("error"):
        return "error", lines[0]
    facts = lines[0].split()
    rows = np.array([[float.fromhex(x) for x in line.split()] for line in lines[1:]])
    return facts, rows.reshape(int(facts[0]), int(facts[1]))


def expect(path, want, dtype, *arguments):
    global checks
    facts, rows = read(path, *arguments)
    assert facts != "error", f"{path}: {rows}"
    want = np.asarray(want).astype(np.float64)
    assert np.array_equal(rows, want, equal_nan=True), f"{path}: read {rows}, wanted {want}"
    assert facts[2] == np.dtype(dtype).name, f"{path}: dtype {facts[2]}, wanted {dtype}"
    checks += 1
    return facts


def expect_error(path, *parts):
    global checks
    facts, message = read(path)
    assert facts == "error", f"{path}: no error"
    for part in parts:
        assert part in message, f"{path}: {part!r} is not in {message!r}"
    checks += 1


def special_values(dtype):
    """The dtype's own edges: extremes, denormals, negative zero, infinities, NaN."""
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        values = [info.max, info.min, info.tiny, info.smallest_subnormal, -0.0, np.inf, -np.inf, np.nan]
    else:
        info = np.iinfo(dtype)
        values = [max(info.min, -(2**53)), min(info.max, 2**53), 0, 1]
    return np.array(values, dtype=dtype).reshape(2, -1)


def check_npy(folder):
    for dtype in DTYPES:
        for byte_order in "<>":
            for order in "CF":
                for values in (NUMBERS, special_values(dtype)):
                    array = np.array(values, dtype=byte_order + dtype, order=order)
                    np.save(folder / "a.npy", array)
                    facts = expect(folder / "a.npy", array, dtype)
                    assert facts[4] == "1", "not mapped"
                    expect(folder / "a.npy", array[1:], dtype, "-", 1)
    np.save(folder / "a.npy", NUMBERS > 3)
    expect(folder / "a.npy", NUMBERS > 3, "u1")
    np.save(folder / "a.npy", NUMBERS[:, 0].astype("f4"))
    expect(folder / "a.npy", NUMBERS[:, :1], "f4")
    np.save(folder / "a.npy", np.zeros((0, 3)))
    expect(folder / "a.npy", np.zeros((0, 3)), "f8")
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(folder / "a.npy", "wb") as file:
            np.lib.format.write_array(file, NUMBERS.astype("f4"), version=version)
        expect(folder / "a.npy", NUMBERS, "f4")


def check_npy_refusals(folder):
    cases = [
        (np.array([{"a": 1}], dtype=object), "unpickled"),
        (np.zeros(3, dtype="V2"), "bfloat16"),
        (np.zeros((2, 2), dtype="c8"), "complex"),
        (np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]), "named fields"),
        (np.array(["x", "y"]), "strings"),
        (np.zeros((2, 3, 4), dtype="f4"), "(2, 3, 4)"),
        (np.float32(3), "shape ()"),
    ]
    for array, part in cases:
        np.save(folder / "a.npy", array, allow_pickle=True)
        expect_error(folder / "a.npy", part)


def check_npz(folder):
    array = NUMBERS.astype("f4")
    for save in (np.savez, np.savez_compressed):
        save(folder / "a.npz", emb=array, labels=np.arange(4), other=np.asfortranarray(array * 2))
        if "no libzip" in str(read(folder / "a.npz")[1]):
            print("skipped: reading .npz (built without libzip)")
            return
        expect(str(folder / "a.npz") + ":emb", array, "f4")
        expect(str(folder / "a.npz") + ":other", (array * 2)[1:3], "f4", "-", 1, 3)
        expect(str(folder / "a.npz") + ":labels", np.arange(4).reshape(-1, 1), "i8")
        expect_error(folder / "a.npz", "emb <f4 (4, 5)", "labels <i8 (4,)")
        save(folder / "a.npz", emb=array, labels=np.arange(4))
        expect(folder / "a.npz", array, "f4")


def missing(library, path, words):
    """True, and a line, when this build or this Python lacks what reading or judging the format takes."""
    if library is None:
        print(f"skipped: {words} (Python lacks the library)")
        return True
    if path is not None and "this build has no" in str(read(path)[1]):
        print(f"skipped: {words} (built without the library)")
        return True
    return False


def check_h5(folder):
    if missing(h5py, None, "HDF5"):
        return
    path = folder / "a.h5"
    with h5py.File(path, "w") as file:
        file["train"] = NUMBERS
    if missing(h5py, path, "HDF5"):
        return
    for libver in ("earliest", ("earliest", "v110"), ("v110", "v110")):
        for dtype in DTYPES:
            for byte_order in "<>":
                for values in (NUMBERS, special_values(dtype)):
                    array = np.array(values, dtype=byte_order + dtype)
                    with h5py.File(path, "w", libver=libver, userblock_size=512) as file:
                        file.create_dataset("train", data=array)
                        file.create_dataset("packed", data=array, chunks=(1, 2), compression="gzip", shuffle=True)
                        file.create_dataset("growing", data=array, maxshape=(None, array.shape[1]), fletcher32=True)
                    assert expect(path, array, dtype)[4] == "1", "not mapped"
                    assert expect(f"{path}:packed", array, dtype)[4] == "0"
                    expect(f"{path}:growing", array[1:2], dtype, "-", 1, 2)
    with h5py.File(path, "w") as file:
        file["flags"] = NUMBERS > 3
        file["group/emb"] = NUMBERS.astype("f4")
        file.create_dataset("lzf", data=NUMBERS, compression="lzf")
        file["words"] = np.array([b"a", b"b"])
        file["link"] = h5py.SoftLink("/group/emb")
        file["tensor"] = np.zeros((2, 3, 4))
        file.create_virtual_dataset("virtual", h5py.VirtualLayout(shape=(2, 2), dtype="f4"))
    expect(f"{path}:flags", NUMBERS > 3, "i1")
    expect(f"{path}:group/emb", NUMBERS, "f4")
    expect(f"{path}:link", NUMBERS, "f4")
    expect_error(f"{path}:words", "no plain numbers")
    expect_error(f"{path}:tensor", "(2, 3, 4)")
    expect_error(f"{path}:virtual", "in other files")
    expect_error(f"{path}:lzf", "lzf", "h5repack")
    expect_error(path, "group/emb float32 (4, 5)", "name one")
    path.write_bytes(path.read_bytes()[:-8])
    expect_error(f"{path}:flags", "truncated")


def check_safetensors(folder):
    if missing(safetensors, None, "safetensors"):
        return
    path = folder / "a.safetensors"
    for dtype in [*DTYPES, "bfloat16"]:
        numpy_type = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        for values in (NUMBERS, special_values(dtype) if dtype != "bfloat16" else [[-0.0, 1e-40], [np.inf, 3e38]]):
            array = np.array(values).astype(numpy_type)
            safetensors.numpy.save_file({"emb": array, "bias": array[0].copy()}, path, metadata={"a": "b"})
            assert expect(path, array, numpy_type)[4] == "1", "not mapped"
            expect(f"{path}:bias", array[:1].T, numpy_type)
            expect(f"{path}:emb", array[1:], numpy_type, "-", 1)
    path.write_bytes(path.read_bytes()[:-1])
    expect_error(path, "truncated")


def check_raw(folder):
    n, d = NUMBERS.shape
    header = np.array([n, d], dtype="<u4").tobytes()
    wide_header = np.array([n, d], dtype="<u8").tobytes()
    for suffix, dtype in [("fbin", "f4"), ("u8bin", "u1"), ("i8bin", "i1"), ("ibin", "i4"), ("f16bin", "f2"), ("hbin", "f2"),
                          ("u64bin", "u8")]:
        data = NUMBERS.astype("<" + dtype).tobytes()
        for head in (header, wide_header):
            (folder / f"a.{suffix}").write_bytes(head + data)
            expect(folder / f"a.{suffix}", NUMBERS, dtype)
    for suffix, dtype in [("fvecs", "f4"), ("ivecs", "i4"), ("bvecs", "u1")]:
        row_head = np.array([d], dtype="<i4").tobytes()
        rows = b"".join(row_head + row.tobytes() for row in NUMBERS.astype("<" + dtype))
        (folder / f"a.{suffix}").write_bytes(rows)
        expect(folder / f"a.{suffix}", NUMBERS, dtype)
        (folder / f"a.{suffix}").write_bytes(rows[:-1])
        expect_error(folder / f"a.{suffix}", "3 whole rows")
        expect(folder / f"a.{suffix}", NUMBERS[:3], dtype, "-", 0, 3)


def check_idx(folder):
    for code, dtype in [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")]:
        for shape in ((20,), (4, 5), (2, 5, 2)):
            content = bytes([0, 0, code, len(shape)]) + np.array(shape, dtype=">u4").tobytes()
            content += NUMBERS.astype(">" + dtype).tobytes()
            want = NUMBERS.reshape(shape[0], -1)
            (folder / "a-ubyte").write_bytes(content)
            expect(folder / "a-ubyte", want, dtype)
            (folder / "a.idx.gz").write_bytes(gzip.compress(content))
            if "no zlib" not in str(read(folder / "a.idx.gz")[1]):
                expect(folder / "a.idx.gz", want, dtype)


def check_text(folder):
    values = np.array([[0.1, 1 / 3, 1e-300], [-0.0, np.inf, 5e-324]])
    for suffix, separator, header in [("csv", ",", ""), ("csv", ",", "a,b,c"), ("txt", " ", ""), ("txt", "\t", "")]:
        np.savetxt(folder / f"a.{suffix}", values, delimiter=separator, header=header, comments="", fmt="%.17g")
        expect(folder / f"a.{suffix}", values, "f8")


def write_lists(out, *arguments):
    out.unlink(missing_ok=True)
    subprocess.run([LISTS_WRITE, str(out), *map(str, arguments)], check=True)


def check_h5_lists(folder, distance_type, id_type, want_ids):
    write_lists(folder / "out.h5", distance_type, id_type, *want_ids.shape)
    with h5py.File(folder / "out.h5") as file:
        assert sorted(file) == ["distances", "neighbors"]
        assert file["neighbors"].dtype == id_type and np.array_equal(file["neighbors"][:], want_ids)
        if len(want_ids) > 0:
            assert file["distances"].dtype == distance_type
        assert np.array_equal(file["distances"][:], np.arange(want_ids.size).reshape(want_ids.shape) / 8)


def check_writers(folder):
    global checks
    (folder / "none.h5").write_bytes(b"nothing")
    with_h5 = not missing(h5py, folder / "none.h5", "writing HDF5")
    for rows, k in ((3, 4), (0, 4), (20001, 7)):
        for distance_type in ("float32", "float64"):
            for id_type in ("int64", "int32"):
                want_ids = (7 * np.arange(rows * k) - 1).reshape(rows, k)
                for suffix in ("npz", "npy", "ibin", "ivecs", "csv"):
                    write_lists(folder / f"out.{suffix}", distance_type, id_type, rows, k)
                with np.load(folder / "out.npz") as archive:
                    assert archive["ids"].dtype == id_type and np.array_equal(archive["ids"], want_ids)
                    if rows > 0:
                        assert archive["distances"].dtype == distance_type
                    assert np.array_equal(archive["distances"], np.arange(rows * k).reshape(rows, k) / 8)
                with zipfile.ZipFile(folder / "out.npz") as archive:
                    assert archive.testzip() is None
                    assert all(entry.date_time == (1980, 1, 1, 0, 0, 0) for entry in archive.infolist())
                ids = np.load(folder / "out.npy", mmap_mode="r")
                assert ids.dtype == id_type and np.array_equal(ids, want_ids)
                check_raw_lists(folder, want_ids)
                if with_h5:
                    check_h5_lists(folder, distance_type, id_type, want_ids)
                checks += 1


def check_raw_lists(folder, want_ids):
    rows, k = want_ids.shape
    truth = (folder / "out.ibin").read_bytes()
    assert np.array_equal(np.frombuffer(truth, "<u4", 2), [rows, k])
    assert np.array_equal(np.frombuffer(truth, "<i4", rows * k, 8), want_ids.ravel())
    assert np.array_equal(np.frombuffer(truth, "<f4", rows * k, 8 + 4 * rows * k), np.arange(rows * k, dtype="f4") / 8)
    vecs = np.frombuffer((folder / "out.ivecs").read_bytes(), "<i4").reshape(rows, k + 1)
    assert np.array_equal(vecs[:, 1:], want_ids) and np.all(vecs[:, 0] == k)
    if rows > 0:
        table = np.loadtxt(io.StringIO((folder / "out.csv").read_text()), delimiter=",", skiprows=1)
        assert np.array_equal(table[:, 2], want_ids.ravel())
        assert np.array_equal(table[:, 0], np.repeat(np.arange(rows), k))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for check in (check_npy, check_npy_refusals, check_npz, check_h5, check_safetensors, check_raw, check_idx, check_text,
                      check_writers):
            check(folder)
            print(f"{check.__name__}: ok")
    print(f"{checks} checks")


if __name__ == "__main__":
    main()
