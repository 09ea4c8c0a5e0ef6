#!/usr/bin/env python3
"""`tarn report`: where prices come from, what is predicted from them, and how it looks on a terminal."""

import argparse
import json
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

import prices

PATHS = argparse.Namespace()
SHARED = tempfile.TemporaryDirectory(prefix="tarn-report-")


def setUpModule():
    subprocess.run([PATHS.tarn, "record", "--heap", "--full", "-o", f"{SHARED.name}/rec", "--", PATHS.sites, "2000", "0"],
                   check=True, capture_output=True, timeout=100)
    prices.measure(PATHS.tarn, SHARED.name)


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-report-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.prices = self.folder / "tarn/costs.json"
        self.prices.parent.mkdir()
        shutil.copy(f"{SHARED.name}/tarn/costs.json", self.prices)

    def report(self, *words, code=0, **environment):
        result = subprocess.run([PATHS.tarn, "report", *words, f"{SHARED.name}/rec"], capture_output=True, text=True,
                                timeout=100, check=False,
                                env={**os.environ, "XDG_CACHE_HOME": str(self.folder), **environment})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def json(self, *words, **environment):
        return json.loads(self.report("--json", "--top", "1000", *words, **environment))

    def test_prices_are_measured_once(self):
        before = self.prices.read_bytes()
        self.report()
        self.assertEqual(self.prices.read_bytes(), before)
        self.report("--calibrate")
        self.assertNotEqual(self.prices.read_bytes(), before)
        self.assertEqual(list(self.prices.parent.iterdir()), [self.prices])

    def test_prices_of_other_facts_are_measured_again(self):
        measured = json.loads(self.prices.read_text())
        mine = measured["tarn"]
        measured["tarn"] = "another"
        self.prices.write_text(json.dumps(measured))
        self.report()
        self.assertEqual(json.loads(self.prices.read_text())["tarn"], mine)

    def test_prices_that_cannot_be_read_or_kept_are_done_without(self):
        for text in "[", '{"machine": 7}':
            self.prices.write_text(text)
            self.report()
            self.assertIn("pair_ns", json.loads(self.prices.read_text()))
        self.report(XDG_CACHE_HOME="", HOME="")

    def test_all_servers_have_prices(self):
        pairs = json.loads(self.prices.read_text())["pair_ns"]
        every = {"soon", "busy", "burst", "cold", "handed", "met"}
        self.assertEqual({name: set(of) for name, of in pairs.items()},
                         {"alone": every - {"handed", "met"}, "malloc": every, "drop_in": every, "pooled": every,
                          "shared_pool": every, "arena": every - {"handed", "met"}, "recycled": {"soon", "busy"}})
        for of in pairs.values():
            for by_size in of.values():
                self.assertEqual(len(by_size), 16)
                self.assertTrue(all(price > 0 for price in by_size), by_size)

    def test_every_remedy_is_predicted_as_a_range(self):
        prices.simplify(self.prices)
        report = self.json()
        site = max(report["sites"], key=lambda each: each["reallocs"])
        for remedy in site["predicted"]["remedies"]:
            for field in "ns", "saved_ns", "saved_ms_per_second", "saved_share":
                low, high = remedy[field]
                self.assertLessEqual(low, high, (remedy["name"], field))
        self.assertEqual(site["predicted"]["remedies"][0]["name"], "reserve")
        self.assertEqual(site["predicted"]["remedies"][0]["calls_saved"], 8 * 2000)
        self.assertIn("std::realloc(made, size)", site["source"])
        self.assertGreater(report["heap"]["predicted"]["now_ns"][0], 0)
        self.assertGreater(report["recorder"]["overhead"]["cpu_ns"][0], 0)
        costs = [sum(each["predicted"]["now_ns"]) for each in report["sites"]]
        self.assertEqual(costs, sorted(costs, reverse=True), "the dearest first")

    def test_a_measured_time_replaces_the_estimate(self):
        report = self.json("--cpu", "0.25")
        self.assertEqual(report["recorder"]["overhead"]["program_cpu_ns"], [0.25e9, 0.25e9])

    def test_one_category(self):
        self.assertEqual({each["category"] for each in self.json("--category", "shared")["sites"]}, {"shared"})
        self.report("--category", "nonsense", code=2)

    def test_text_fits_the_page_and_begins_with_a_summary(self):
        lines = self.report().splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertIn("", lines[:11])
        self.assertTrue(any("The heap costs" in each for each in lines[:10]))
        self.assertNotIn("\x1b", "".join(lines))

    def test_colour_on_a_terminal_only(self):
        for environment, expected in (({}, True), ({"NO_COLOR": "1"}, False)):
            ours, theirs = pty.openpty()
            with subprocess.Popen([PATHS.tarn, "report", f"{SHARED.name}/rec"], stdout=theirs,
                                  env={**os.environ, "XDG_CACHE_HOME": str(self.folder), **environment}) as running:
                os.close(theirs)
                text = b""
                while True:
                    try:
                        part = os.read(ours, 4096)
                    except OSError:  # the other end is closed
                        break
                    if not part:
                        break
                    text += part
                self.assertEqual(running.wait(), 0)
            os.close(ours)
            self.assertEqual(b"\x1b[1m" in text, expected)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("tarn", "sites"):
        parser.add_argument(f"--{name}", required=True)
    PATHS, rest = parser.parse_known_args()
    unittest.main(argv=[__file__, *rest])
