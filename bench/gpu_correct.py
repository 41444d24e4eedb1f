# SPDX-License-Identifier: Apache-2.0
"""Steps of gpu_check.py that judge answers: the machine, the CPU's bits, the tensor cores' model, sanitizers."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED = 20261201
# The screens of --screen that a GPU has; one that the build lacks is counted and said.
SCREENS = ["auto", "fp32", "bf16", "int8"]


def tessera(command, *args, prefix=()):
    return subprocess.run([*prefix, command, *map(str, args)], capture_output=True, text=True)


def message(done):
    """The command's one line, or the last of whatever else ended it."""
    lines = done.stderr.strip().splitlines() or ["no message"]
    return next((line for line in lines if line.startswith("tessera: ")), lines[-1])


# --- machine ---------------------------------------------------------------------------------------------------------------


def plan_of_machine():
    return ["tessera info --json; nvidia-smi"]


def machine(command, _):
    done = tessera(command, "info", "--json")
    if done.returncode != 0:
        return {"state": "failed", "why": message(done)}
    cuda = json.loads(done.stdout).get("cuda")
    if cuda is None:
        return {"state": "failed", "why": "this tessera knows no CUDA"}
    result = {"state": "passed", "toolkit": cuda["toolkit"], "driver": cuda["driver"], "gpus": cuda["gpus"], "cores": os.cpu_count()}
    if cuda["unavailable"]:
        return {**result, "state": "failed", "why": cuda["unavailable"]}
    result["gpu"] = cuda["gpus"][0]["name"]
    if shutil.which("nvidia-smi"):
        fields = "name,driver_version,clocks.max.sm,clocks.max.mem,power.limit"
        smi = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True, text=True)
        result["nvidia_smi"] = smi.stdout.strip()
    return result


# --- the CPU's bits --------------------------------------------------------------------------------------------------------

# name, base rows, queries (0: the base itself), columns, k, dtype, how values are made
SHAPES = [
    ("points", 3000, 500, 3, 10, "float32", "normal"),
    ("one row, one column", 1, 7, 1, 3, "float32", "normal"),
    ("odd", 129, 127, 17, 1, "float32", "normal"),
    ("embeddings", 5000, 300, 128, 100, "float32", "normal"),
    ("k is all", 300, 50, 768, 300, "float32", "normal"),
    ("self", 2000, 0, 100, 5, "float32", "normal"),
    ("ties", 2000, 200, 20, 17, "uint8", "few"),
    ("float64 far from zero", 1500, 200, 40, 10, "float64", "far"),
    ("bytes", 4000, 256, 128, 10, "int8", "bytes"),
]
METRICS = ["l2", "inner_product", "cosine", "l1", "linf"]


def values(rng, rows, cols, dtype, kind):
    if kind == "few":
        return rng.integers(0, 4, (rows, cols)).astype(dtype)
    if kind == "bytes":
        return rng.integers(-128, 128, (rows, cols)).astype(dtype)
    return (rng.standard_normal((rows, cols)) + (1e6 if kind == "far" else 0)).astype(dtype)


def write_case(folder, shape):
    import numpy as np

    name, nb, nq, d, k, dtype, kind = shape
    rng = np.random.default_rng(SEED)
    np.save(folder / "base.npy", values(rng, nb, d, dtype, kind))
    arguments = ["-b", folder / "base.npy", "-k", k]
    if nq:
        np.save(folder / "queries.npy", values(rng, nq, d, dtype, kind))
        arguments += ["--queries", folder / "queries.npy"]
    return arguments


class Job:
    """One search or dump: the CPU's file, then the GPU's by each of `screens`."""

    def __init__(self, name, words, suffix, screens=("",)):
        self.name, self.words, self.suffix, self.screens = name, words, suffix, screens

    def output(self, command, path, *more):
        """The file's bytes, or the message."""
        done = tessera(command, *self.words, *more, "-o", path, "--force", "-q")
        return path.read_bytes() if done.returncode == 0 else message(done)

    def run(self, command, folder):
        """[(name, "equal" | "absent" | what is wrong)]"""
        stem = "".join(c if c.isalnum() else "_" for c in self.name)
        wanted = self.output(command, folder / f"{stem}_cpu{self.suffix}", "--backend", "cpu")
        verdicts = []
        for screen in self.screens:
            name = f"{self.name} {screen}".strip()
            if isinstance(wanted, str):
                verdicts.append((name, f"cpu: {wanted}"))
                continue
            more = ["--screen", screen] if screen else []
            seen = self.output(command, folder / f"{stem}_{screen or 'cuda'}{self.suffix}", "--backend", "cuda", *more)
            if isinstance(seen, str):
                lacking = "unsupported" in seen or "no kernels" in seen or "is for tensor cores" in seen
                verdicts.append((name, "absent" if lacking else f"cuda: {seen}"))
            else:
                verdicts.append((name, "equal" if seen == wanted else "the files differ"))
        return verdicts


def jobs(folder):
    for number, shape in enumerate(SHAPES):
        place = folder / str(number)
        place.mkdir()
        arguments = write_case(place, shape)
        for metric in METRICS:
            screens = SCREENS if metric == "l2" and shape[3] >= 16 else ["auto"]
            yield Job(f"topk, {shape[0]}, {metric}", ["topk", *arguments, "-m", metric, "--distances", "float64"], ".npz", screens)
    for metric in METRICS:
        yield Job(f"dump, {metric}", ["dump", "-b", folder / "0/base.npy", "--cols", folder / "0/queries.npy", "-m", metric], ".npy")
    for cell in ("4 4 4", "4 5 6 70 80 100"):
        yield Job(f"periodic, {cell}", ["topk", "-b", folder / "0/base.npy", "-k", 10, "-m", "periodic", "--cell", cell], ".npz", ["auto"])


