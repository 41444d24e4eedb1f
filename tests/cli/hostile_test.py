# SPDX-License-Identifier: Apache-2.0
"""The command where disks are full, files shrink under it, sizes pass 2^31 and users press Ctrl-C: right answers or one clear line.

    python3 tests/cli/hostile_test.py build/release/tools/tessera [unittest arguments]
"""
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

from cli_case import SEED, TESSERA, CliTest, np, run_tests

GIB = 1 << 30


def sparse(path, header, size):
    """A file of zeros behind its header; only the header takes space. Returns the open file."""
    file = open(path, "w+b")
    file.write(header)
    file.truncate(size)
    return file


def npy_header(descr, shape):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (117 - len(text)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


class HostileTest(CliTest):
    def start(self, *args, **options):
        return subprocess.Popen([TESSERA, *map(str, args)], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)

    def wait_until_mapped(self, process, name):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            with open(f"/proc/{process.pid}/maps") as maps:
                if name in maps.read():
                    return
            time.sleep(0.005)
        self.fail(f"the command never mapped {name}, or was done too soon: {process.communicate()}")

    def assert_one_line(self, text, *parts):
        self.assertRegex(text, r"\Atessera: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, text)


class FullDisk(HostileTest):
    """The output goes to a file system of 256 KiB."""

    SCRIPT = 'mount -t tmpfs -o size=256k none disk 2>/dev/null || exit 77; "$@"; status=$?; ls -A disk; exit $status'

    def run_on_full_disk(self, *args):
        (self.dir / "disk").mkdir(exist_ok=True)
        if shutil.which("unshare") is None:
            self.skipTest("no unshare, so no file system of its own")
        space = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        done = subprocess.run([*space, "sh", "-c", self.SCRIPT, "sh", TESSERA, *map(str, args)], cwd=self.dir, capture_output=True,
                              text=True, timeout=120)
        if done.returncode in (77, 1) and "tessera" not in done.stderr:
            self.skipTest(f"no file system may be mounted here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "", "something is left on the disk")
        self.assert_one_line(done.stderr, args[-1], "No space left on device")
        return done

    def test_topk_says_so_and_leaves_nothing(self):
        self.npy("base.npy", np.random.default_rng(SEED).normal(size=(3000, 4)))
        for suffix in ["npz", "npy", "ibin", "ivecs", "csv"]:
            with self.subTest(suffix):
                self.run_on_full_disk("topk", "-b", "base.npy", "-k", 40, "-q", "-o", f"disk/nn.{suffix}")

    def test_hdf5_too(self):
        if "h5" not in self.run_tessera("info").stdout.split("writes")[1]:
            self.skipTest("built without libhdf5")
        self.npy("base.npy", np.random.default_rng(SEED).normal(size=(3000, 4)))
        done = self.run_on_full_disk("topk", "-b", "base.npy", "-k", 40, "-q", "-o", "disk/nn.h5")
        self.assertNotIn("buf = ", done.stderr)

    def test_convert_says_so_and_leaves_nothing(self):
        self.npy("in.npy", np.full((3000, 40), 0.5))
        for suffix in ["npy", "fbin", "fvecs", "csv"]:
            with self.subTest(suffix):
                self.run_on_full_disk("convert", "in.npy", f"disk/out.{suffix}")


class ShrinkingFiles(HostileTest):
    def test_a_file_cut_short_while_it_is_searched_ends_in_one_line(self):
        self.npy("base.npy", np.random.default_rng(SEED).normal(size=(40_000, 128)))
        whole = (self.dir / "base.npy").stat().st_size
        for cut in [4096, 128, 0]:
            with self.subTest(cut=cut):
                process = self.start("topk", "-b", "base.npy", "-k", 10, "--screen", "double", "-o", "nn.npz")
                self.wait_until_mapped(process, "base.npy")
                time.sleep(0.1)
                os.truncate(self.dir / "base.npy", cut)
                stdout, stderr = process.communicate(timeout=60)
                self.assertEqual((process.returncode, stdout), (1, ""), stderr)
                self.assert_one_line(stderr, "'base.npy' was cut short", str(whole), f"{cut} now")
                self.assertEqual(os.listdir(self.dir), ["base.npy"])
                self.npy("base.npy", np.random.default_rng(SEED).normal(size=(40_000, 128)))

    def test_a_file_cut_short_while_it_is_converted_leaves_nothing(self):
        rows = 1 << 20
        sparse(self.dir / "in.npy", npy_header("<f4", (rows, 64)), 128 + rows * 256).close()  # a second or more as text
        process = self.start("convert", "in.npy", "out.csv")
        self.wait_until_mapped(process, "in.npy")
        time.sleep(0.1)
        os.truncate(self.dir / "in.npy", 10_000)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual((process.returncode, stdout), (1, ""), stderr)
        self.assert_one_line(stderr, "'in.npy' was cut short")
        self.assertEqual(os.listdir(self.dir), ["in.npy"])

    def test_a_file_removed_while_it_is_searched_is_searched_to_the_end(self):
        self.npy("base.npy", np.random.default_rng(SEED).normal(size=(4_000, 64)))
        self.run_tessera("topk", "-b", "base.npy", "-k", 10, "--screen", "double", "-o", "want.npz")
        process = self.start("topk", "-b", "base.npy", "-k", 10, "--screen", "double", "-o", "nn.npz", "-q")
        self.wait_until_mapped(process, "base.npy")
        os.remove(self.dir / "base.npy")
        self.assertEqual(process.communicate(timeout=60), ("", ""))
        self.assertEqual((self.dir / "nn.npz").read_bytes(), (self.dir / "want.npz").read_bytes())

    def test_a_file_nobody_may_read_is_named(self):
        self.npy("base.npy", np.ones((3, 2)))
        (self.dir / "base.npy").chmod(0)
        command = [TESSERA]
        options = {}
        if os.geteuid() == 0:  # root may read everything: be nobody, with a copy of the command that nobody may run
            shutil.copy(TESSERA, self.dir / "tessera")
            (self.dir / "tessera").chmod(0o755)
            self.dir.chmod(0o755)
            command, options = ["./tessera"], {"user": 65534}
        done = subprocess.run([*command, "topk", "-b", "base.npy", "-k", "1"], cwd=self.dir, capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_one_line(done.stderr, "base.npy", "Permission denied")


class CtrlC(HostileTest):
    ROUNDS = 10

    def strike(self, args, out, again):
        """Interrupts runs of the command at random moments; the output is whole or absent, and nothing else appears."""
        before = set(os.listdir(self.dir))
        start = time.monotonic()
        self.run_tessera(*args)
        seconds = time.monotonic() - start
        whole = (self.dir / out).read_bytes()
        (self.dir / out).unlink()
        dice = random.Random(SEED)
        ends = set()
        for _ in range(self.ROUNDS):
            process = self.start(*args)
            time.sleep(dice.uniform(0, 1.1 * seconds))
            for _ in range(2 if again else 1):
                process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
            ends.add(process.returncode)
            if process.returncode != 0:  # -SIGINT: struck before main() began
                self.assertIn(process.returncode, (130, -signal.SIGINT), stderr)
                self.assertEqual(stdout, "")
            # A run may also be struck once its output is in place: it says so, and the output is whole.
            if process.returncode == 0 or (process.returncode == 130 and (self.dir / out).exists()):
                self.assertEqual((self.dir / out).read_bytes(), whole)
                (self.dir / out).unlink()
            self.assertEqual(set(os.listdir(self.dir)), before)
        self.assertIn(130, ends, "no run was interrupted")

    def test_topk_leaves_its_output_whole_or_nothing(self):
        self.npy("base.npy", np.random.default_rng(SEED).normal(size=(4_000, 64)))
        self.strike(["topk", "-b", "base.npy", "-k", 50, "-q", "--screen", "double", "-o", "nn.npz"], "nn.npz", again=False)

    def test_convert_leaves_its_output_whole_or_nothing_even_when_struck_twice(self):
        self.npy("in.npy", np.random.default_rng(SEED).normal(size=(40_000, 32)))
        self.strike(["convert", "in.npy", "out.csv", "-q"], "out.csv", again=True)


class PastTwoToThe31(HostileTest):
    """Sparse files: as many rows and bytes as wanted, for no disk space."""

    ROWS = (1 << 31) + 3

    def test_rows_past_two_to_the_31_are_found_under_their_own_numbers(self):
        with sparse(self.dir / "base.u8bin", struct.pack("<II", self.ROWS, 1), 8 + self.ROWS) as file:
            for row, value in [((1 << 31) - 1, 50), (1 << 31, 90), ((1 << 31) + 1, 200)]:
                file.seek(8 + row)
                file.write(bytes([value]))
        self.npy("q.npy", [[199], [60]], np.uint8)
        args = ["-b", "base.u8bin", "--queries", "q.npy", "--base-rows", f"{(1 << 31) - 5}:", "-k", 2]
        ids, distances, _ = self.topk(*args)
        self.assertEqual(ids.tolist(), [[(1 << 31) + 1, 1 << 31], [(1 << 31) - 1, 1 << 31]])
        self.assertEqual(distances.tolist(), [[1, 109], [10, 30]])
        for extra in [["--ids", "int32", "-o", "nn.npz"], ["-o", "nn.ibin"]]:
            self.assertIn("int32", self.run_tessera("topk", *args, *extra, expect=2).stderr)
        self.assertFalse((self.dir / "nn.ibin").exists())

    def test_two_to_the_31_elements_are_looked_at_and_converted_in_part(self):
        cols = 1000
        rows = self.ROWS // cols + 1
        with sparse(self.dir / "x.npy", npy_header("<f4", (rows, cols)), 128 + 4 * rows * cols) as file:  # 8 GiB
            file.seek(-4, os.SEEK_END)
            file.write(struct.pack("<f", 7))
        self.assertGreater((self.dir / "x.npy").stat().st_size, 8 * GIB)
        self.assertRegex(self.run_tessera("info", "x.npy", "--sample", 100).stdout, r"rows +2,147,484\n")
        self.run_tessera("convert", "x.npy", "end.fbin", "--rows", f"{rows - 2}:")
        end = np.fromfile(self.dir / "end.fbin", "<f4")[2:]
        self.assertEqual((end.size, end[-1], end[:-1].any()), (2 * cols, 7, False))

    def test_a_header_that_promises_more_than_the_file_holds_is_one_line(self):
        for name, header in [("x.fbin", struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF)), ("y.fbin", struct.pack("<QQ", 1 << 62, 1 << 62)),
                             ("x.npy", npy_header("<f8", (1 << 61, 1 << 61))), ("x.fvecs", struct.pack("<i", 0x7FFFFFFF))]:
            with self.subTest(name):
                sparse(self.dir / name, header, 5 * GIB).close()
                for command in [["topk", "-b", name, "-k", 1], ["info", name], ["convert", name, "out.npy"]]:
                    self.assert_one_line(self.run_tessera(*command, expect=3).stderr, name)

    def test_lists_past_the_budget_are_refused_before_the_search(self):
        sparse(self.dir / "q.u8bin", struct.pack("<II", 1 << 30, 1), 8 + (1 << 30)).close()
        self.npy("b.npy", [[1], [2]], np.uint8)
        error = self.run_tessera("topk", "-b", "b.npy", "--queries", "q.u8bin", "-k", 100, "--memory", "1G", expect=1).stderr
        self.assert_one_line(error, f"budget is {1 << 30}: raise it")


if __name__ == "__main__":
    sys.exit(run_tests())
