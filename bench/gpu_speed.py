# SPDX-License-Identifier: Apache-2.0
"""Steps of gpu_check.py that take times: the device's own peaks, then searches beside torch's matmul and topk on the same data."""
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SEED = 20261201
SCREENS = ["auto", "fp32", "bf16", "int8"]
# queries, base rows, columns, k; 0 queries: the base itself
CASES = [
    (15_000, 15_000, 128, 10),
    (100_000, 1_000_000, 3, 10),
    (100_000, 1_000_000, 32, 10),
    (100_000, 1_000_000, 768, 10),
    (1_000_000, 1_000_000, 128, 10),
    (1_000_000, 1_000_000, 128, 100),
]
STEP_SECONDS = 150  # then what is left is left out, and said so
TORCH_SECONDS = 3  # of one setting; rows that were not reached are extrapolated, and said so


def timed(torch, work, rounds=5):
    """Median seconds of `work` on the device, after one warm-up."""
    work()
    seconds = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        seconds.append(start.elapsed_time(end) / 1e3)
    return statistics.median(seconds)


# --- peaks -----------------------------------------------------------------------------------------------------------------


def plan_of_peaks():
    return ["torch: 8192-cubed products in bf16, fp32 (TF32 off, on) and int8; copies within the device, in and out"]


def peaks(_, __):
    import torch

    n = 8192
    rates, raw = {}, {}

    def rate(name, seconds, amount, unit, scale):
        raw[name] = amount / seconds
        rates[name] = f"{amount / seconds / scale:.1f} {unit}"

    flops = 2 * n**3
    half = torch.randn(n, n, device="cuda").bfloat16()
    rate("bf16 matmul", timed(torch, lambda: half @ half), flops, "TFLOP/s", 1e12)
    full = torch.randn(n, n, device="cuda")
    for name, allowed in (("fp32 matmul", False), ("TF32 matmul", True)):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        rate(name, timed(torch, lambda: full @ full), flops, "TFLOP/s", 1e12)
    try:
        integers = torch.randint(-127, 128, (n, n), device="cuda", dtype=torch.int8)
        rate("int8 matmul", timed(torch, lambda: torch._int_mm(integers, integers.t())), flops, "Top/s", 1e12)
    except (AttributeError, RuntimeError) as error:
        rates["int8 matmul"] = f"not measured: {str(error).splitlines()[0]}"
    size = 1 << 30
    a, b = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    rate("copy within the device (read + write)", timed(torch, lambda: b.copy_(a)), 2 * size, "GB/s", 1e9)
    pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    rate("copy in, pinned", timed(torch, lambda: a.copy_(pinned, non_blocking=True)), size, "GB/s", 1e9)
    rate("copy out, pinned", timed(torch, lambda: pinned.copy_(a, non_blocking=True)), size, "GB/s", 1e9)
    return {"state": "passed", "rates": rates, "raw": raw}


# --- searches --------------------------------------------------------------------------------------------------------------


def tessera_seconds(command, folder, k, screen, limit):
    """(prepare + search seconds, report) or (None, why)."""
    arguments = [command, "topk", "-b", folder / "base.npy", "--queries", folder / "queries.npy", "-k", k, "-m", "l2", "--backend", "cuda", "--screen", screen, "--json"]
    try:
        done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"over {limit:.0f} s"
    if done.returncode != 0:
        return None, "absent" if "unsupported" in done.stderr else (done.stderr.strip().splitlines() or ["failed"])[-1]
    report = json.loads(done.stdout)
    return report["seconds"]["search"], report


def torch_seconds(torch, queries, base, k, tf32):
    """Seconds for all queries: |y|^2 - 2 x.y by one matmul a chunk, then topk. Chunks of 4 GB of distances."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    x, y = queries.cuda(), base.cuda()
    norms = (y * y).sum(1)
    rows = max(1, min(len(x), (1 << 30) // len(y)))
    torch.topk(torch.addmm(norms, x[:rows], y.T, alpha=-2), k, largest=False)
    torch.cuda.synchronize()
    started, done = time.monotonic(), 0
    while done < len(x) and time.monotonic() - started < TORCH_SECONDS:
        torch.topk(torch.addmm(norms, x[done : done + rows], y.T, alpha=-2), k, largest=False)
        torch.cuda.synchronize()
        done = min(len(x), done + rows)
    return (time.monotonic() - started) * len(x) / done, done


def plan_of_speed():
    return [f"{nq:,} x {nb:,}, d {d}, k {k}: --screen {', '.join(SCREENS)}; torch with TF32 off and on" for nq, nb, d, k in CASES]


def one_case(torch, command, folder, case, bf16_rate, limit):
    nq, nb, d, k = case
    generator = torch.Generator().manual_seed(SEED)
    base, queries = torch.randn(nb, d, generator=generator), torch.randn(nq, d, generator=generator)
    import numpy as np

    np.save(folder / "base.npy", base.numpy())
    np.save(folder / "queries.npy", queries.numpy())
    row = {"queries x base, d, k": f"{nq:,} x {nb:,}, {d}, {k}"}
    best = None
    for screen in SCREENS:
        seconds, report = tessera_seconds(command, folder, k, screen, limit)
        row[f"tessera {screen}, s"] = f"{seconds:.3f}" if seconds is not None else report
        if seconds is not None and (best is None or seconds < best):
            best = seconds
    for name, tf32 in (("torch fp32, s", False), ("torch TF32, s", True)):
        seconds, done = torch_seconds(torch, queries, base, k, tf32)
        row[name] = f"{seconds:.3f}" + ("" if done == nq else f" (from {done:,} rows)")
        if not tf32 and best:
            row["torch fp32 / tessera"] = f"{seconds / best:.1f}"
    if best and bf16_rate:
        row["of measured bf16"] = f"{2 * d * nq * nb / best / bf16_rate:.0%}"
    return row


def speed(command, results):
    import torch

    started = time.monotonic()
    rate = results.get("peaks", {}).get("raw", {}).get("bf16 matmul")
    table = []
    shared = Path("/dev/shm")
    for case in CASES:
        left = STEP_SECONDS - (time.monotonic() - started)
        name = f"{case[0]:,} x {case[1]:,}, {case[2]}, {case[3]}"
        if left < 15:
            table.append({"queries x base, d, k": name, "tessera auto, s": "no time left"})
            continue
        with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
            table.append(one_case(torch, command, Path(folder), case, rate, min(30, left)))
        torch.cuda.empty_cache()
    wide = {key: "" for row in table for key in row}
    table = [{**wide, **row} for row in table]
    searched = sum(1 for row in table for key, value in row.items() if key.startswith("tessera") and value.replace(".", "").isdigit())
    return {"state": "passed" if searched else "not run", "why": f"{searched} searches timed", "table": table}
