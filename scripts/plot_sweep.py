#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws `tessera ann sweep` reports: recall against queries per second, and one page with the plots and the tables.

    scripts/plot_sweep.py sweep.json [more.json ...] [--out NAME] [--from 0.5]

Writes NAME.png, NAME.svg (one plot a report, NAME-2.png ... for further ones) and NAME.html, which holds everything and opens from
the file system. NAME is the first report's without .json. Needs matplotlib (apt-get install python3-matplotlib, or pip).
"""
import argparse
import html
import io
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot_sweep: matplotlib is missing: apt-get install python3-matplotlib, or pip install matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

# Okabe and Ito's colours, told apart by colour-blind readers too; the exact path is black.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
SOFT = 5e-4  # recall's axis is logarithmic in what is missed, plus this, so that 1 has a place
TICKS = [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1]
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #222; }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 2em } svg { max-width: 100%; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } th, td { padding: .2em .8em; text-align: right }
th { border-bottom: 1px solid #999 } td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left }
tr.pareto { background: #eef6ee } .note { color: #666 }
"""


def short_settings(text):
    """nprobe=16,quantizer_efSearch=64 -> 16: what changes along a curve."""
    return text.split(",")[0].split("=")[-1] if text else ""


def left_edge(report, asked):
    """Recalls below this are off the plot: the useful end is the right one."""
    recalls = [point["recall"] for index in report["indexes"] for point in index["points"]]
    return asked if asked is not None else max(0.0, min(0.9, min(recalls, default=0.9) - 0.02))


def stretched(recall):
    return -np.log10(1 - np.asarray(recall) + SOFT)


def unstretched(place):
    return 1 + SOFT - 10.0 ** -np.asarray(place)


def draw_curve(axes, index, number, left):
    points = [point for point in index["points"] if point["recall"] >= left]
    x = [point["recall"] for point in points]
    y = [point["queries_per_second"] for point in points]
    colour = COLOURS[number % len(COLOURS)]
    axes.plot(x, y, color=colour, linewidth=1.6, marker=MARKERS[number % len(MARKERS)], markersize=5, label=index["index"])
    for a, b, point in zip(x, y, points):
        if point["pareto"]:
            axes.plot(a, b, marker="o", markersize=11, markerfacecolor="none", markeredgecolor=colour, linewidth=0)
    # Settings where there is room: labels closer than 2.5 % of the axis would overlap.
    last = None
    for a, b, point in zip(x, y, points):
        if last is None or abs(stretched(a) - last) > 0.025 * (stretched(1) - stretched(left)):
            axes.annotate(short_settings(point["settings"]), (a, b), textcoords="offset points", xytext=(4, 6), fontsize=7.5, color=colour)
            last = stretched(a)


def draw(report, left):
    figure, axes = plt.subplots(figsize=(8.5, 5.2), layout="constrained")
    edge = left_edge(report, left)
    for number, index in enumerate(report["indexes"]):
        draw_curve(axes, index, number, edge)
    exact = report["exact"]
    axes.plot(1, exact["queries_per_second"], marker="*", markersize=15, color="black", linewidth=0, label="exact (Tessera)", zorder=5, clip_on=False)
    axes.axhline(exact["queries_per_second"], color="black", linewidth=0.8, linestyle=":")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if str(f"{y:e}")[0] in "25" else ""))
    axes.set_xscale("function", functions=(stretched, unstretched))
    axes.set_xlim(edge, 1 + SOFT * 0.1)
    axes.set_xticks([tick for tick in TICKS if tick >= edge], labels=[f"{tick:g}" for tick in TICKS if tick >= edge])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"recall@{report['k']}")
    axes.set_ylabel(f"queries per second, {report['threads']} thread{'s' if report['threads'] > 1 else ''}")
    axes.grid(True, which="major", color="#ddd")
    axes.grid(True, which="minor", axis="y", color="#f2f2f2")
    base = report["base"]
    axes.set_title(f"{pathlib.Path(base['path']).name}: {base['rows']:,} × {base['cols']}, {report['metric']}, k = {report['k']}", fontsize=11)
    axes.legend(loc="best", fontsize=9, framealpha=0.9, title="circled: Pareto", title_fontsize=8)
    return figure


