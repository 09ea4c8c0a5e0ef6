#!/usr/bin/env python3
"""Tests of the runner's own arithmetic and of what it refuses."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import against  # noqa: E402
from runner import averages, measure, pools, steady, summary, text  # noqa: E402
from runner.columns import Column  # noqa: E402
from runner.process import Failed  # noqa: E402


def row(name, baseline=False, **ns):
    created = measure.Row(name, 1, 1, 1.0, baseline)
    for column, value in ns.items():
        created.results[column] = measure.Samples([value], [value], [1000], [0])
    return created


def program(text_of_script):
    """A column whose program is a shell script."""
    file = tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False)
    with file:
        file.write("#!/bin/sh\n" + text_of_script)
    os.chmod(file.name, 0o755)
    return Column("fake", (file.name,))


class Summary(unittest.TestCase):
    def test_the_geometric_mean_of_1_and_4_is_2(self):
        self.assertAlmostEqual(averages.geometric_mean([1, 4]), 2)

    def test_spread_is_interquartile_over_median(self):
        self.assertAlmostEqual(measure.Samples([1, 2, 3, 4, 5]).spread, 2 / 3)

    def test_on_a_busy_machine_the_least_cpu_time_counts(self):
        samples = measure.Samples([5, 9, 7], [4, 3, 6])
        self.assertEqual(samples.value, 7)
        measure.Samples.is_busy = True
        self.addCleanup(setattr, measure.Samples, "is_busy", False)
        self.assertEqual(samples.value, 3)

    def test_ratios_are_taken_round_by_round(self):
        slow_at_first = [40.0, 40.0, 10.0, 10.0, 10.0]  # as the machine was, for both
        own_samples, other = measure.Samples([44.0, 44.0, 11.0, 44.0, 11.0]), measure.Samples(slow_at_first)
        self.assertAlmostEqual(own_samples.ratio_to(other), 1.1)
        self.assertAlmostEqual(own_samples.value / other.value, 4.4)

    def test_best_other_is_never_tarn_nor_an_inline_form(self):
        results = row("r", glibc=9.0, jemalloc=5.0, tarn=1.0, pooled=0.5)
        self.assertEqual(summary.best_other(results), ("jemalloc", 5.0))
        self.assertAlmostEqual(summary.ratio_to_best(results), 0.2)

    def test_baselines_are_in_no_mean(self):
        rows = [row("r", glibc=2.0, tarn=1.0), row("queue-alone", True, glibc=1.0, tarn=100.0)]
        self.assertAlmostEqual(summary.time_means(rows, ["glibc", "tarn"])["glibc"], 0.5)

    def test_queue_is_taken_off(self):
        rows = [row("handoff-64", glibc=30.0, tarn=25.0), row("queue-alone", True, glibc=20.0, tarn=22.0)]
        self.assertEqual(summary.handoff_without_queue(rows), {"handoff-64": {"glibc": 9.0, "tarn": 4.0}})

    def test_goals_are_missed_when_they_are(self):
        rows = [row("pair-64", glibc=6.0, tarn=7.0, pooled=3.0)]
        about_time = [goal for goal in summary.goals(rows, ["glibc", "tarn"]) if "memory" not in goal.text]
        self.assertEqual([goal.met for goal in about_time], [False] * 3)  # inline, mean, worst row
        rows = [row("pair-64", glibc=6.0, tarn=5.0, pooled=1.0)]
        self.assertTrue(all(goal.met for goal in summary.goals(rows, ["glibc", "tarn"])))

    def test_slow_rows_are_flagged(self):
        rows = [row("slow", glibc=1.0, tarn=1.2), row("even", glibc=1.0, tarn=1.0)]
        lines = text.malloc_table(rows, ["glibc", "tarn"]).splitlines()
        self.assertEqual([line.endswith("!") for line in lines if line.startswith(("slow", "even"))], [True, False])

    def test_a_line_may_end_early(self):
        table = text.lay_out(["program", "ratio", "memory"], [["plain", "1", "9 MiB"], ["heaptrack", "failed"]])
        self.assertEqual(table.splitlines()[2:], ["plain           1   9 MiB", "heaptrack  failed"])


class Pools(unittest.TestCase):
    COLUMNS = [Column("glibc", ("m",), family="malloc"), Column("peer", ("m",), family="malloc"),
               Column("pooled", ("i",), family="heap"), Column("pool", ("p",), family="private"),
               Column("list", ("p",), family="private"), Column("bump", ("p",), family="arena"),
               Column("arena", ("p",), family="arena")]

    def lines(self, rows, instructions=None):
        return [goal.line() for goal in pools.goals(rows, self.COLUMNS, instructions)]

    def test_worst_row_decides_and_each_miss_is_told(self):
        rows = [row("pair-16", list=1.0, pool=1.0), row("slots-64", list=1.0, pool=1.3),
                row("list-1", list=1.0, pool=1.2)]
        lines = self.lines(rows)
        self.assertEqual([line.split()[0] for line in lines], ["MISSED", "MISSED"])
        self.assertIn("slots-64", lines[0])

    def test_no_goal_without_its_row(self):
        self.assertEqual(self.lines([row("orphans", glibc=1.0)]), [])

    def test_list_against_glibc_and_against_the_best_malloc(self):
        lines = self.lines([row("list-100", glibc=16.0, peer=1.5, pool=2.0)])
        self.assertEqual([line.split()[0] for line in lines], ["reached", "MISSED"])
        self.assertIn("peer", lines[1])

    def test_arena_against_the_pointer(self):
        self.assertEqual([line.split()[0] for line in self.lines([row("drop-200", bump=1.0, arena=1.1)])], ["reached"])
        self.assertEqual([line.split()[0] for line in self.lines([row("drop-200", bump=1.0, arena=1.2)])], ["MISSED"])

    def test_instructions_have_a_goal_where_they_are_counted(self):
        self.assertEqual([line.split()[0] for line in self.lines([], {"heap-pmr": 26.0})], ["MISSED"])
        self.assertEqual(self.lines([], {}), [])

    def test_threads_that_did_not_meet_decide_nothing(self):
        rows = [row("pair-64-2t", peer=4.0, glibc=6.0, shared=1.0)]
        rows[0].threads = 2
        columns = [*self.COLUMNS, Column("shared", ("p",), family="shared")]
        self.assertEqual(len(pools.goals(rows, columns)), 1)
        measure.Samples.is_busy = True
        self.addCleanup(setattr, measure.Samples, "is_busy", False)
        self.assertEqual(pools.goals(rows, columns), [])

    def test_a_table_for_each_family(self):
        rows = [row("pair-64", glibc=5.0, pool=1.0, list=1.0), row("drop-200", glibc=9.0, arena=1.0, bump=1.0)]
        lines = pools.report(rows, self.COLUMNS, {}, 1, "median", {"pool": 13.0})
        self.assertRegex(lines, "pools of one thread +pool +list +glibc +spread")
        self.assertRegex(lines, "instructions, pair-64 +13 +-")
        self.assertRegex(lines, "arenas +bump +arena +glibc +spread")
        self.assertNotIn("pools for all threads", lines)


class Measure(unittest.TestCase):
    def test_steps_are_rounded_to_two_digits(self):
        self.assertEqual([measure.round_to_two_digits(n) for n in (0.2, 7, 99, 123, 98765)], [1, 7, 99, 120, 99000])

    def test_different_checksums_are_refused(self):
        script = 'case $1 in rows) echo \'{"row":"r","threads":1,"units":1,"budget":1,"baseline":false}\';; *) ' \
                 'echo \'{"wall_ns":1000000,"ns":1,"processor_ns":1,"checksum":"%s","peak_kib":1,"faults":0}\';; esac\n'
        columns = [program(script % "a"), Column("other", program(script % "b").command)]
        with self.assertRaisesRegex(Failed, "checksum b of other is not a"):
            measure.measure(columns, lambda name: True, 1, 1)
        for column in columns:
            os.unlink(column.command[0])

    def test_what_is_disturbed_is_repeated_while_patience_lasts(self):
        processors = measure.os.cpu_count()

        def measurements(patience, shares):
            """The measurement that counts; `shares`: others' share during each, and during each look."""
            now, busy_shares = [0.0, 0.0, 0.0], iter(shares)

            def pass_a_second(_=None):
                busy = next(busy_shares) * processors
                now[:] = now[0] + 1, now[1] + busy + 1, now[2] + 1
                return now[0]

            patience.times, patience.sleep = lambda: tuple(now), pass_a_second
            return patience.run(pass_a_second)

        self.assertEqual(measurements(measure.Patience(10), [0.05]), 1)
        # look, look, again, look, again
        self.assertEqual(measurements(measure.Patience(10), [0.5, 0.4, 0.05, 0.5, 0.0, 0.0]), 6)
        hasty = measure.Patience(0)
        self.assertEqual(measurements(hasty, [0.5, 0.0]), 1)
        self.assertEqual((hasty.disturbed, hasty.total), (1, 1))

    def test_a_preload_without_effect_is_refused(self):
        column = program('echo \'{"malloc":"/lib/libc.so.6"}\'\n')
        preloaded = Column("peer", column.command, preload="/nowhere/libpeer.so")
        with self.assertRaisesRegex(Failed, "malloc comes from /lib/libc.so.6"):
            preloaded.run("row")
        os.unlink(column.command[0])

    def test_a_failing_program_is_refused(self):
        column = program("echo no memory >&2; exit 3\n")
        with self.assertRaisesRegex(Failed, "exit 3: no memory"):
            column.run("row")
        os.unlink(column.command[0])


