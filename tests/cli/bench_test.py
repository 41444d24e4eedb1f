# SPDX-License-Identifier: Apache-2.0
"""`tessera bench`: what it measures and reports. Not here: whether the figures are good.

    python3 tests/cli/bench_test.py build/release/tools/tessera [unittest arguments]
"""
import json
import pathlib
import sys

from cli_case import SEED, CliTest, np, run_tests


def cpu_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return line.split()
    return []


class Bench(CliTest):
    def bench(self, *args):
        return json.loads(self.run_tessera("bench", "--rounds", 2, "--json", *args).stdout)

    def test_every_combination_is_run_once(self):
        report = self.bench("--rows", "500,900", "--dims", "3,20", "-k", "1,5", "--query-rows", 40)
        shapes = [(run["base"]["rows"], run["base"]["cols"], run["k"]) for run in report["runs"]]
        self.assertEqual(sorted(shapes), sorted((n, d, k) for n in (500, 900) for d in (3, 20) for k in (1, 5)))
        self.assertEqual({run["queries"]["rows"] for run in report["runs"]}, {40})

    def test_figures_agree_with_each_other(self):
        report = self.bench("--rows", 20_000, "--dims", 32, "-k", 10, "--query-rows", 200, "--threads", 1)
        [run] = report["runs"]
        for stage in ["prepare", "search", "total"]:
            seconds = run["seconds"][stage]
            self.assertTrue(0 < seconds["min"] <= seconds["median"] <= seconds["max"], seconds)
        pairs = 200 * 20_000
        self.assertAlmostEqual(run["pairs_per_second"], pairs / run["seconds"]["search"]["median"], delta=1)
        self.assertAlmostEqual(run["flops"], 64 * run["pairs_per_second"], delta=100)
        self.assertAlmostEqual(run["fraction_of_peak"], run["flops"] / report["peak"]["fp32_flops"])
        self.assertGreaterEqual(run["survivors_per_row"], 10)
        self.assertEqual((report["threads"], report["rounds"]), (1, 2))

    def test_tiles_never_visited_are_no_work_done(self):
        [run] = self.bench("--rows", 20_000, "--dims", 3, "-k", 10, "--query-rows", 200, "--threads", 1)["runs"]
        self.assertGreater(run["pruned_fraction"], 0.5)
        self.assertAlmostEqual(run["flops"], 6 * (1 - run["pruned_fraction"]) * run["pairs_per_second"], delta=100)

    def test_the_peak_is_of_the_units_this_cpu_has(self):
        peak = self.bench("--rows", 100, "--dims", 3, "--query-rows", 1, "--threads", 1)["peak"]
        flags = cpu_flags()
        self.assertGreater(peak["fp32_flops"], 1e8)
        self.assertIn(peak["fp32_isa"], ["scalar", *(["avx2"] if "avx2" in flags else []), *(["avx512"] if "avx512f" in flags else [])])
        self.assertEqual(peak["int8_ops"] is not None, "avx512_vnni" in flags)
        self.assertEqual(peak["bf16_flops"] is not None, "avx512_bf16" in flags)
        if "avx2" in flags:
            self.assertNotEqual(peak["fp32_isa"], "scalar", "eight lanes are slower than one")

    def test_given_rows_are_searched(self):
        rng = np.random.default_rng(SEED)
        self.npy("base.npy", rng.normal(size=(300, 7)))
        self.npy("queries.npy", rng.normal(size=(20, 7)))
        both = self.bench("-b", "base.npy", "--queries", "queries.npy", "-k", "2,3", "-m", "cosine")
        self.assertEqual(both["metric"], "cosine")
        self.assertEqual([(run["base"]["path"], run["queries"]["rows"], run["k"]) for run in both["runs"]],
                         [("base.npy", 20, 2), ("base.npy", 20, 3)])
        [alone] = self.bench("-b", "base.npy", "--query-rows", 50)["runs"]
        self.assertEqual((alone["base"]["rows"], alone["queries"]["rows"]), (300, 50))

    def test_the_table_has_a_line_a_run(self):
        text = self.run_tessera("bench", "--rows", 200, "--dims", "3,20", "--rounds", 1, "--query-rows", 3).stdout
        self.assertIn("peak     fp32 ", text)
        self.assertEqual(sum("%" in line for line in text.splitlines()), 2)

    def test_bad_values_are_usage_errors(self):
        for args in [("--rows", "0"), ("--dims", "3,"), ("-k", "ten"), ("--rounds", "-1"), ("--queries", "q.npy"), ("--metric", "l7")]:
            with self.subTest(args):
                self.assertIn(args[0], self.run_tessera("bench", *args, expect=2).stderr)


if __name__ == "__main__":
    sys.exit(run_tests())
