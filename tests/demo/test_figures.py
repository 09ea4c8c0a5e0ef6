import unittest

import folder  # noqa: F401
import figures
import table
from runner import averages

TIME, PEAK, CPU = figures.TIME, figures.PEAK, figures.CPU


class Workload:
    def __init__(self, name, *metrics):
        self.name, self.title, self.metrics = name, f"title of {name}", metrics


class FiguresTest(unittest.TestCase):
    def test_spread_is_half_of_the_range_over_the_median(self):
        self.assertAlmostEqual(figures.spread([9, 10, 12]), 0.15)
        self.assertEqual(figures.spread([5]), 0)
        self.assertEqual(figures.spread([0, 0]), 0)

    def test_ratio_is_taken_within_rounds(self):
        # The machine was three times slower in the second round; the ratio does not see it.
        self.assertAlmostEqual(averages.ratio_by_round([2, 6, 2], [1, 3, 1]), 2)

    def test_ratio_leaves_out_failed_rounds(self):
        self.assertAlmostEqual(averages.ratio_by_round([None, 6, 9], [1, 3, None]), 2)
        self.assertIsNone(averages.ratio_by_round([None, 6], [1, None]))

    def test_the_geometric_mean_of_nothing_is_none(self):
        self.assertAlmostEqual(averages.geometric_mean([0.5, 2]), 1)
        self.assertAlmostEqual(averages.geometric_mean([1, 4]), 2)
        self.assertIsNone(averages.geometric_mean([]))

    def test_better_ratio_turns_times_around(self):
        self.assertEqual(figures.better_ratio(figures.requests("set"), 2), 2)
        self.assertEqual(figures.better_ratio(TIME, 2), 0.5)


class TableTest(unittest.TestCase):
    def test_numbers_keep_three_digits(self):
        self.assertEqual([table.number(v) for v in (1234.5, 99.95, 10, 3.14159, 0.5)],
                         ["1234", "100.0", "10.0", "3.14", "0.50"])

    def test_a_cell_has_median_spread_and_ratio(self):
        self.assertEqual(table.cell(PEAK, [1024, 2048, 3072], 1.5), "2.00 ±50% 1.50x")
        self.assertEqual(table.cell(PEAK, [None, 2048], None), "2.00 ±0%")
        self.assertEqual(table.cell(PEAK, [None, None], None), "failed")

    def results(self):
        rate = figures.requests("set")
        results = table.Results([Workload("a", rate, CPU, PEAK), Workload("b", TIME, CPU, PEAK)], ["glibc", "tarn"])
        a, b = results.workloads
        for _ in range(3):
            results.add(a, "glibc", {"set": 1000, "cpu": 1, "peak": 1000})
            results.add(a, "tarn", {"set": 2000, "cpu": 1, "peak": 2000})
            results.add(b, "glibc", {"time": 4, "cpu": 4, "peak": 1000})
            results.add(b, "tarn", {"time": 2, "cpu": 1, "peak": 2000})
        return results

    def test_means_are_over_workloads_and_above_one_is_better_but_for_memory(self):
        means = self.results().means("tarn")
        self.assertAlmostEqual(means["speed"], 2)
        self.assertAlmostEqual(means["cpu"], 2)
        self.assertAlmostEqual(means["memory"], 2)

    def test_an_allocator_that_failed_everywhere_has_no_means(self):
        results = self.results()
        results.names.append("peer")
        for workload in results.workloads:
            results.figures[workload.name]["peer"] = [None, None, None]
        self.assertIsNone(results.means("peer"))
        self.assertRegex(table.report(results), r"(?m)^peer +failed +failed +failed$")

    def test_the_report_shows_every_workload_and_ratio(self):
        report = table.report(self.results())
        self.assertIn("title of a", report)
        self.assertRegex(report, r"(?m)^tarn +2\.00 ±0% 2\.00x +1\.00 ±0% 1\.00x +1\.95 ±0% 2\.00x$")
        self.assertRegex(report, r"(?m)^tarn +2\.00x +2\.00x +2\.00x$")


if __name__ == "__main__":
    unittest.main()