class Against(unittest.TestCase):
    def compared(self, old, new, *options):
        """The exit code and the text for two programs that print these."""
        programs = [program(f"cat <<'END'\n{printed}\nEND\n").command[0] for printed in (old, new)]
        for name in programs:
            self.addCleanup(os.unlink, name)
        output = io.StringIO()
        with mock.patch.object(sys, "argv", ["against.py", "--runs", "3", *options, *programs]):
            with contextlib.redirect_stdout(output):
                code = against.main()
        return code, output.getvalue()

    def test_a_figure_that_became_worse_is_named(self):
        old = "ns\n\nreads      1 reader   2 readers\n  shared   10.00 (11.0)   –   1,020.00 (30.0)\n"
        old += "  mutex  5.00 (5.0)"
        new = old.replace("1,020.00", "1,070.00").replace("10.00", "10.20").replace("mutex", "spin")
        code, printed = self.compared(old, new)
        self.assertEqual(code, 1)
        self.assertIn("WORSE  1.049 (1.049–1.049)  reads      1 reader   2 readers: shared, figure 2\n", printed)
        self.assertIn("       1.020 (1.020–1.020)", printed)
        self.assertIn("only one build measures it: reads      1 reader   2 readers: spin, figure 1\n", printed)
        self.assertIn("1 of 2 figures are worse by more than 3 %, by the median of 3 runs\n", printed)
        self.assertEqual(self.compared(old, new, "--limit", "5")[0], 0)

    def test_a_program_without_figures_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "prints no figure: give a bench-sync or a bench-io"):
            self.compared("no table", "no table")


class Steady(unittest.TestCase):
    def test_calls_outside_the_markers_do_not_count(self):
        trace = ('12 mmap(NULL) = 0\n12 write(-1, "bench: steady begins", 20) = -1\n'
                 '12 madvise(0x1) = 0\n12 ppoll(NULL) = 0\n'
                 '13 madvise(0x1) = 0\n12 write(-1, "bench: steady ends", 18) = -1\n12 munmap(0x1) = 0\n')
        self.assertEqual(steady.calls_between_markers(trace), {"madvise": 2})

    def test_a_trace_without_markers_is_refused(self):
        with self.assertRaises(Failed):
            steady.calls_between_markers("12 mmap(NULL) = 0\n")


if __name__ == "__main__":
    unittest.main()
