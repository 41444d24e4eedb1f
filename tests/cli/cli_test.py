# SPDX-License-Identifier: Apache-2.0
"""Runs the `tessera` command as a user does: exit codes, messages, outputs.

    TESSERA_BIN=build/release/tools/tessera python3 tests/cli/cli_test.py [unittest arguments]
    python3 tests/cli/cli_test.py build/release/tools/tessera [unittest arguments]
"""
import gzip
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

from cli_case import SEED, TESSERA, CliTest, np, run_tests

CASES = pathlib.Path(__file__).resolve().parents[1] / "data" / "cases" / "topk.json"
COMMANDS = ["topk", "graph", "dump", "recall", "ann", "info", "convert", "bench"]


def usable_isas():
    done = subprocess.run([TESSERA, "info", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["isas_usable"]


def nearest(queries, base, k, metric="sqeuclidean"):
    """The double-precision answer, ties broken by the smaller id. Returns (ids, keys)."""
    ids, keys = [], []
    for query in queries.astype(np.float64):
        differences = base.astype(np.float64) - query
        key = {"sqeuclidean": lambda: (differences**2).sum(axis=1), "l1": lambda: np.abs(differences).sum(axis=1),
               "linf": lambda: np.abs(differences).max(axis=1),
               "inner_product": lambda: -(base.astype(np.float64) @ query)}[metric]()
        order = np.argsort(key, kind="stable")[:k]
        ids.append(order)
        keys.append(key[order])
    return np.array(ids), np.array(keys)


class Help(CliTest):
    def test_help_names_every_command(self):
        text = self.run_tessera("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, text)
        self.assertIn("Examples:", text)

    def test_every_command_explains_itself_with_three_examples(self):
        for command in COMMANDS:
            with self.subTest(command):
                text = self.run_tessera(command, "--help").stdout
                self.assertGreaterEqual(text.split("Examples:")[1].count(f"tessera {command}"), 3)

    def test_topk_help_groups_its_flags(self):
        text = self.run_tessera("topk", "--help").stdout
        for group in ["Input", "Search", "Output", "Speed only — never the answer"]:
            self.assertIn(f"\n{group}:\n", text)
        for flag in ["-b,--base", "--queries", "-k", "-m,--metric", "-o,--out", "--self", "--nan", "--distances",
                     "--ids", "--base-rows", "--query-rows", "--in-format", "--json", "-q,--quiet", "--threads",
                     "--memory", "--backend", "--screen", "--tile", "--schedule", "--force", "--progress"]:
            self.assertIn(flag, text)

    def test_help_fits_a_terminal_of_100_columns(self):
        for command in [*COMMANDS, "ann build", "ann search", "ann sweep"]:
            for line in self.run_tessera(*command.split(), "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_version_is_one_line(self):
        self.assertRegex(self.run_tessera("--version").stdout, r"\Atessera \d+\.\d+\.\d+\n\Z")


class Usage(CliTest):
    def usage_error(self, *args, says=()):
        error = self.run_tessera(*args, expect=2).stderr
        for text in ["--help", *says]:
            self.assertIn(text, error)

    def test_no_command_is_a_usage_error(self):
        self.usage_error()

    def test_an_unknown_command_is_a_usage_error_with_a_suggestion(self):
        self.usage_error("tpok", says=["'tpok'", "did you mean topk?"])

    def test_an_unknown_flag_is_a_usage_error_with_a_suggestion(self):
        self.usage_error("topk", "-b", "b.npy", "-k", 1, "--metrik", "l2", says=["--metrik", "did you mean --metric?",
                                                                               "tessera topk --help"])

    def test_a_missing_required_flag_is_a_usage_error(self):
        self.usage_error("topk", "-k", 1, says=["--base"])
        self.usage_error("topk", "-b", "b.npy", says=["-k"])

    def test_bad_values_are_usage_errors_that_name_flag_and_value(self):
        self.random_files()
        for flag, value in [("-k", "0"), ("-k", "-3"), ("-k", "1e3"), ("-k", "ten"), ("--metric", "l7"),
                            ("--self", "maybe"), ("--nan", "keep"), ("--distances", "float16"), ("--ids", "int16"),
                            ("--base-rows", "5"),
                            ("--base-rows", "9:3"), ("--query-rows", "a:b"), ("--threads", "0"), ("--threads", "many"),
                            ("--memory", "8Q"), ("--memory", "-1G"), ("--memory", "0"), ("--backend", "tpu"),
                            ("--screen", "fp7"), ("--tile", "0"), ("--schedule", "later"), ("--progress", "loud")]:
            with self.subTest(flag=flag, value=value):
                k = [] if flag == "-k" else ["-k", 3]
                self.usage_error("topk", "-b", "base.npy", *k, flag, value, says=[flag, value])

    def test_an_empty_value_is_no_missing_option(self):
        self.random_files()
        for flag in ["--queries", "--allow", "--deny", "-o"]:
            with self.subTest(flag=flag):
                self.usage_error("topk", "-b", "base.npy", "-k", 3, flag, "", says=[flag.lstrip("-"), "an empty value"])

    def test_k_in_decimal_only(self):
        self.random_files()
        ids, _, _ = self.topk("-b", "base.npy", "-k", "010")
        self.assertEqual(ids.shape[1], 10)

    def test_self_needs_the_base_against_itself(self):
        self.random_files()
        self.usage_error("topk", "-b", "base.npy", "--queries", "queries.npy", "-k", 3, "--self", "first",
                         says=["--self"])

    def test_json_and_a_table_both_want_stdout(self):
        self.random_files()
        self.usage_error("topk", "-b", "base.npy", "-k", 3, "-o", "-", "--json", says=["--json"])

    def test_a_row_range_past_the_file_is_refused(self):
        self.random_files(nb=50)
        error = self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--base-rows", "0:51", expect=2).stderr
        self.assertIn("50", error)


class Unsupported(CliTest):
    def test_known_but_absent_screens_exit_1(self):
        self.random_files()
        for value, why in [("bf16", "tensor cores"), ("blas", "unsupported in this build")]:
            with self.subTest(value):
                error = self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--screen", value, "--backend", "cpu", expect=1).stderr
                self.assertIn(why, error)


class CudaBackend(CliTest):
    """On a machine without a GPU, or in a build without CUDA. With one, bench/gpu_correct.py takes over."""

    # No device is visible so, whatever the machine has.
    HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}

    def refused(self, *args):
        """One line that says what is missing and what to do instead."""
        error = self.run_tessera(*args, "--backend", "cuda", expect=1, env=self.HIDDEN).stderr
        self.assertEqual(error.count("\n"), 1, error)
        cuda = json.loads(self.run_tessera("info", "--json", env=self.HIDDEN).stdout)["cuda"]
        self.assertIn(cuda["unavailable"], error)
        self.assertIn("the cpu backend gives the same answer", error)

    def test_every_command_that_searches_says_why_there_is_none(self):
        self.random_files()
        self.refused("topk", "-b", "base.npy", "-k", 3)
        self.refused("graph", "-b", "base.npy", "-k", 3, "-o", "graph.npz")
        self.refused("dump", "-b", "base.npy", "-o", "d.npy")
        self.refused("bench", "--rows", 100, "--dims", 3, "--query-rows", 10)
        self.assertEqual([p.name for p in self.dir.glob("*d.npy*")] + [p.name for p in self.dir.glob("*graph*")], [])

    def test_auto_takes_the_cpu(self):
        self.random_files()
        report = json.loads(self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--backend", "auto", "--json", env=self.HIDDEN).stdout)
        self.assertEqual(report["backend"], "cpu")

    def test_other_names_are_a_usage_error(self):
        self.random_files()
        error = self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--backend", "rocm", expect=2).stderr
        self.assertIn("--backend rocm: wanted one of auto, cpu, cuda", error)

    def test_info_says_what_there_is(self):
        cuda = json.loads(self.run_tessera("info", "--json", env=self.HIDDEN).stdout)["cuda"]
        self.assertEqual(sorted(cuda), ["driver", "gpus", "toolkit", "unavailable"])
        self.assertEqual(cuda["gpus"], [])
        self.assertTrue(cuda["unavailable"])
        built = json.loads(self.run_tessera("info", "--json").stdout)["features"]["CUDA"].startswith("on")
        self.assertEqual(cuda["toolkit"] is not None, built)
        text = self.run_tessera("info", env=self.HIDDEN).stdout
        self.assertIn(f"gpu      none: {cuda['unavailable']}", text)


class BrokenInputs(CliTest):
    def test_a_missing_file_exits_1_and_is_named(self):
        for args in [("topk", "-b", "absent.npy", "-k", 3), ("info", "absent.npy")]:
            self.assertIn("absent.npy", self.run_tessera(*args, expect=1).stderr)

    def test_a_folder_given_as_a_file_exits_1(self):
        (self.dir / "folder.npy").mkdir()
        self.assertIn("folder.npy", self.run_tessera("topk", "-b", "folder.npy", "-k", 3, expect=1).stderr)

    def test_an_unreadable_file_exits_1(self):
        if os.geteuid() == 0:
            self.skipTest("root may read any file")
        self.random_files()
        (self.dir / "base.npy").chmod(0)
        self.assertIn("base.npy", self.run_tessera("topk", "-b", "base.npy", "-k", 3, expect=1).stderr)

    def test_a_truncated_npy_exits_3_with_expected_and_actual_size(self):
        self.random_files(nb=100, d=24)
        whole = (self.dir / "base.npy").read_bytes()
        (self.dir / "cut.npy").write_bytes(whole[:-1000])
        for args in [("topk", "-b", "cut.npy", "-k", 3), ("info", "cut.npy")]:
            error = self.run_tessera(*args, expect=3).stderr
            self.assertIn("cut.npy", error)
            self.assertTrue(str(len(whole)) in error or str(100 * 24 * 4) in error, error)

    def test_a_truncated_fbin_exits_3_and_a_whole_prefix_can_be_read(self):
        base, _ = self.random_files(nb=100, d=24)
        self.fbin("base.fbin", base)
        (self.dir / "cut.fbin").write_bytes((self.dir / "base.fbin").read_bytes()[:-50])
        self.run_tessera("topk", "-b", "cut.fbin", "-k", 3, expect=3)
        ids, _, _ = self.topk("-b", "cut.fbin", "--base-rows", "0:99", "-k", 3)
        self.assertEqual(ids.shape, (99, 3))

    def test_an_empty_file_exits_3(self):
        (self.dir / "empty.npy").write_bytes(b"")
        self.run_tessera("topk", "-b", "empty.npy", "-k", 3, expect=3)

    def test_rows_without_columns_exit_3(self):
        self.npy("none.npy", np.zeros((5, 0)))
        self.assertIn("none.npy", self.run_tessera("topk", "-b", "none.npy", "-k", 3, expect=3).stderr)

    def test_no_queries_and_no_base_rows_are_valid(self):
        self.npy("none.npy", np.zeros((0, 4)))
        self.npy("some.npy", np.ones((3, 4)))
        ids, distances, _ = self.topk("-b", "some.npy", "--queries", "none.npy", "-k", 2)
        self.assertEqual((ids.shape, distances.shape), ((0, 2), (0, 2)))
        self.assertEqual(self.topk("-b", "none.npy", "--queries", "some.npy", "-k", 2)[0].tolist(), [[-1, -1]] * 3)

    def test_files_of_different_dimensions_exit_3(self):
        self.npy("a.npy", np.zeros((5, 4)))
        self.npy("b.npy", np.zeros((5, 6)))
        error = self.run_tessera("topk", "-b", "a.npy", "--queries", "b.npy", "-k", 2, expect=3).stderr
        for text in ["a.npy", "b.npy", "4", "6"]:
            self.assertIn(text, error)

    def test_a_nan_row_exits_3_unless_skipped(self):
        self.npy("nan.npy", [[0, 1], [np.nan, 2], [3, 4], [5, 6]])
        error = self.run_tessera("topk", "-b", "nan.npy", "-k", 2, expect=3).stderr
        self.assertRegex(error, r"nan\.npy.* row 1\b")
        ids, distances, _ = self.topk("-b", "nan.npy", "-k", 2, "--nan", "skip")
        self.assertEqual(ids[1].tolist(), [-1, -1])
        self.assertTrue(np.isinf(distances[1]).all())
        self.assertNotIn(1, ids)
        report = json.loads(self.run_tessera("topk", "-b", "nan.npy", "-k", 2, "--nan", "skip", "--json").stdout)
        self.assertTrue(any("NaN" in warning for warning in report["warnings"]), report["warnings"])


class Filters(CliTest):
    def answer(self, queries, base, kept, k):
        ids, _ = nearest(queries, base[kept], k)
        return np.asarray(kept)[ids]

    def test_ids_and_masks_say_the_same(self):
        base, queries = self.random_files()
        args = ["-b", "base.npy", "--queries", "queries.npy", "-k", 5]
        kept = np.arange(3, 500, 7)
        others = np.setdiff1d(np.arange(500), kept)
        mask = np.zeros(500, dtype=bool)
        mask[kept] = True
        np.save(self.dir / "mask.npy", mask)
        np.save(self.dir / "not.npy", ~mask)
        np.save(self.dir / "kept.npy", kept[::-1].copy())
        np.save(self.dir / "others.npy", others.astype(np.uint32))
        np.savetxt(self.dir / "kept.csv", kept, fmt="%d")
        want = self.answer(queries, base, kept, 5)
        for flag, name in [("--allow", "mask.npy"), ("--deny", "not.npy"), ("--allow", "kept.npy"), ("--deny", "others.npy"), ("--allow", "kept.csv")]:
            with self.subTest(flag=flag, name=name):
                np.testing.assert_array_equal(self.topk(*args, flag, name)[0], want)
        report = json.loads(self.run_tessera("topk", *args, "--allow", "mask.npy", "--json").stdout)
        self.assertEqual(report["denied_base"], len(others))

    def test_of_a_slice_they_are_still_the_files_rows(self):
        base, queries = self.random_files()
        kept = np.arange(0, 500, 2)
        np.save(self.dir / "kept.npy", kept)
        want = self.answer(queries, base, kept[(kept >= 100) & (kept < 300)], 5)
        ids = self.topk("-b", "base.npy", "--base-rows", "100:300", "--queries", "queries.npy", "-k", 5, "--allow", "kept.npy")[0]
        np.testing.assert_array_equal(ids, want)

    def test_what_is_no_row_or_no_mask_exits_3(self):
        self.random_files()
        for array, says in [(np.array([3, 500]), "500"), (np.array([3, -1]), "-1"), (np.array([0.5]), "0.5"),
                            (np.ones(499, dtype=bool), "499"), (np.full(500, 2, dtype=np.uint8), "0 or 1")]:
            with self.subTest(says=says):
                np.save(self.dir / "filter.npy", array)
                error = self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--deny", "filter.npy", expect=3).stderr
                self.assertIn(says, error)
                self.assertIn("filter.npy", error)

    def test_both_flags_at_once_are_refused(self):
        self.random_files()
        np.save(self.dir / "filter.npy", np.array([1]))
        self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--allow", "filter.npy", "--deny", "filter.npy", expect=2)

    def test_too_few_rows_left_are_padded_with_a_warning(self):
        self.random_files()
        np.save(self.dir / "two.npy", np.array([4, 9]))
        ids, distances, done = self.topk("-b", "base.npy", "--queries", "queries.npy", "-k", 3, "--allow", "two.npy")
        self.assertEqual(set(ids[0]), {4, 9, -1})
        self.assertTrue(np.isinf(distances[:, 2]).all())


class Outputs(CliTest):
    def test_an_existing_output_is_kept_without_force(self):
        self.random_files()
        out = self.dir / "nn.npz"
        out.write_bytes(b"precious")
        error = self.run_tessera("topk", "-b", "base.npy", "-k", 3, "-o", "nn.npz", expect=2).stderr
        self.assertIn("nn.npz", error)
        self.assertEqual(out.read_bytes(), b"precious")
        self.run_tessera("topk", "-b", "base.npy", "-k", 3, "-o", "nn.npz", "--force")
        self.assertEqual(np.load(out)["ids"].shape, (500, 3))

    def test_an_output_folder_that_is_absent_exits_1_before_the_search(self):
        self.random_files()
        error = self.run_tessera("topk", "-b", "base.npy", "-k", 3, "-o", "no/such/nn.npz", expect=1).stderr
        self.assertIn("no/such", error)

    def test_an_input_is_never_overwritten(self):
        self.random_files()
        before = (self.dir / "base.npy").read_bytes()
        self.run_tessera("topk", "-b", "base.npy", "-k", 3, "-o", "./base.npy", "--force", expect=2)
        self.assertEqual((self.dir / "base.npy").read_bytes(), before)

    def test_only_the_output_appears_in_the_folder(self):
        self.random_files()
        before = set(os.listdir(self.dir))
        self.run_tessera("topk", "-b", "base.npy", "-k", 3, "-o", "nn.npz")
        self.assertEqual(set(os.listdir(self.dir)) - before, {"nn.npz"})

    def test_npz_holds_the_types_asked_for(self):
        base, queries = self.random_files()
        args = ["-b", "base.npy", "--queries", "queries.npy", "-k", 7, "-m", "sqeuclidean"]
        want_ids, want_keys = nearest(queries, base, 7)
        for ids_type in ["int64", "int32"]:
            for distance_type in ["float32", "float64"]:
                ids, distances, _ = self.topk(*args, "--ids", ids_type, "--distances", distance_type)
                self.assertEqual((ids.dtype.name, distances.dtype.name), (ids_type, distance_type))
                np.testing.assert_array_equal(ids, want_ids)
                np.testing.assert_allclose(distances, want_keys, rtol=1e-6 if distance_type == "float32" else 1e-13)

    def test_every_writable_format_holds_the_same_answer(self):
        self.random_files(nb=30, nq=4)
        args = ["-b", "base.npy", "--queries", "queries.npy", "-k", 3]
        ids, distances, _ = self.topk(*args)
        for name in ["nn.npy", "nn.ibin", "nn.csv"]:
            self.run_tessera("topk", *args, "-o", name)
        np.testing.assert_array_equal(np.load(self.dir / "nn.npy"), ids)
        raw = (self.dir / "nn.ibin").read_bytes()
        self.assertEqual(struct.unpack("<II", raw[:8]), (4, 3))
        np.testing.assert_array_equal(np.frombuffer(raw, "<i4", 12, 8).reshape(4, 3), ids)
        np.testing.assert_array_equal(np.frombuffer(raw, "<f4", 12, 8 + 48).reshape(4, 3), distances)
        self.assertEqual(len(raw), 8 + 48 + 48)
        self.assertIn(str(ids[0, 0]), (self.dir / "nn.csv").read_text())

    def test_a_suffix_nobody_writes_is_refused_before_the_search(self):
        self.random_files()
        done = subprocess.run([TESSERA, "topk", "-b", "base.npy", "-k", "3", "-o", "nn.xyzzy"], cwd=self.dir,
                              capture_output=True, text=True)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        self.assertIn("nn.xyzzy", done.stderr)

    def test_a_dash_prints_every_neighbour_on_stdout_and_the_summary_on_stderr(self):
        self.random_files(nb=30, nq=4)
        args = ["-b", "base.npy", "--queries", "queries.npy", "-k", 3]
        ids, distances, _ = self.topk(*args)
        done = self.run_tessera("topk", *args, "-o", "-")
        header, *lines = done.stdout.splitlines()
        self.assertEqual(header.split("\t"), ["query", "rank", "id", "distance"])
        table = [line.split("\t") for line in lines]
        self.assertEqual([(int(q), int(r)) for q, r, _, _ in table], [(q, r + 1) for q in range(4) for r in range(3)])
        self.assertEqual([int(i) for _, _, i, _ in table], ids.ravel().tolist())
        np.testing.assert_array_equal(np.array([d for _, _, _, d in table], np.float32), distances.ravel())
        self.assertIn("pairs/s", done.stderr)

    def test_without_an_output_the_first_rows_are_shown(self):
        self.random_files()
        done = self.run_tessera("topk", "-b", "base.npy", "-k", 3)
        self.assertRegex(done.stdout, r"query +nearest")
        self.assertIn("pairs/s", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_quiet_prints_nothing_but_results(self):
        self.random_files(nb=3)
        done = self.run_tessera("topk", "-b", "base.npy", "-k", 5, "-o", "nn.npz", "-q")
        self.assertEqual((done.stdout, done.stderr), ("", ""))


class JsonReport(CliTest):
    def test_topk_prints_one_object_with_the_documented_keys(self):
        self.random_files()
        done = self.run_tessera("topk", "-b", "base.npy", "--queries", "queries.npy", "-k", 3, "-m", "euclidean",
                                "--json")
        report = json.loads(done.stdout)
        keys = ["command", "version", "metric", "k", "backend", "isa", "threads", "queries", "base", "plan", "seconds",
                "pairs_per_second", "survivors_per_row", "pruned_fraction", "peak_rss_bytes", "warnings"]
        self.assertEqual([key for key in keys if key not in report], [])
        self.assertEqual([report[key] for key in ["command", "metric", "k", "backend"]], ["topk", "l2", 3, "cpu"])
        self.assertIn(report["isa"], usable_isas())
        self.assertGreaterEqual(report["threads"], 1)
        self.assertEqual(report["base"],
                         {"path": "base.npy", "rows": 500, "cols": 24, "dtype": "float32", "format": "npy"})
        self.assertEqual(report["queries"]["rows"], 40)
        self.assertIsInstance(report["plan"], dict)
        self.assertEqual(set(report["seconds"]), {"read", "prepare", "pack", "search", "write", "total"})
        self.assertGreater(report["seconds"]["pack"], 0)
        self.assertGreaterEqual(report["seconds"]["prepare"], report["seconds"]["pack"])
        self.assertGreaterEqual(report["seconds"]["total"], report["seconds"]["search"])
        self.assertGreater(report["peak_rss_bytes"], 1 << 20)
        self.assertEqual(report["warnings"], [])

    def test_the_peak_is_the_commands_own(self):
        self.random_files()
        callers = bytearray(os.urandom(1)) * (400 << 20)  # what a process had before exec counts in ru_maxrss
        report = json.loads(self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--json").stdout)
        self.assertLess(report["peak_rss_bytes"], len(callers) // 2)

    def test_threads_are_reported(self):
        self.random_files()
        report = json.loads(self.run_tessera("topk", "-b", "base.npy", "-k", 3, "--threads", 2, "--json").stdout)
        self.assertEqual(report["threads"], 2)

    def test_zero_rows_under_cosine_are_a_warning(self):
        self.npy("zero.npy", [[1, 0], [0, 0], [1, 1]])
        report = json.loads(self.run_tessera("topk", "-b", "zero.npy", "-k", 1, "-m", "cosine", "--json").stdout)
        self.assertTrue(any("zero" in warning for warning in report["warnings"]), report["warnings"])

    def test_padding_is_a_warning(self):
        self.npy("few.npy", [[1], [2], [3]])
        for k, self_mode, padded in [(2, "exclude", False), (3, "exclude", True), (3, "natural", False),
                                     (4, "first", True)]:
            done = self.run_tessera("topk", "-b", "few.npy", "-k", k, "--self", self_mode, "--json")
            warnings = json.loads(done.stdout)["warnings"]
            self.assertEqual(any("padding" in warning for warning in warnings), padded, (k, self_mode))
            self.assertEqual("padding" in done.stderr, padded)


class SelfSearch(CliTest):
    base = [[1, 5], [1, 5], [7, 3], [9, 6], [10, 1]]

    def test_exclude_is_the_default_and_leaves_only_the_row_itself_out(self):
        self.npy("x.npy", self.base)
        default, _, default_bytes = self.topk("-b", "x.npy", "-k", 2)
        _, _, exclude_bytes = self.topk("-b", "x.npy", "-k", 2, "--self", "exclude")
        self.assertEqual(default.tolist(), [[1, 2], [0, 2], [3, 4], [2, 4], [2, 3]])
        self.assertEqual(default_bytes, exclude_bytes)

    def test_first_lists_the_row_before_its_duplicates(self):
        self.npy("x.npy", self.base)
        self.assertEqual(self.topk("-b", "x.npy", "-k", 2, "--self", "first")[0].tolist(),
                         [[0, 1], [1, 0], [2, 3], [3, 2], [4, 2]])

    def test_natural_and_the_same_file_twice_order_by_distance_and_id(self):
        self.npy("x.npy", self.base)
        want = [[0, 1], [0, 1], [2, 3], [3, 2], [4, 2]]
        self.assertEqual(self.topk("-b", "x.npy", "-k", 2, "--self", "natural")[0].tolist(), want)
        self.assertEqual(self.topk("-b", "x.npy", "--queries", "x.npy", "-k", 2)[0].tolist(), want)

    def test_k_past_the_other_rows_pads(self):
        self.npy("x.npy", self.base)
        ids, distances, _ = self.topk("-b", "x.npy", "-k", 6)
        self.assertEqual(ids[:, 4:].tolist(), [[-1, -1]] * 5)
        self.assertTrue(np.isposinf(distances[:, 4:]).all())
        self.assertTrue(np.isneginf(self.topk("-b", "x.npy", "-k", 6, "-m", "ip")[1][:, 4:]).all())

    def test_slices_keep_the_row_numbers_of_the_file(self):
        base, _ = self.random_files(nb=100)
        ids, distances, _ = self.topk("-b", "base.npy", "--base-rows", "20:80", "-k", 4)
        self.npy("part.npy", base[20:80])
        part_ids, part_distances, _ = self.topk("-b", "part.npy", "-k", 4)
        np.testing.assert_array_equal(ids, part_ids + 20)
        np.testing.assert_array_equal(distances, part_distances)

    def test_query_rows_ask_for_some_rows_of_the_whole_base(self):
        self.random_files(nb=100)
        ids, distances, _ = self.topk("-b", "base.npy", "-k", 4)
        some, some_distances, _ = self.topk("-b", "base.npy", "-k", 4, "--query-rows", "30:")
        np.testing.assert_array_equal(some, ids[30:])
        np.testing.assert_array_equal(some_distances, distances[30:])

    def test_base_and_query_slices_of_two_files(self):
        base, queries = self.random_files(nb=100, nq=20)
        ids, _, _ = self.topk("-b", "base.npy", "--queries", "queries.npy", "--base-rows", ":60", "--query-rows", "5:9",
                              "-k", 4)
        np.testing.assert_array_equal(ids, nearest(queries[5:9], base[:60], 4)[0])
        table = self.run_tessera("topk", "-b", "base.npy", "--queries", "queries.npy", "--query-rows", "5:9", "-k", 1,
                                 "-o", "-").stdout
        self.assertEqual([line.split("\t")[0] for line in table.splitlines()[1:]], ["5", "6", "7", "8"])


class SameBytes(CliTest):
    """Whatever changes only the speed leaves every byte of the output alone."""

    metrics = ["l2", "sqeuclidean", "inner_product", "cosine", "l1", "linf"]

    def setUp(self):
        super().setUp()
        self.base, self.queries = self.random_files(nb=1500, nq=70, d=37)
        self.fixed = ["-b", "base.npy", "--queries", "queries.npy", "-k", 11]

    def assert_same(self, variants, env=None):
        for metric in self.metrics:
            want = self.topk(*self.fixed, "-m", metric, "--threads", 1)[2]
            for variant in variants:
                with self.subTest(metric=metric, variant=variant):
                    self.assertEqual(self.topk(*self.fixed, "-m", metric, *variant, env=env)[2], want)

    def test_threads(self):
        self.assert_same([["--threads", 2], ["--threads", 3], []])

    def test_tiles(self):
        self.assert_same([["--tile", 1], ["--tile", 17], ["--tile", 512], ["--tile", 1000000]])

    def test_schedules(self):
        self.assert_same([["--schedule", name, "--threads", 3] for name in ["by-query", "by-base"]])

    def test_screens(self):
        self.assert_same([["--screen", name] for name in ["double", "fp32"]])
        dot = ["l2", "sqeuclidean", "inner_product", "cosine"]
        direct = ["l2", "sqeuclidean", "l1", "linf"]
        for screen, metrics in [("fp32-dot", dot), ("fp32-direct", direct)]:
            for metric in self.metrics:
                with self.subTest(screen=screen, metric=metric):
                    args = [*self.fixed, "-m", metric]
                    if metric in metrics:
                        self.assertEqual(self.topk(*args, "--screen", screen)[2], self.topk(*args)[2])
                    else:  # a metric without this form says so, or has it
                        done = subprocess.run([TESSERA, "topk", *map(str, args), "--screen", screen, "-q"],
                                              cwd=self.dir, capture_output=True, text=True, timeout=300)
                        self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_memory_budget(self):
        self.assert_same([["--memory", "64M"], ["--memory", "1.5GiB"]])

    def isa(self, name):
        if name not in usable_isas():
            self.skipTest(f"{name}: not built, or not offered by this CPU")
        env = {"TESSERA_FORCE_ISA": name}
        report = json.loads(self.run_tessera("topk", *self.fixed, "--json", env=env).stdout)
        self.assertEqual(report["isa"], name, "the forced instruction set is the one that runs")
        self.assert_same([[], ["--threads", 2]], env=env)

    def test_isa_scalar(self):
        self.isa("scalar")

    def test_isa_avx2(self):
        self.isa("avx2")

    def test_isa_avx512(self):
        self.isa("avx512")

    def test_input_formats(self):
        self.fbin("base.fbin", self.base)
        self.fbin("queries.bin", self.queries)
        vectors = np.concatenate([np.full((1500, 1), 37, "<i4"), self.base.view("<i4")], axis=1)
        (self.dir / "base.fvecs").write_bytes(vectors.tobytes())
        np.save(self.dir / "fortran.npy", np.asfortranarray(self.base))
        np.save(self.dir / "big_endian.npy", self.base.astype(">f4"))
        np.save(self.dir / "double.npy", self.base.astype("<f8"))
        want = self.topk(*self.fixed)[2]
        for name in ["base.fbin", "base.fvecs", "fortran.npy", "big_endian.npy", "double.npy"]:
            with self.subTest(name):
                self.assertEqual(self.topk("-b", name, "--queries", "queries.npy", "-k", 11)[2], want)
        args = ["-b", "base.fbin", "--queries", "queries.bin", "--in-format", "fbin", "-k", 11]
        self.assertEqual(self.topk(*args)[2], want)


class OptionalInputs(CliTest):
    """Formats that need a library the build may lack: then the command says so."""

    def check(self, feature, name):
        base, _ = self.random_files(nb=60)
        np.savez(self.dir / "box.npz", other=np.zeros((2, 2)), vectors=base)
        bytes_file = np.clip(base * 40 + 128, 0, 255).astype(np.uint8)
        idx = b"\0\0\x08\x03" + struct.pack(">III", 60, 4, 6) + bytes_file.tobytes()
        (self.dir / "images-idx3-ubyte.gz").write_bytes(gzip.compress(idx))
        build = json.loads(self.run_tessera("info", "--json").stdout)
        if not build["features"].get(feature, "off").startswith("on"):
            self.assertIn("this build", self.run_tessera("topk", "-b", name, "-k", 5, expect=1).stderr)
            return
        plain = base if feature == "ZIP" else bytes_file
        self.npy("plain.npy", plain, plain.dtype)
        self.assertEqual(self.topk("-b", name, "-k", 5)[2], self.topk("-b", "plain.npy", "-k", 5)[2])

    def test_an_array_of_an_npz(self):
        self.check("ZIP", "box.npz:vectors")

    def test_a_compressed_idx_file(self):
        self.check("ZLIB", "images-idx3-ubyte.gz")

    def test_neighbour_lists_as_hdf5(self):
        self.random_files()
        args = ["-b", "base.npy", "--queries", "queries.npy", "-k", 4]
        build = json.loads(self.run_tessera("info", "--json").stdout)
        if not build["features"].get("HDF5", "off").startswith("on"):
            self.assertIn("no libhdf5", self.run_tessera("topk", *args, "-o", "nn.h5", expect=1).stderr)
            return
        ids, distances, _ = self.topk(*args)
        self.run_tessera("topk", *args, "-o", "nn.h5")
        self.run_tessera("convert", "nn.h5:neighbors", "ids.npy")
        self.run_tessera("convert", "nn.h5:distances", "distances.npy")
        np.testing.assert_array_equal(np.load(self.dir / "ids.npy"), ids)
        np.testing.assert_array_equal(np.load(self.dir / "distances.npy"), distances)

    def test_arrays_of_one_container_are_two_inputs(self):
        base, queries = self.random_files()
        entries = {"a": {"dtype": "F32", "shape": base.shape, "data_offsets": [0, base.nbytes]},
                   "b": {"dtype": "F32", "shape": queries.shape,
                         "data_offsets": [base.nbytes, base.nbytes + queries.nbytes]}}
        head = json.dumps(entries).encode()
        (self.dir / "box.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + base.tobytes() + queries.tobytes())
        wanted = self.topk("-b", "base.npy", "--queries", "queries.npy", "-k", 3)[2]
        self.assertEqual(self.topk("-b", "box.safetensors:a", "--queries", "box.safetensors:b", "-k", 3)[2], wanted)
        for other, warns in [("b", False), ("a", True)]:
            report = json.loads(self.run_tessera("topk", "-b", "box.safetensors:a", "--queries",
                                                 f"box.safetensors:{other}", "-k", 3, "--json").stdout)
            self.assertEqual(any("one file" in warning for warning in report["warnings"]), warns)


class Interrupted(CliTest):
    def interrupt(self, number):
        rng = np.random.default_rng(SEED)
        self.npy("slow.npy", rng.normal(size=(60_000, 128)))  # minutes in double on one thread
        before = set(os.listdir(self.dir))
        process = subprocess.Popen(
            [TESSERA, "topk", "-b", "slow.npy", "-k", "10", "--screen", "double", "--threads", "1", "-o", "nn.npz"],
            cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # a background job's children ignore SIGINT
        time.sleep(1.5)
        self.assertIsNone(process.poll(), "the search ended before it could be interrupted")
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertEqual(stdout, "")
        self.assertEqual(stderr, "tessera: interrupted\n")
        self.assertEqual(set(os.listdir(self.dir)), before)

    def test_sigint_exits_130_with_one_line_and_leaves_no_file(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm_does_the_same(self):
        self.interrupt(signal.SIGTERM)


class Info(CliTest):
    def info(self, *args):
        return json.loads(self.run_tessera("info", *args, "--json").stdout)

    def test_the_build_is_described(self):
        build = self.info()
        for key in ["command", "version", "features", "isa", "isas_built", "isas_usable", "threads", "cuda"]:
            self.assertIn(key, build)
        self.assertIn(build["isa"], build["isas_usable"])
        self.assertLessEqual(set(build["isas_usable"]), set(build["isas_built"]))
        self.assertIn("scalar", build["isas_usable"])
        self.assertIn(build["version"], self.run_tessera("info").stdout)

    def test_rows_are_counted(self):
        self.npy("x.npy", [[3, 4], [0, 0], [np.nan, 1], [3, 4], [-0.0, 0], [6, 8.5], [np.inf, 0]])
        info = self.info("x.npy")
        self.assertEqual((info["rows"], info["cols"], info["dtype"], info["format"]), (7, 2, "float32", "npy"))
        self.assertEqual(info["bytes"], (self.dir / "x.npy").stat().st_size)
        self.assertEqual((info["non_finite_rows"], info["zero_rows"], info["duplicate_rows"]), (2, 2, 2))
        self.assertEqual((info["norm_min"], info["sampled"]), (0, False))
        self.assertAlmostEqual(info["norm_max"], np.hypot(6, 8.5))
        self.assertIn("duplicate", self.run_tessera("info", "x.npy").stdout)

    def test_every_dtype_is_decoded(self):
        values = [[0, 1, 5], [7, 100, 3]]
        for dtype in ["f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f4", ">i2"]:
            with self.subTest(dtype):
                info = self.info(self.npy("x.npy", values, np.dtype(dtype)))
                self.assertEqual((info["value_min"], info["value_max"]), (0, 100))
                self.assertEqual(info["dtype"], np.dtype(dtype).name)

    def test_half_precision_is_decoded_exactly(self):
        values = np.array([[6e-8, -65504, 0.333], [0, 1e-5, 2]], np.float16)
        info = self.info(self.npy("x.npy", values, np.float16))
        self.assertEqual(info["value_min"], -65504)
        self.assertEqual(info["norm_min"], float(np.sqrt((values[1].astype(float) ** 2).sum())))

    def test_hints_name_unit_vectors_and_narrow_integers(self):
        rng = np.random.default_rng(SEED)
        unit = rng.normal(size=(50, 8))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        self.assertIn("unit vectors", " ".join(self.info(self.npy("unit.npy", unit))["hints"]))
        self.assertIn("uint8", " ".join(self.info(self.npy("u8.npy", rng.integers(0, 256, (50, 8))))["hints"]))
        self.assertIn("int8", " ".join(self.info(self.npy("i8.npy", rng.integers(-128, 128, (50, 8))))["hints"]))
        self.assertEqual(self.info(self.npy("plain.npy", rng.normal(size=(50, 8)) * 3))["hints"], [])

    def test_a_sample_says_so(self):
        self.npy("x.npy", np.arange(200.0).reshape(100, 2))
        info = self.info("x.npy", "--sample", 10)
        self.assertEqual((info["sampled"], info["inspected_rows"], info["rows"]), (True, 10, 100))
        self.assertIn("sampled", self.run_tessera("info", "x.npy", "--sample", 10).stdout)

    def test_a_slice_of_rows(self):
        self.npy("x.npy", np.arange(200.0).reshape(100, 2))
        info = self.info("x.npy", "--rows", "10:20")
        self.assertEqual((info["rows"], info["file_rows"], info["value_min"]), (10, 100, 20))


class Convert(CliTest):
    def convert(self, *args, expect=0):
        return self.run_tessera("convert", *args, expect=expect)

    def fvecs(self, name, array):
        heads = np.full((len(array), 1), array.shape[1], "<i4").view("<f4")
        (self.dir / name).write_bytes(np.hstack([heads, array.astype("<f4")]).tobytes())
        return name

    def test_every_format_holds_the_same_rows(self):
        rows = np.random.default_rng(SEED).integers(0, 128, (7, 5))
        self.npy("in.npy", rows, "f8")
        for suffix in ["npy", "fbin", "u8bin", "i8bin", "f16bin", "hbin", "ibin", "u64bin", "fvecs", "ivecs", "bvecs", "csv"]:
            with self.subTest(suffix):
                self.convert("in.npy", f"out.{suffix}")
                self.convert(f"out.{suffix}", "back.npy", "--dtype", "int64", "--force")
                np.testing.assert_array_equal(np.load(self.dir / "back.npy"), rows)

    def test_fvecs_to_npy_is_exact_and_mappable(self):
        rows = np.random.default_rng(SEED).normal(size=(40, 9)).astype("f4")
        self.convert(self.fvecs("base.fvecs", rows), "base.npy")
        back = np.load(self.dir / "base.npy", mmap_mode="r")
        self.assertEqual(back.dtype, np.float32)
        np.testing.assert_array_equal(back, rows)

    def test_a_slice_is_taken(self):
        self.npy("in.npy", np.arange(20).reshape(10, 2), "i4")
        self.convert("in.npy", "out.ivecs", "--rows", "3:6")
        raw = np.fromfile(self.dir / "out.ivecs", "<i4").reshape(3, 3)
        self.assertEqual(raw.tolist(), [[2, 6, 7], [2, 8, 9], [2, 10, 11]])

    def test_a_value_that_does_not_survive_exits_3_and_is_named(self):
        self.npy("in.npy", [[1, 2], [3, 0.5]], "f4")
        error = self.convert("in.npy", "out.u8bin", expect=3).stderr
        for text in ["row 1", "column 1", "0.5", "uint8", "float32"]:
            self.assertIn(text, error)
        self.assertFalse((self.dir / "out.u8bin").exists())
        self.assertEqual(os.listdir(self.dir), ["in.npy"])

    def test_rounding_needs_lossy_and_is_numpys(self):
        rng = np.random.default_rng(SEED)
        values = (rng.normal(size=(300, 20)) * 10.0 ** rng.integers(-9, 5, (300, 20))).clip(-65504, 65504)
        self.npy("in.npy", values, "f8")
        self.assertIn("--lossy", self.convert("in.npy", "out.npy", "--dtype", "float16", expect=3).stderr)
        for dtype in ["float16", "float32"]:
            report = json.loads(self.convert("in.npy", "out.npy", "--dtype", dtype, "--lossy", "--force", "--json").stdout)
            np.testing.assert_array_equal(np.load(self.dir / "out.npy"), values.astype(dtype))
            self.assertEqual(report["rounded"], int((values.astype(dtype).astype("f8") != values).sum()))

    def test_lossy_never_makes_integers_or_infinities(self):
        self.npy("in.npy", [[1e39, 0.5]], "f8")
        self.assertIn("1e+39", self.convert("in.npy", "out.fbin", "--lossy", expect=3).stderr)
        self.npy("in.npy", [[0.5]], "f8")
        self.convert("in.npy", "out.u8bin", "--lossy", expect=3)

    def test_rows_are_normalized_in_double(self):
        rows = np.random.default_rng(SEED).normal(size=(50, 17)).astype("f4")
        rows[3] = 0
        self.npy("in.npy", rows)
        report = json.loads(self.convert("in.npy", "unit.npy", "--normalize", "--json").stdout)
        self.assertEqual((report["zero_rows"], report["output"]["dtype"]), (1, "float32"))
        with np.errstate(invalid="ignore"):
            wanted = np.nan_to_num(rows.astype("f8") / np.linalg.norm(rows.astype("f8"), axis=1, keepdims=True))
        np.testing.assert_allclose(np.load(self.dir / "unit.npy"), wanted, rtol=1e-7)
        self.assertIn("float type", self.convert("in.npy", "out.u8bin", "--normalize", expect=2).stderr)

    def test_usage_errors(self):
        self.npy("in.npy", [[1.0]])
        for args, says in [(("in.npy",), "OUT"), (("in.npy", "out.xyz"), ".u8bin"), (("in.npy", "in.npy", "--force"), "input"),
                           (("in.npy", "out.npy", "--dtype", "float7"), "float16"),
                           (("in.npy", "out.fbin", "--dtype", "int8"), "float32"), (("in.npy", "out.npy", "--rows", "3"), "A:B")]:
            with self.subTest(args):
                self.assertIn(says, self.convert(*args, expect=2).stderr)

    def test_an_existing_output_is_kept_without_force(self):
        self.npy("in.npy", [[1.0]])
        (self.dir / "out.fbin").write_bytes(b"precious")
        self.convert("in.npy", "out.fbin", expect=2)
        self.assertEqual((self.dir / "out.fbin").read_bytes(), b"precious")
        self.convert("in.npy", "out.fbin", "--force")

    def test_what_is_printed(self):
        self.npy("in.npy", np.arange(6).reshape(3, 2))
        text = self.convert("in.npy", "a.fbin").stdout
        self.assertIn("3 x 2 float32 (fbin)  a.fbin", text)
        self.assertEqual(self.convert("in.npy", "b.fbin", "-q").stdout, "")
        report = json.loads(self.convert("in.npy", "c.fbin", "--json").stdout)
        for key in ["command", "version", "input", "output", "normalized", "zero_rows", "rounded", "seconds",
                    "peak_rss_bytes"]:
            self.assertIn(key, report)
        self.assertEqual(report["output"]["bytes"], (self.dir / "c.fbin").stat().st_size)


def number(value):
    """JSON has no NaN or infinity: the cases write them as words."""
    return [number(v) for v in value] if isinstance(value, list) else float(value)


class Cases(CliTest):
    """tests/data/cases/topk.json, with exact answers."""

    @classmethod
    def setUpClass(cls):
        cls.cases = {case["name"]: case for case in json.loads(CASES.read_text())["cases"]}
        cls.isas = usable_isas()

    def run_everywhere(self, args):
        """Runs on 1 and 2 threads and every instruction set; the bytes must agree. Returns (ids, distances)."""
        first = None
        for isa in self.isas:
            for threads in [1, 2]:
                ids, distances, raw = self.topk(*args, "--threads", threads, env={"TESSERA_FORCE_ISA": isa})
                first = first or (ids, distances, raw)
                self.assertEqual(raw, first[2], f"{isa}, {threads} threads")
        return first[:2]

    def check(self, case, ids, distances):
        self.assertEqual(ids.tolist(), case["ids"])
        for key in ["distances", "distances_l2"]:
            if key in case:
                want = np.array(number(case[key]))
                tolerance = case.get("tolerance", 0)
                np.testing.assert_allclose(distances, want, rtol=tolerance, atol=tolerance)

    def run_plain(self, case):
        dtype = np.dtype(case.get("dtype", "float32"))
        metric = "l2" if "distances_l2" in case else case.get("metric", "sqeuclidean")
        args = ["-b", self.npy("base.npy", number(case["base"]), dtype), "-k", case["k"], "-m", metric,
                "--nan", case.get("nan", "error")]
        if "self" in case:
            self.check(case, *self.run_everywhere([*args, "--self", case["self"]]))
            return
        queries = np.array(number(case["queries"]), dtype)
        for copies in [1, 1024]:
            self.npy("queries.npy", np.repeat(queries, copies, axis=0), dtype)
            ids, distances = self.run_everywhere([*args, "--queries", "queries.npy"])
            for table in [ids, distances]:
                blocks = table.reshape(len(queries), copies, -1)
                self.assertTrue((blocks == blocks[:, :1]).all(), "copies of a query differ")
            self.check(case, ids[::copies], distances[::copies])

    def test_every_case_with_rows_written_out(self):
        ran = 0
        for name, case in self.cases.items():
            if "base" in case:
                with self.subTest(name):
                    self.run_plain(case)
                    ran += 1
        self.assertGreaterEqual(ran, 10)
        self.assertEqual(set(self.cases) - {name for name, case in self.cases.items() if "base" in case},
                         {"all_tied", "adversarial_for_screens"}, "a generated case has no test")

    def test_all_tied(self):
        case = self.cases["all_tied"]
        self.npy("base.npy", np.zeros((1000, 1)))
        self.npy("queries.npy", number(case["queries"]))
        for k in case["k"]:
            ids, distances = self.run_everywhere(["-b", "base.npy", "--queries", "queries.npy", "-k", k])
            self.assertEqual(ids.tolist(), [list(range(k))])
            self.assertFalse(distances.any())

    def test_adversarial_for_screens(self):
        k, n, d = self.cases["adversarial_for_screens"]["k"], 4000, 96
        for seed in range(1, 6):
            rng = np.random.default_rng(seed)
            sets = {
                "offset": rng.normal(size=(n, d)) + 1000,
                "two clusters": rng.normal(size=(n, d)) + 100 * (np.arange(n) % 2)[:, None],
                "copies": np.tile(rng.normal(size=(40, d)), (100, 1)),
            }
            for name, base in sets.items():
                with self.subTest(set=name, seed=seed):
                    base = base.astype(np.float32)
                    queries = np.concatenate([base[rng.integers(0, n, 15)], base[:15] + np.float32(0.25)])
                    self.npy("base.npy", base)
                    self.npy("queries.npy", queries)
                    ids, distances = self.run_everywhere(["-b", "base.npy", "--queries", "queries.npy", "-k", k,
                                                          "-m", "sqeuclidean"])
                    want_ids, want_keys = nearest(queries, base, k)
                    np.testing.assert_array_equal(ids, want_ids)
                    np.testing.assert_allclose(distances, want_keys, rtol=1e-6)


if __name__ == "__main__":
    sys.exit(run_tests())
