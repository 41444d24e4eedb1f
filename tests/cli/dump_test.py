# SPDX-License-Identifier: Apache-2.0
"""`tessera dump` as a user runs it: files that NumPy reads, killed processes, shards, full disks.

TESSERA_BIN names the command, TESSERA_FAULTY_DISK the library of faulty_disk.cpp. TESSERA_KILLS=10 kills each dump so often, on a larger matrix. Exit status 77: no NumPy.
"""
import errno
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

BIN = os.environ["TESSERA_BIN"]
FEATURES = json.loads(subprocess.run([BIN, "info", "--json"], capture_output=True, text=True, check=True).stdout)["features"]
FAULTY_DISK = os.environ.get("TESSERA_FAULTY_DISK")
KILLS = int(os.environ.get("TESSERA_KILLS", "4"))
HAS_HDF5, HAS_ZLIB = (FEATURES[part].startswith("on") for part in ["HDF5", "ZLIB"])
OUTPUTS = [".npy", ".f32", ".zarr"] + [".h5"] * HAS_HDF5


def run(*args, status=0, **more):
    done = subprocess.run([BIN, "dump", *map(str, args)], capture_output=True, text=True, **more)
    assert done.returncode == status, f"{args}: status {done.returncode}, wanted {status}: {done.stderr}"
    return done


def sha(path):
    """Of a file, or of a folder's files in order of their names."""
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        digest.update(str(file.relative_to(path)).encode() + file.read_bytes())
    return digest.hexdigest()


def cosine(x, y):
    x = x.astype(np.float64)
    y = y.astype(np.float64)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return np.stack([0.5 * ((y - row) ** 2).sum(axis=1) for row in x])


class DumpTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-dump-"))
        self.addCleanup(shutil.rmtree, self.folder)
        rng = np.random.default_rng(7)
        self.x = rng.standard_normal((700, 50)).astype(np.float32)
        self.y = rng.standard_normal((90, 50)).astype(np.float32)
        np.save(self.folder / "x.npy", self.x)
        np.save(self.folder / "y.npy", self.y)

    def test_numpy_reads_what_the_formula_says(self):
        out = self.folder / "d.npy"
        report = json.loads(run("-b", self.folder / "x.npy", "--cols", self.folder / "y.npy", "-m", "cosine", "-o", out, "--json").stdout)
        got = np.load(out, mmap_mode="r")
        want = cosine(self.x, self.y)
        self.assertEqual(got.shape, (700, 90))
        self.assertEqual(got.offset, 4096)
        np.testing.assert_allclose(got, want, rtol=2e-5)
        self.assertEqual(report["shape"], [700, 90])
        self.assertEqual(report["tiles"]["after"], report["tiles"]["all"])

    def test_every_type_and_raw_and_condensed(self):
        want = cosine(self.x, self.x)
        for dtype, rtol in (("float32", 2e-5), ("float16", 6e-4), ("float64", 1e-12)):
            out = self.folder / f"{dtype}.npy"
            run("-b", self.folder / "x.npy", "-m", "cosine", "--dtype", dtype, "-o", out)
            got = np.load(out)
            self.assertEqual(got.dtype, np.dtype(dtype))
            np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-30)
            np.testing.assert_array_equal(got, got.T)
            self.assertFalse(np.diagonal(got).any())
        raw = self.folder / "d.f32"
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", raw)
        beside = json.loads((self.folder / "d.f32.json").read_text())
        square = np.fromfile(raw, beside["dtype"]).reshape(beside["shape"])
        np.testing.assert_array_equal(square, np.load(self.folder / "float32.npy"))
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", self.folder / "c.npy", "--condensed")
        np.testing.assert_array_equal(np.load(self.folder / "c.npy"), square[np.triu_indices(700, 1)])

    @unittest.skipUnless(HAS_HDF5, "no HDF5 in this build")
    def test_hdf5_holds_the_same_values(self):
        out = self.folder / "d.h5"
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", out)
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", self.folder / "d.npy")
        subprocess.run([BIN, "convert", f"{out}:distances", self.folder / "back.npy", "-q"], check=True)
        np.testing.assert_array_equal(np.load(self.folder / "back.npy"), np.load(self.folder / "d.npy"))
        try:
            import h5py
        except ImportError:
            return
        with h5py.File(out) as file:
            np.testing.assert_array_equal(file["distances"][:], np.load(self.folder / "d.npy"))

    def test_zarr_and_compressed_hdf5_hold_the_same_values(self):
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", self.folder / "d.npy")
        want = np.load(self.folder / "d.npy")
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", self.folder / "d.zarr", "--tile", 300)
        described = json.loads((self.folder / "d.zarr" / ".zarray").read_text())
        self.assertEqual((described["shape"], described["chunks"]), ([700, 700], [300, 300]))
        chunk = np.fromfile(self.folder / "d.zarr" / "1.2", described["dtype"]).reshape(300, 300)
        np.testing.assert_array_equal(chunk[:, :100], want[300:600, 600:])
        if HAS_HDF5 and HAS_ZLIB:
            run("-b", self.folder / "x.npy", "-m", "cosine", "-o", self.folder / "z.h5", "--compress", "gzip", "--tile", 300)
            subprocess.run([BIN, "convert", f"{self.folder / 'z.h5'}:distances", self.folder / "back.npy", "-q"], check=True)
            np.testing.assert_array_equal(np.load(self.folder / "back.npy"), want)
        try:
            import zarr
        except ImportError:
            return
        np.testing.assert_array_equal(zarr.open(str(self.folder / "d.zarr"), mode="r")[:], want)

    def killed_and_resumed(self, suffix, *more):
        rows = np.random.default_rng(9).standard_normal((600 * KILLS // 2, 50)).astype(np.float32)
        np.save(self.folder / "k.npy", rows)
        command = ["-b", self.folder / "k.npy", "-m", "cosine", "--tile", 50, *more]
        start = time.monotonic()
        subprocess.run([BIN, "--version"], capture_output=True, check=True)
        begun = time.monotonic() - start
        whole = self.folder / f"whole{suffix}"
        start = time.monotonic()
        run(*command, "-o", whole)
        seconds = time.monotonic() - start
        out = self.folder / f"killed{suffix}"
        moments = random.Random(suffix)
        kills = 0
        for attempt in range(KILLS):
            flags = ["--resume"] if attempt else []
            process = subprocess.Popen([BIN, "dump", *map(str, command), "-o", str(out), *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Each run does a part of what is left on average, so that most of them are met at work.
            time.sleep(begun + moments.uniform(0, 2 / KILLS) * (seconds - begun))
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        run(*command, "-o", out, "--resume")
        self.assertGreaterEqual(kills, KILLS // 2, f"{KILLS - kills} of {KILLS} runs ended before they were killed")
        self.assertEqual(sha(out), sha(whole))
        run("-o", out, "--verify")

    def test_killed_npy(self):
        self.killed_and_resumed(".npy", "--exact")

    def test_killed_raw(self):
        self.killed_and_resumed(".f64", "--dtype", "float64")

    @unittest.skipUnless(HAS_HDF5, "no HDF5 in this build")
    def test_killed_hdf5(self):
        self.killed_and_resumed(".h5", "--exact")

    def test_killed_zarr(self):
        self.killed_and_resumed(".zarr", "--exact")

    def test_interrupt_leaves_a_dump_that_can_be_resumed(self):
        out = self.folder / "d.npy"
        command = [BIN, "dump", "-b", self.folder / "x.npy", "--exact", "--tile", "10", "-o", out]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not out.exists():  # a fixed time may end before the command has begun
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate()
        if process.returncode == 0:
            self.skipTest("it was faster than the signal")
        self.assertEqual(process.returncode, 130, message)
        if out.exists():
            run("-b", self.folder / "x.npy", "--exact", "--tile", 10, "-o", out, "--resume")
            run("-o", out, "--verify")

    def test_two_shards_at_once(self):
        run("-b", self.folder / "x.npy", "-o", self.folder / "whole.npy", "--tile", 30)
        out = self.folder / "d.npy"
        command = [BIN, "dump", "-b", str(self.folder / "x.npy"), "-o", str(out), "--tile", "30"]
        shards = [subprocess.Popen([*command, "--shard", f"{i}/2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for i in range(2)]
        for shard in shards:
            _, message = shard.communicate()
            self.assertEqual(shard.returncode, 0, message)
        self.assertEqual(sha(out), sha(self.folder / "whole.npy"))
        run("-o", out, "--verify")

    def test_zarr_shards_at_once_leave_each_others_chunks_alone(self):
        np.save(self.folder / "many.npy", np.random.default_rng(5).standard_normal((1500, 16), dtype=np.float32))
        out = self.folder / "d.zarr"
        command = [BIN, "dump", "-b", str(self.folder / "many.npy"), "-o", str(out), "--tile", "64", "--threads", "1"]
        shards = [subprocess.Popen([*command, "--shard", f"{i}/4"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for i in range(4)]
        for shard in shards:
            _, message = shard.communicate()
            self.assertEqual(shard.returncode, 0, message)
        run("-o", out, "--verify")
        self.assertEqual([name for name in os.listdir(out) if name.endswith(".part")], [])

    def test_a_raw_name_says_the_type(self):
        for suffix, dtype in ((".f32", "<f4"), (".f16", "<f2"), (".f64", "<f8")):
            run("-b", self.folder / "x.npy", "-m", "l1", "-o", self.folder / f"raw{suffix}")
            values = np.fromfile(self.folder / f"raw{suffix}", dtype)
            want = np.abs(self.x[0].astype(float) - self.x[1].astype(float)).sum()
            self.assertEqual(len(values), len(self.x) ** 2)
            self.assertAlmostEqual(values[1] / want, 1, delta=1e-3)
            message = run("-b", self.folder / "x.npy", "-o", self.folder / f"other{suffix}", "--dtype", "float32" if suffix == ".f16" else "float16", status=2).stderr
            self.assertIn("its name says", message)
            self.assertFalse((self.folder / f"other{suffix}").exists())

    @unittest.skipUnless(HAS_HDF5 and HAS_ZLIB, "no HDF5 or no zlib in this build")
    def test_a_compressed_hdf5_file_takes_no_shards(self):
        before = sorted(os.listdir(self.folder))
        for shard in ["0/2", "1/2"]:
            message = run("-b", self.folder / "x.npy", "-o", self.folder / "s.h5", "--compress", "gzip", "--shard", shard, status=1).stderr
            self.assertIn("cannot be sharded", message)
        self.assertNotIn("s.h5", set(os.listdir(self.folder)) - set(before))

    def test_shards_from_slurm(self):
        out = self.folder / "d.npy"
        for rank in range(2):
            environment = {**os.environ, "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2"}
            run("-b", self.folder / "x.npy", "-o", out, "--tile", 30, "--shard", "auto", env=environment)
            run("-o", out, "--verify", status=0 if rank else 3)

    def test_refusals_are_one_line(self):
        out = self.folder / "d.npy"
        run("-b", self.folder / "x.npy", "-m", "cosine", "-o", out)
        for args, status, words in (
            (["-b", self.folder / "x.npy", "-m", "cosine", "-o", out], 2, "--resume"),
            (["-b", self.folder / "y.npy", "-m", "cosine", "-o", out, "--resume"], 2, "another dump"),
            (["-b", self.folder / "x.npy", "-m", "l2", "-o", out, "--resume"], 2, "metric was"),
            (["-b", self.folder / "x.npy", "-o", self.folder / "d.txt"], 2, "wanted one of"),
            (["-b", self.folder / "x.npy", "-o", self.folder / "no" / "d.npy"], 1, "No such file"),
            (["-b", self.folder / "x.npy", "-o", self.folder / "e.npy", "--shard", "2/2"], 2, "count from 0"),
            (["-o", self.folder / "none.npy", "--verify"], 1, "no journal"),
        ):
            message = run(*args, status=status).stderr
            self.assertIn(words, message)
            self.assertTrue(message.startswith("tessera: "), message)
        self.assertFalse((self.folder / "e.npy.tiles").exists())
        self.x[3, 4] = np.nan
        np.save(self.folder / "bad.npy", self.x)
        message = run("-b", self.folder / "bad.npy", "-o", self.folder / "b.npy", status=3).stderr
        self.assertIn("row 3", message)
        self.assertFalse((self.folder / "b.npy").exists() or (self.folder / "b.npy.tiles").exists())

    def test_one_byte_flipped_is_found_and_mended(self):
        out = self.folder / "d.npy"
        command = ["-b", self.folder / "x.npy", "-m", "cosine", "--tile", 100, "-o", out]
        run(*command)
        before = sha(out)
        content = bytearray(out.read_bytes())
        content[4096 + 123_456] ^= 1
        out.write_bytes(content)
        self.assertIn("damaged", run("-o", out, "--verify", status=3).stderr)
        report = json.loads(run(*command, "--resume", "--json").stdout)
        self.assertEqual((report["tiles"]["damaged"], report["tiles"]["computed"]), (1, 1))
        self.assertEqual(sha(out), before)

    def test_batches_lengths_and_means(self):
        rng = np.random.default_rng(8)
        x = rng.standard_normal((7, 40, 24)).astype(np.float32)
        lengths = np.array([40, 1, 17, 40, 3, 40, 25])
        padded = x.copy()
        for b, n in enumerate(lengths):
            padded[b, n:] = np.nan
        for name, array in (("t.npy", x), ("p.npy", padded), ("n.npy", lengths)):
            np.save(self.folder / name, array)
        out = self.folder / "d.npy"
        run("-b", self.folder / "t.npy", "--batched", "-m", "cosine", "-o", out)
        got = np.load(out)
        self.assertEqual(got.shape, (7, 40, 40))
        for b in range(7):
            np.testing.assert_allclose(got[b], cosine(x[b], x[b]), rtol=2e-5, atol=1e-30)
        run("-b", self.folder / "p.npy", "--batched", "--lengths", self.folder / "n.npy", "-m", "cosine", "-o", out, "--force")
        cut = np.load(out)
        for b, n in enumerate(lengths):
            np.testing.assert_allclose(cut[b, :n, :n], cosine(x[b, :n], x[b, :n]), rtol=2e-5, atol=1e-30)
            self.assertTrue(np.isnan(cut[b, n:]).all() and np.isnan(cut[b, :, n:]).all())
        run("-b", self.folder / "p.npy", "--batched", "--lengths", self.folder / "n.npy", "--pool", "mean", "-m", "cosine", "-o", self.folder / "m.npy")
        means = np.stack([x[b, :n].astype(np.float64).mean(axis=0) for b, n in enumerate(lengths)])
        np.testing.assert_allclose(np.load(self.folder / "m.npy"), cosine(means, means), rtol=2e-5, atol=1e-12)
        run("-b", self.folder / "t.npy", "--batched", "-o", self.folder / "d.zarr")
        run("-b", self.folder / "x.npy", "--batched", "-o", self.folder / "e.npy", status=3)
        run("-b", self.folder / "t.npy", "--batched", "--lengths", self.folder / "x.npy", "-o", self.folder / "e.npy", status=3)

    def test_batches_that_do_not_go_together_are_told_apart(self):
        x = np.random.default_rng(8).standard_normal((3, 5, 4)).astype(np.float32)
        np.save(self.folder / "t.npy", x)
        x[1, 2, 0] = np.nan
        np.save(self.folder / "bad.npy", x)
        np.save(self.folder / "n.npy", np.array([5, 0, 2]))
        out = self.folder / "d.npy"
        lengths, tokens, bad = ["--lengths", self.folder / "n.npy"], ["-b", self.folder / "t.npy", "--batched"], ["-b", self.folder / "bad.npy", "--batched"]
        for args, status, says, never in (
            (bad, 3, ["batch 1, row 2", "--lengths", "bad.npy"], ["--nan"]),
            ([*bad, "--pool", "mean"], 3, ["batch 1", "--lengths", "bad.npy"], ["--nan"]),
            ([*tokens, "-m", "wasserstein"], 2, ["--batched", "grid"], []),
            ([*tokens, "--condensed"], 2, ["--condensed", "--batched"], ["other set"]),
            ([*tokens, *lengths, "--pool", "mean"], 3, ["n.npy", "length 0 of batch 1", "1 to 5"], []),
        ):
            with self.subTest(args=args):
                message = run(*args, "-o", out, status=status).stderr
                for word in says:
                    self.assertIn(word, message)
                for word in never:
                    self.assertNotIn(word, message)
                self.assertFalse(out.exists() or pathlib.Path(f"{out}.tiles").exists())
        run(*tokens, *lengths, "-o", out)  # without a mean a batch may be empty
        self.assertTrue(np.isnan(np.load(out)[1]).all())
        self.x[3, 4] = np.nan
        np.save(self.folder / "x.npy", self.x)
        self.assertNotIn("--nan", run("-b", self.folder / "x.npy", "-o", self.folder / "e.npy", status=3).stderr)

    def test_files_of_strangers_are_left_alone(self):
        for name, beside in (("d.npy", ".tiles"), ("d.f32", ".tiles"), ("d.f32", ".json")):
            stranger = self.folder / (name + beside)
            stranger.write_text("mine")
            message = run("-b", self.folder / "x.npy", "-o", self.folder / name, status=2).stderr
            self.assertIn(stranger.name, message)
            self.assertEqual(stranger.read_text(), "mine")
            self.assertFalse((self.folder / name).exists())
            stranger.unlink()

    def test_a_value_past_float16_leaves_nothing_behind(self):
        np.save(self.folder / "far.npy", np.array([[0], [70000]], np.float32))
        before = sorted(self.folder.iterdir())
        for name in ("d.npy", "d.f16", "d.zarr"):
            self.assertIn("70000", run("-b", self.folder / "far.npy", "--dtype", "float16", "-o", self.folder / name, status=3).stderr)
            self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_dry_run_tells_the_shape_of_the_file(self):
        np.save(self.folder / "t.npy", np.zeros((3, 5, 4), np.float32))
        for args, shape in (([], [700, 700]), (["--condensed"], [700 * 699 // 2])):
            self.assertEqual(json.loads(run("-b", self.folder / "x.npy", *args, "-o", self.folder / "d.npy", "--dry-run", "--json").stdout)["shape"], shape)
        for args, shape in ((["--batched"], [3, 5, 5]), (["-m", "wasserstein"], [3, 5, 3, 5])):
            self.assertEqual(json.loads(run("-b", self.folder / "t.npy", *args, "-o", self.folder / "d.npy", "--dry-run", "--json").stdout)["shape"], shape)

    def test_dry_run_writes_nothing(self):
        out = self.folder / "d.npy"
        report = json.loads(run("-b", self.folder / "x.npy", "-o", out, "--dry-run", "--json").stdout)
        self.assertEqual(report["file_bytes"], 700 * 700 * 4)
        self.assertIsInstance(report["file_bytes"], int)
        self.assertGreater(report["estimate"]["compute_bytes_per_second"], 0)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["x.npy", "y.npy"])

    def on_faulty_disk(self, fault, out, status):
        env = {**os.environ, "LD_PRELOAD": FAULTY_DISK, "FAULTY_DISK": fault, "FAULTY_NAME": out.name, "FAULTY_COUNT": str(self.folder / "count")}
        done = run("-b", self.folder / "x.npy", "--tile", 40, "-o", out, status=status, env=env)
        self.assertGreater(int((self.folder / "count").read_text()), 0, "no call was tampered with")
        return done

    @unittest.skipUnless(FAULTY_DISK, "TESSERA_FAULTY_DISK names no library to preload")
    def test_short_and_interrupted_writes_change_no_byte(self):
        for suffix in OUTPUTS:
            with self.subTest(suffix):
                run("-b", self.folder / "x.npy", "--tile", 40, "-o", self.folder / f"whole{suffix}")
                self.on_faulty_disk("short", self.folder / f"short{suffix}", status=0)
                self.assertEqual(sha(self.folder / f"short{suffix}"), sha(self.folder / f"whole{suffix}"))

    @unittest.skipUnless(FAULTY_DISK, "TESSERA_FAULTY_DISK names no library to preload")
    def test_an_error_of_the_disk_is_one_line_and_resumable(self):
        for suffix in OUTPUTS:
            run("-b", self.folder / "x.npy", "--tile", 40, "-o", self.folder / f"whole{suffix}")
            faults = ["pwrite:9", "sync:1"] + ["pwrite:1", "sync:2"] * (suffix == ".npy")
            for i, fault in enumerate(faults):
                with self.subTest(suffix, fault=fault):
                    out = self.folder / f"faulty{i}{suffix}"
                    message = self.on_faulty_disk(f"{fault}:{errno.EIO}", out, status=1).stderr
                    self.assertEqual(message.count("\n"), 1, message)
                    self.assertIn("Input/output error", message)
                    self.assertIn(out.name, message)
                    run("-b", self.folder / "x.npy", "--tile", 40, "-o", out, "--resume")
                    run("-o", out, "--verify")
                    self.assertEqual(sha(out), sha(self.folder / f"whole{suffix}"))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "needs to mount a small tmpfs")
    def test_a_full_disk_is_one_line_and_resumable(self):
        small = self.folder / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True).returncode != 0:
            self.skipTest("no mount here")
        try:
            out = small / "d.npy"
            message = run("-b", self.folder / "x.npy", "-o", out, status=1).stderr
            self.assertEqual(message.count("\n"), 1, message)
            self.assertIn("No space left", message)
            subprocess.run(["mount", "-o", "remount,size=8m", str(small)], check=True)
            run("-b", self.folder / "x.npy", "-o", out, "--resume")
            run("-b", self.folder / "x.npy", "-o", self.folder / "whole.npy")
            self.assertEqual(sha(out), sha(self.folder / "whole.npy"))
        finally:
            subprocess.run(["umount", str(small)], check=True)


if __name__ == "__main__":
    unittest.main()
