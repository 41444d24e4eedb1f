#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu_check.sh runs: steps with a time limit each, one JSON and one Markdown table.

Every step is a process of its own (this script with --step), so that one that hangs or dies takes nothing along. A step prints one JSON
object: {"state": "passed" | "failed" | "not run", "why": one line, ...}. gpu_check.json is written anew after each.
"""
import argparse
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

ALL_SECONDS = 465  # of 480: the rest is for starting and for writing
# name, time limit in seconds, module and function, what it needs
STEPS = [
    ("machine", 30, "gpu_correct", "machine", []),
    ("equal", 110, "gpu_correct", "equal", ["numpy"]),
    ("model", 40, "gpu_correct", "model", ["numpy", "cupy"]),
    ("memcheck", 75, "gpu_correct", "memcheck", ["numpy", "compute-sanitizer"]),
    ("racecheck", 75, "gpu_correct", "racecheck", ["numpy", "compute-sanitizer"]),
    ("peaks", 40, "gpu_speed", "peaks", ["torch"]),
    ("speed", 170, "gpu_speed", "speed", ["numpy", "torch"]),
]


def missing(needs):
    """The first of `needs` that is not here, as a line to print; empty: all are."""
    for need in needs:
        if need == "compute-sanitizer":
            if shutil.which(need) is None:
                return "compute-sanitizer is not on PATH or in /usr/local/cuda/bin: it comes with the CUDA toolkit"
        elif importlib.util.find_spec(need) is None:
            return f"Python has no {need}"
    return ""


def run_step(name, limit, command, out, results):
    arguments = [sys.executable, __file__, "--step", name, "--command", command, "--out", str(out)]
    (out / "results_so_far.json").write_text(json.dumps(results))
    started = time.monotonic()
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=limit)
        lines = done.stdout.strip().splitlines()
        try:
            result = json.loads(lines[-1])
        except (IndexError, json.JSONDecodeError):
            tail = (done.stderr.strip().splitlines() or ["no output"])[-1]
            result = {"state": "failed", "why": f"ended with {done.returncode}: {tail}"}
    except subprocess.TimeoutExpired:
        result = {"state": "failed", "why": f"took more than its {limit:.0f} s"}
    result["seconds"] = round(time.monotonic() - started, 1)
    return result


def markdown(results):
    machine = results.get("machine", {})
    rows = [f"`scripts/gpu_check.sh`, {time.strftime('%Y-%m-%d')}, {machine.get('gpu', 'no GPU')}, driver {machine.get('driver', '?')}, toolkit {machine.get('toolkit', '?')}", ""]
    rows += ["| step | state | seconds | |", "| --- | --- | --- | --- |"]
    rows += [f"| {name} | {r['state']} | {r.get('seconds', '')} | {r.get('why', '')} |" for name, r in results.items()]
    if results.get("peaks", {}).get("rates"):
        rows += ["", "| measured peak | |", "| --- | --- |"] + [f"| {name} | {value} |" for name, value in results["peaks"]["rates"].items()]
    table = results.get("speed", {}).get("table")
    if table:
        head = list(table[0])
        rows += ["", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        rows += ["| " + " | ".join(str(row.get(h, "")) for h in head) + " |" for row in table]
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the tessera command")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--only", default="", help="these steps, separated by commas")
    parser.add_argument("--step", default="")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()

    if args.step:
        module, function = next((m, f) for name, _, m, f, _ in STEPS if name == args.step)
        so_far = json.loads((args.out / "results_so_far.json").read_text())
        print(json.dumps(getattr(importlib.import_module(module), function)(args.command, so_far)))
        return 0

    wanted = [s for s in STEPS if not args.only or s[0] in args.only.split(",")]
    deadline = time.monotonic() + ALL_SECONDS
    results = {}
    for name, limit, module, function, needs in wanted:
        why = missing(needs)
        if args.dry_run:
            print(f"gpu_check: {name}: {'not run: ' + why if why else f'would run, {limit} s at most'}")
            if not why:
                for line in getattr(importlib.import_module(module), "plan_of_" + function)():
                    print(f"gpu_check:   {line}")
            continue
        left = deadline - time.monotonic()
        if not why and name != "machine" and results.get("machine", {}).get("state", "passed") != "passed":
            why = "no usable GPU"
        if not why and left < 10:
            why = "no time left"
        results[name] = {"state": "not run", "why": why} if why else run_step(name, min(limit, left), args.command, args.out, results)
        print(f"gpu_check: {name}: {results[name]['state']} {results[name].get('why', '')}".rstrip(), flush=True)
        (args.out / "gpu_check.json").write_text(json.dumps(results, indent=1) + "\n")
        (args.out / "gpu_check.md").write_text(markdown(results))
    if args.dry_run:
        return 0
    (args.out / "results_so_far.json").unlink(missing_ok=True)
    print((args.out / "gpu_check.md").read_text())
    return 0 if all(r["state"] == "passed" for r in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
