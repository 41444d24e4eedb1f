# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: a scratch folder, running the command in it, and files to run it on.

The command is $TESSERA_BIN, or the first argument if that is a file.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("SKIPPED: NumPy is not installed (apt-packages.txt: python3-numpy)")
    sys.exit(77)

SEED = 20240607


def find_command():
    named = os.environ.get("TESSERA_BIN", "")
    if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
        named = sys.argv.pop(1)
    if not os.access(named, os.X_OK):
        print(f"no tessera binary at '{named}': set TESSERA_BIN or give its path", file=sys.stderr)
        sys.exit(2)
    return os.path.abspath(named)


TESSERA = find_command()


class CliTest(unittest.TestCase):
    """A scratch folder, and running the command in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tessera-cli-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def run_tessera(self, *args, expect=0, env=None):
        done = subprocess.run([TESSERA, *map(str, args)], cwd=self.dir, capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, expect,
                         f"tessera {' '.join(map(str, args))}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        if expect not in (0, 4):  # 4: a gate was missed, after the report
            self.assertEqual(done.stdout, "", "a failing command prints nothing on stdout")
            self.assertIn("tessera: ", done.stderr)
        return done

    def topk(self, *args, env=None):
        """Runs topk into an npz; returns (ids, distances, the file's bytes)."""
        out = self.dir / "out.npz"
        self.run_tessera("topk", *args, "-o", out, "--force", "-q", env=env)
        with np.load(out) as npz:
            self.assertEqual(sorted(npz.files), ["distances", "ids"])
            return npz["ids"], npz["distances"], out.read_bytes()

    def npy(self, name, array, dtype=np.float32):
        np.save(self.dir / name, np.asarray(array, dtype))
        return name

    def fbin(self, name, array):
        array = np.ascontiguousarray(array, "<f4")
        (self.dir / name).write_bytes(struct.pack("<II", *array.shape) + array.tobytes())
        return name

    def random_files(self, nb=500, nq=40, d=24):
        rng = np.random.default_rng(SEED)
        base = rng.normal(size=(nb, d)).astype(np.float32)
        queries = rng.normal(size=(nq, d)).astype(np.float32)
        self.npy("base.npy", base)
        self.npy("queries.npy", queries)
        return base, queries


def run_tests(seed=SEED):
    """Runs the tests of the calling script; returns its exit status. Skips are printed and counted."""
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"SKIPPED {test}: {reason}", file=sys.stderr)
    print(f"{pathlib.Path(sys.argv[0]).stem}: {result.testsRun - len(result.skipped)} tests run, {len(result.skipped)} skipped, "
          f"{len(result.failures) + len(result.errors)} failed; seed {seed}", file=sys.stderr)
    return 0 if result.wasSuccessful() else 1