def table(report):
    head = ["index", "settings", "recall", "strict", "queries/s", "p50 ms", "p95 ms", "p99 ms", "build s", "MiB"]
    rows = []
    for index in [None, *report["indexes"]]:
        points = [report["exact"]] if index is None else index["points"]
        seconds = report["exact"]["seconds_prepare"] if index is None else (index["seconds"] or {}).get("build")
        size = None if index is None else index["bytes"] / 2**20
        for point in points:
            latency = point["latency_ms"]
            cells = ["exact" if index is None else index["index"], "" if index is None else point["settings"], f"{point['recall']:.4f}",
                     f"{point['recall_strict']:.4f}", f"{point['queries_per_second']:,.0f}", f"{latency['p50']:.3f}", f"{latency['p95']:.3f}",
                     f"{latency['p99']:.3f}", "" if seconds is None else f"{seconds:.2f}", "" if size is None else f"{size:.1f}"]
            mark = ' class="pareto"' if point["pareto"] else ""
            rows.append(f"<tr{mark}>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    return ("<table><thead><tr>" + "".join(f"<th>{h}</th>" for h in head) + "</tr></thead><tbody>" + "\n".join(rows) + "</tbody></table>")


def section(report, figure):
    picture = io.StringIO()
    figure.savefig(picture, format="svg")
    svg = picture.getvalue()
    svg = svg[svg.index("<svg"):]  # an XML declaration has no place inside HTML
    base, queries = report["base"], report["queries"]
    facts = (f"{base['rows']:,} base rows and {queries['rows']:,} queries of {base['cols']} {base['dtype']}, {report['metric']}, k = {report['k']}; "
             f"{report['threads']} thread(s), FAISS {report['faiss']}, Tessera {report['version']} on {report['isa']}; measured in {report['seconds']['total']:.0f} s.")
    return (f"<h2>{html.escape(pathlib.Path(base['path']).name)}</h2>\n<p>{html.escape(facts)}</p>\n{svg}\n{table(report)}\n"
            '<p class="note">Recall counts any k nearest rows as right, ties capped. Queries per second: all queries in one call. Latency: one query a call. '
            "Green rows are Pareto points: no other is as good in recall and speed and better in one. The build of the exact path is its preparation.</p>")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="path without suffix (default: the first report's)")
    parser.add_argument("--from", dest="left", type=float, help="left end of the recall axis (default: where the points begin)")
    args = parser.parse_args()
    out = args.out or args.reports[0].with_suffix("")
    plt.rcParams["svg.hashsalt"] = "tessera"  # equal reports give equal pages
    sections = []
    for number, path in enumerate(args.reports):
        try:
            report = json.loads(path.read_text())
        except (OSError, json.JSONDecodeError) as error:
            sys.exit(f"plot_sweep: {path}: {error}")
        if report.get("command") != "ann sweep":
            sys.exit(f"plot_sweep: {path}: no report of `tessera ann sweep`")
        figure = draw(report, args.left)
        name = out if number == 0 else out.with_name(f"{out.name}-{number + 1}")
        figure.savefig(f"{name}.png", dpi=150)
        figure.savefig(f"{name}.svg")
        sections.append(section(report, figure))
        plt.close(figure)
        print(f"{name}.png, {name}.svg")
    page = (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Recall against speed</title><style>{STYLE}</style></head>\n'
            f"<body><h1>Recall against speed</h1>\n{''.join(sections)}\n</body></html>\n")
    pathlib.Path(f"{out}.html").write_text(page)
    print(f"{out}.html")


if __name__ == "__main__":
    main()
