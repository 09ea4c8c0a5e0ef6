#!/usr/bin/env python3
"""The drop-in's options and its report at exit, in real programs."""

import json
import os
import pathlib
import re
import subprocess

from paths import HANG_S, PATHS, FolderTest, main

BLOCKS = 500
BLOCK_BYTES = 100


class DropInTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.environment = {name: value for name, value in os.environ.items()
                            if name != "LD_PRELOAD" and not name.startswith("TARN_")}

    def run_with(self, options, *arguments, **settings):
        return subprocess.run([PATHS.tarn, "run", *options, "--", *arguments], capture_output=True, text=True,
                              timeout=HANG_S,
                              check=False, cwd=self.folder, env=self.environment, **settings)

    def preloaded(self, *arguments, **environment):
        """Without the command: what the library itself makes of its environment."""
        return subprocess.run(arguments, capture_output=True, text=True, timeout=HANG_S, check=False, cwd=self.folder,
                              env=self.environment | {"LD_PRELOAD": PATHS.library} | environment)


class Report(DropInTest):
    def report(self, *arguments, options=("--stats=json",)):
        result = self.run_with(options, *arguments)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result, json.loads(result.stderr)

    def check_sums(self, report):
        """What must hold in every report."""
        sums = report["sums"]
        self.assertGreaterEqual(sums["allocated_blocks"], sums["freed_blocks"])
        self.assertGreaterEqual(sums["allocated_bytes"], sums["freed_bytes"])
        self.assertGreaterEqual(sums["freed_blocks"], sums["remote_frees"])
        self.assertGreaterEqual(report["peak_footprint_bytes"], report["footprint_bytes"])
        self.assertGreaterEqual(report["footprint_bytes"], sums["allocated_bytes"] - sums["freed_bytes"])
        self.assertGreaterEqual(report["system_calls"]["mmap"], 1)
        if report["heap_rows_left_out"] == 0:
            # Only the sums have the frees that wait.
            waiting = {"freed_blocks": report["waiting_frees"], "freed_bytes": report["waiting_bytes"],
                       "used_bytes": -report["waiting_bytes"]}
            for field, value in sums.items():
                if field not in ("peak_footprint_bytes",):
                    rows = sum(row[field] for row in report["heap_rows"])
                    self.assertEqual(value, rows + waiting.get(field, 0), field)

    def test_a_row_for_each_thread(self):
        result, report = self.report(PATHS.threads, "3", str(BLOCKS))
        self.assertEqual((result.returncode, result.stdout), (7, "done\n"))
        self.check_sums(report)
        self.assertEqual(report["program"], pathlib.Path(PATHS.threads).name[:15])
        workers = [row for row in report["heap_rows"] if row["name"] == "w\n\"\x1b[2J"]
        self.assertEqual(len(workers), 3)
        self.assertEqual(len({row["thread"] for row in workers}), 3)
        for row in workers:
            self.assertGreaterEqual(row["allocated_blocks"], BLOCKS)
            self.assertLess(row["allocated_blocks"], BLOCKS + 20)
            self.assertGreaterEqual(row["allocated_bytes"], BLOCKS * BLOCK_BYTES)
            self.assertGreaterEqual(row["footprint_bytes"], BLOCKS * BLOCK_BYTES)
        # The workers sleep, so the frees of the first thread wait.
        self.assertGreaterEqual(report["waiting_frees"], 3 * BLOCKS)
        self.assertLess(report["sums"]["allocated_blocks"] - report["sums"]["freed_blocks"], BLOCKS)
        self.assertLess(report["sums"]["used_bytes"], BLOCKS * BLOCK_BYTES)
        first = [row for row in report["heap_rows"] if row["thread"] == report["process"]]
        self.assertEqual([row["name"] for row in first], [report["program"][:15]])
        self.assertEqual(report["threads_started"], 4)

    def test_remote_frees_of_ended_threads(self):
        _, report = self.report(PATHS.threads, "2", str(BLOCKS), "end")
        self.check_sums(report)
        # All but what the first thread was still collecting for two owners: less than a batch.
        self.assertGreater(report["sums"]["remote_frees"], 2 * BLOCKS - 2 * 254)
        self.assertEqual(report["sums"]["remote_frees"] + report["waiting_frees"], 2 * BLOCKS)
        self.assertEqual((report["abandoned_heaps"], report["adopted_heaps"]), (2, 1))
        names = [row["name"] for row in report["heap_rows"] if row["thread"] == 0]
        self.assertEqual(sorted(names), ["ended threads", "process"])

    def test_many_threads_are_counted_but_not_all_shown(self):
        _, report = self.report(PATHS.threads, "60", "10")
        self.check_sums(report)
        self.assertEqual(len(report["heap_rows"]), 32)
        self.assertEqual(report["heap_rows_left_out"], report["heaps"] - 32)
        self.assertGreaterEqual(report["heaps"], 61)
        self.assertGreaterEqual(report["sums"]["allocated_blocks"], 60 * 10)
        text = self.run_with(["--stats"], PATHS.threads, "60", "10").stderr
        self.assertIn(f"\n... and {report['heap_rows_left_out']} more\n", text)

    def test_statistics_as_text_name_each_heap(self):
        result = self.run_with(["--stats"], PATHS.threads, "2", str(BLOCKS))
        self.assertEqual((result.returncode, result.stdout), (7, "done\n"))
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], r"^tarn: statistics of process \d+ \(tool_threads\)$")
        self.assertEqual(sum(line.startswith("w\\x0a\"\\x1b[2J ") for line in lines), 2)
        self.assertRegex(lines[-2], r"^system calls: \d+ \(mmap \d+, munmap \d+, mremap \d+, madvise \d+, mprotect "
                                    r"\d+\)$")
        self.assertRegex(lines[-1], r"^advice: TARN_INITIAL=\d+[KM] TARN_INCREMENT=\d+M; "
                                   r"TARN_LIMIT=\d+[KM] would have been enough$")

    def test_advice_is_taken_as_it_is_given(self):
        arguments = (PATHS.threads, "2", str(BLOCKS))
        first = self.run_with(["--stats"], *arguments).stderr.splitlines()[-1]
        options = [f"{name.lower()}={value}" for name, value in re.findall(r"TARN_(\w+)=(\w+)", first)]
        self.assertEqual(len(options), 3)
        repeated = self.run_with(["--stats"] + [word for option in options for word in ("--option", option)],
                                 *arguments)
        self.assertEqual((repeated.returncode, repeated.stdout), (7, "done\n"))
        self.assertNotIn("beyond", repeated.stderr)

    def test_statistics_in_openmetrics_name_each_heap(self):
        result = self.run_with(["--stats=openmetrics"], PATHS.threads, "2", str(BLOCKS))
        self.assertEqual(result.stderr.splitlines()[-1], "# EOF")
        self.assertRegex(result.stderr, r'(?m)^tarn_heap_allocated_blocks_total\{program="tool_threads",process="\d+",'
                                        r'row="\d+",thread="\d+",heap="w___\[2J"\} 5\d\d$')

    def test_a_program_that_closes_its_standard_error(self):
        _, report = self.report("bash", "-c", "exec 2>&-")
        self.check_sums(report)
        _, report = self.report("ls", "-d", "/")  # coreutils close it at exit
        self.assertEqual(report["program"], "ls")

    def test_every_process_appends_to_the_file(self):
        script = f"cd /; {PATHS.threads} 1 10; {PATHS.threads} 2 10; echo over"
        result = self.run_with(["--stats=json", "--stats-file", "out"], "sh", "-c", script)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "done\ndone\nover\n", ""))
        reports = [json.loads(line) for line in (self.folder / "out").read_text().splitlines()]
        self.assertEqual([report["threads_started"] for report in reports if report["program"] == "tool_threads"],
                         [2, 3])
        self.assertEqual(len({report["process"] for report in reports}), len(reports))

    def test_a_forked_child_reports_for_itself(self):
        result = self.run_with(["--stats=json"], "bash", "-c", "(exit 0); exit 0")
        reports = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertEqual(len(reports), 2)
        for report in reports:
            self.assertIn(report["process"], [row["thread"] for row in report["heap_rows"]])

    def test_nothing_is_printed_unless_asked(self):
        result = self.run_with([], PATHS.threads, "1", "1")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (7, "done\n", ""))

    def test_exit_code_and_signal_are_the_programs(self):
        self.assertEqual(self.run_with(["--stats"], "sh", "-c", "exit 42").returncode, 42)
        killed = self.run_with(["--stats"], "sh", "-c", "kill -TERM $$")
        self.assertEqual((killed.returncode, killed.stderr), (-15, ""))