def plan_of_equal():
    return [f"{len(SHAPES)} shapes x {len(METRICS)} metrics, screens {', '.join(SCREENS)}, dumps, two cells: files of --backend cpu and cuda compared byte by byte"]


def equal(command, _):
    with tempfile.TemporaryDirectory() as folder:
        # A few at once: most of a small run is the start of the driver.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            verdicts = [v for done in pool.map(lambda job: job.run(command, Path(folder)), jobs(Path(folder))) for v in done]
    counted = sum(v == "equal" for _, v in verdicts)
    absent = [name for name, v in verdicts if v == "absent"]
    wrong = [f"{name}: {v}" for name, v in verdicts if v not in ("equal", "absent")]
    why = f"{counted} equal, {len(absent)} not in this build" + (f", {len(wrong)} wrong, the first {wrong[0]}" if wrong else "")
    return {"state": "failed" if wrong else "passed" if counted else "not run", "equal": counted, "absent": absent, "wrong": wrong, "why": why}


# --- the model of the tensor cores -----------------------------------------------------------------------------------------

# One warp, one mma.m16n8k16: row 0 of A and column 0 of B are the vector, the rest zeros; c[0] of lane 0 is its sum.
MMA = r"""
extern "C" __global__ void sum16(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
  const unsigned lane = threadIdx.x, v = blockIdx.x;
  unsigned x[4] = {0, 0, 0, 0}, y[2] = {0, 0};
  if (lane < 4) {  // lane t holds elements 2t, 2t + 1 of row 0, then those eight further on
    x[0] = a[8 * v + lane];
    x[2] = a[8 * v + 4 + lane];
    y[0] = b[8 * v + lane];
    y[1] = b[8 * v + 4 + lane];
  }
  float s[4] = {lane == 0 ? __uint_as_float(c[v]) : 0.0f, 0.0f, 0.0f, 0.0f};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  if (lane == 0) out[v] = __float_as_uint(s[0]);
}
"""


def plan_of_model():
    return ["tests/data/tensor_vectors.json through one mma.sync.m16n8k16 each: bits against the row of the architecture"]


def model(_, results):
    import cupy
    import numpy as np

    arch = cupy.cuda.Device().compute_capability
    vectors = json.loads((ROOT / "tests/data/tensor_vectors.json").read_text())

    def words(key):
        return cupy.asarray(np.array([v[key] for v in vectors], dtype=np.uint16).view(np.uint32))

    c = cupy.asarray(np.array([v["c"] for v in vectors], dtype=np.uint32))
    out = cupy.zeros(len(vectors), dtype=cupy.uint32)
    cupy.RawKernel(MMA, "sum16")((len(vectors),), (32,), (words("a"), words("b"), c, out))
    seen = [int(s) for s in out.get()]
    agree = {a: sum(s == v["sums"][a] for s, v in zip(seen, vectors)) for a in vectors[0]["sums"]}
    result = {"arch": arch, "vectors": len(vectors), "agree": agree, "device_sums": seen}
    if arch not in agree:
        return {**result, "state": "passed", "why": f"sm_{arch} has no row in tensor_arch.hpp; vectors that agree: {agree}"}
    good = agree[arch] == len(vectors)
    return {**result, "state": "passed" if good else "failed", "why": f"{agree[arch]} of {len(vectors)} vectors agree with the row of sm_{arch}"}


# --- sanitizers ------------------------------------------------------------------------------------------------------------

SANITIZED = [(200, 130, 3, 5, "l1"), (300, 130, 40, 5, "l2"), (260, 40, 100, 300, "cosine")]


def plan_of_sanitizer(tool):
    return [f"compute-sanitizer --tool {tool}: topk of {nb} x {nq}, d {d}, k {k}, {metric}" for nb, nq, d, k, metric in SANITIZED]


def plan_of_memcheck():
    return plan_of_sanitizer("memcheck")


def plan_of_racecheck():
    return plan_of_sanitizer("racecheck")


def sanitize(command, tool):
    clean, absent = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for nb, nq, d, k, metric in SANITIZED:
            arguments = write_case(folder, ("small", nb, nq, d, k, "float32", "normal"))
            for screen in ["auto"] if metric == "l1" else ["fp32", "bf16", "int8"]:
                words = ["topk", *arguments, "-m", metric, "--backend", "cuda", "--screen", screen, "-o", folder / "out.npz", "--force", "-q"]
                done = tessera(command, *words, prefix=["compute-sanitizer", "--tool", tool, "--error-exitcode", "99"])
                if done.returncode == 0:
                    clean += 1
                elif done.returncode != 99 and "tensor cores" in done.stderr + done.stdout:
                    absent.append(f"{metric}, {screen}")
                else:
                    log = [line for line in (done.stdout + done.stderr).splitlines() if "=====" in line][:12]
                    return {"state": "failed", "why": f"{metric}, {screen}: {log[1] if len(log) > 1 else message(done)}", "log": log}
    return {"state": "passed" if clean else "not run", "why": f"{clean} runs clean, {len(absent)} not in this build", "absent": absent}


def memcheck(command, _):
    return sanitize(command, "memcheck")


def racecheck(command, _):
    return sanitize(command, "racecheck")
