#!/usr/bin/env python3
"""What tarn record --contents finds to save of the peak, against what programs save that do it."""

import json
import subprocess

import prices
from paths import HANG_S, PATHS, FolderTest, main


def setUpModule():
    prices.use_simple()


class Contents(FolderTest):
    def memory(self, *arguments, options=("--contents",)):
        self.tarn("record", "--heap", *options, "-o", "rec", "--", PATHS.contents, *arguments)
        return json.loads(self.tarn("report", "--quick", "--json", "rec").stdout)["memory"]

    def check(self, case, remedy, function):
        memory = self.memory(case)
        saved = memory["peak_bytes"] - self.memory(case, "remedy", options=("--full",))["peak_bytes"]
        site = self.memory(case)["contents"]["sites"][0]
        self.assertEqual(site["remedy"], remedy)
        self.assertIn(function, [frame["function"].split("(")[0].split("::")[-1] for frame in site["stack"]])
        low, high = site["saved_range"]
        self.assertLessEqual(abs(site["saved_bytes"] - saved), saved / 3, (site, saved))
        self.assertLessEqual(low, site["saved_bytes"])
        self.assertLessEqual(site["saved_bytes"], high)
        return memory

    def test_the_unused_ends_of_grown_vectors(self):
        self.check("vectors", "shrink", "grow_vectors")

    def test_the_unused_ends_of_buffers(self):
        self.check("lines", "shrink", "read_lines")

    def test_the_unused_ends_of_reallocated_arrays(self):
        self.check("arrays", "shrink", "grow_arrays")

    def test_equal_strings(self):
        self.check("names", "share", "keep_names")
        text = self.tarn("report", "--quick", "rec").stdout
        self.assertRegex(text, r"\nMemory to save at the peak, by the contents of blocks after [\d.]+ s, "
                               r"with \d+ % of it")
        self.assertRegex(text, r"\n +\d+ KiB \(\d+ KiB–\d+ KiB\)  contents\.cpp:\d+ .*keep_names.*\n"
                               r" +equal to other blocks: 9,9\d\d of [\d,]+ blocks, with 4\d repeated contents\n"
                               r" +→ keep one block for equal contents")

    def test_equal_tables(self):
        self.check("tables", "share", "keep_tables")

    def test_nothing_is_promised_where_all_is_used(self):
        memory = self.memory("full")
        saved = sum(site["saved_bytes"] for site in memory["contents"]["sites"])
        self.assertLess(saved, memory["peak_bytes"] / 100)
        self.assertIn("of it in use: less than 1 %\n", self.tarn("report", "--quick", "rec").stdout)

    def test_the_search_is_near_the_peak(self):
        for case in ("vectors", "names", "arrays"):
            memory = self.memory(case)
            self.assertGreater(memory["contents"]["in_use_bytes"], 0.85 * memory["peak_bytes"], case)

    def test_without_the_option_nothing_is_looked_through(self):
        self.assertIsNone(self.memory("full", options=("--full",))["contents"])

    def test_a_search_that_cannot_be_is_said_in_one_line(self):
        for options in (["--locks"], ["--sample", "4096"], ["--follow"], ["--for", "1s"], ["--every", "1s"]):
            result = subprocess.run([PATHS.tarn, "record", "--contents", *options, "-o", "rec", "--", PATHS.contents],
                                    cwd=self.folder, capture_output=True, text=True, timeout=HANG_S, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("--contents", result.stderr)
        result = self.tarn("record", "--heap", "--contents", "-o", "rec", "--", "sh", "-c", "true")
        self.assertIn("the contents of blocks were not looked through: the program starts others", result.stderr)


if __name__ == "__main__":
    main("tarn", "contents")