class Environment(DropInTest):
    def test_settings_without_the_command(self):
        result = self.preloaded(PATHS.threads, "1", "1", TARN_STATS="json", TARN_PURGE_DELAY_MS="10")
        self.assertEqual(result.returncode, 7)
        self.assertEqual(json.loads(result.stderr)["threads_started"], 2)

    def test_malformed_settings_are_reported_and_the_program_runs(self):
        result = self.preloaded(PATHS.threads, "1", "1", TARN_PURGE_DELAY_MS="abc")
        self.assertEqual((result.returncode, result.stdout), (7, "done\n"))
        self.assertRegex(result.stderr, r"^tarn\[\d+\] \w+: option TARN_PURGE_DELAY_MS=abc: not a number of "
                                        r"milliseconds from 0 to 3600000; 500 is used\n$")

    def test_unknown_settings_are_reported(self):
        result = self.preloaded(PATHS.threads, "1", "1", TARN_PURGE_DELAY="1")
        self.assertEqual((result.returncode, result.stdout), (7, "done\n"))
        self.assertRegex(result.stderr, r"^tarn\[\d+\] \w+: unknown option TARN_PURGE_DELAY; "
                                        r"did you mean TARN_PURGE_DELAY_MS\?\n$")

    def test_unusable_file_is_reported_and_standard_error_used(self):
        result = self.preloaded(PATHS.threads, "1", "1", TARN_STATS="json", TARN_STATS_FILE="no/such")
        self.assertEqual(result.returncode, 7)
        first, second = result.stderr.splitlines()
        self.assertEqual(first, "tarn: cannot open stats_file no/such: No such file or directory; standard error is "
                                "used")
        self.assertEqual(json.loads(second)["threads_started"], 2)


if __name__ == "__main__":
    main("tarn", "library", "threads")
