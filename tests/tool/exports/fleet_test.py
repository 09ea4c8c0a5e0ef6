#!/usr/bin/env python3
"""`tarn fleet`: the queries find what a synthetic fleet has, on DuckDB and on Spark, and count nothing twice. `./dev
readers` installs both; without them the tests are skipped, and say so."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from fleet_data import BETTER, GROWTH, SLOW_HOST, WORSE
from paths import HANG_S, PATHS, FolderTest, json_in, main, run_program

HERE = pathlib.Path(__file__).resolve().parent
READERS = pathlib.Path(os.environ.get("TARN_READERS") or HERE.parents[2] / "build/readers")
PYTHON = READERS / "python/bin/python3"
PYTHON = str(PYTHON) if PYTHON.exists() else shutil.which("python3")
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != "TARN_READERS"},
               "PATH": f"{os.path.dirname(PYTHON)}:{os.environ['PATH']}"}
QUERIES = ["versions", "sites", "regressions", "remedies", "outliers"]
RELEASES = ["--before", "1.3", "--after", "1.4"]
FOLDER = tempfile.TemporaryDirectory(prefix="tarn-fleet-")
FLEET = pathlib.Path(FOLDER.name, "fleet")


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, timeout=HANG_S,
                          check=False).returncode == 0


def data(*arguments):
    return run_program(PYTHON, "-B", str(HERE / "fleet_data.py"), *arguments).stdout


def setUpModule():
    if not has("duckdb"):
        raise unittest.SkipTest("no duckdb: ./dev readers")
    data("fleet", str(FLEET), "50", "2000", "25")


def tearDownModule():
    FOLDER.cleanup()


class FleetTest(FolderTest):
    def fleet(self, *arguments, folder=FLEET, **settings):
        return self.run_program(PATHS.tarn, "fleet", str(folder), *arguments, **{"env": ENVIRONMENT, **settings})

    def answer(self, *arguments, **settings):
        """The rows, and the lines on standard error."""
        result = self.fleet(*arguments, "--json", **settings)
        return json.loads(result.stdout), result.stderr.splitlines()

    def copy_of_fleet(self):
        copy = self.folder / "fleet"
        shutil.copytree(FLEET, copy)
        return copy

    def write(self, path, query):
        data("write", str(path), query)
        return path


class Queries(FleetTest):
    def test_planted_changes_are_found_and_no_others(self):
        rows, lines = self.answer("regressions", *RELEASES)
        self.assertEqual([(row["verdict"], row["function"]) for row in rows],
                         [("worse", f"shop::function{WORSE}"), ("better", f"shop::function{BETTER}")])
        for row, factor in zip(rows, (GROWTH, 1 / GROWTH)):
            self.assertLess(row["more_low"], row["before_ms_per_s"] * (factor - 1))
            self.assertGreater(row["more_high"], row["before_ms_per_s"] * (factor - 1))
            self.assertEqual((row["before_hosts"], row["after_hosts"]), (13, 11))
        self.assertEqual(len(lines), 1)
        self.assertIn(f"host {SLOW_HOST} with 1.4 differs too much from the others, and is left out", lines[0])

    def test_a_release_is_like_itself(self):
        copy = self.copy_of_fleet()
        for path in list(copy.rglob("*.parquet")):
            self.write(path.with_suffix(".new"), "select * replace ('1.' || process % 4 // 2 as version) from "
                       f"read_parquet('{path}', hive_partitioning = false) where version = '1.3'")
            path.with_suffix(".new").rename(path)
        self.assertEqual(self.answer("regressions", "--before", "1.0", "--after", "1.1", folder=copy)[0], [])

    def test_the_slow_host_is_an_outlier_and_no_other(self):
        rows, _ = self.answer("outliers")
        self.assertEqual({row["host"] for row in rows}, {SLOW_HOST})
        self.assertEqual(len(rows), 4)

    def test_sums_are_those_of_the_files(self):
        sites, _ = self.answer("sites", "--top", "1000")
        remedies, _ = self.answer("remedies")
        query = ("select sum(cost) / 1e9, sum(saving_high) / 1e9, sum(lock_wait) filter (remedy <> '') / 1e9 "
                 f"from '{FLEET}/**/*.parquet'")
        seconds, saving, waited = json.loads(data("ask", query))[0]
        self.assertAlmostEqual(sum(row["seconds"] for row in sites), seconds)
        self.assertAlmostEqual(sum(row["saves_high_s"] for row in remedies), saving)
        self.assertAlmostEqual(sum(row["waits_s"] for row in remedies), waited)
        self.assertEqual(len(sites), 500)
        self.assertEqual({row["hosts"] for row in sites}, {25})
        self.assertTrue(all(row["seconds"] >= next_row["seconds"] for row, next_row in zip(sites, sites[1:])))

    def test_memory_may_be_limited(self):
        rows, _ = self.answer("versions")
        for memory in "4GB", "900 mb", "1.5GiB", "2g":
            self.assertEqual(self.answer("versions", "--memory", memory)[0], rows)

    def test_a_query_of_the_users_and_a_service(self):
        query = self.folder / "mine.sql"
        query.write_text("-- mine\nselect count(*) as row_count from samples;\n")
        self.assertEqual(self.answer(str(query))[0], [{"row_count": 100000}])
        self.assertEqual(self.answer(str(query), "--service", "other")[0], [{"row_count": 0}])
        self.assertIn("row_count", self.fleet(str(query)).stdout.splitlines()[0])

    def test_recordings_of_tarn_are_read(self):
        for number in "1", "2":
            self.tarn("record", "--full", "-o", number, "--", PATHS.sites, "1000", "0")
            self.tarn("export", number, "--format", "parquet", "-o", f"{number}.parquet", "--label", f"host=h{number}",
                      env=ENVIRONMENT)
        shutil.copy(self.folder / "1.parquet", self.folder / "again.parquet")
        versions, lines = self.answer("versions", folder=self.folder)
        self.assertEqual([(row["service"], row["hosts"], row["recordings"]) for row in versions],
                         [("tool_sites", 2, 2)])
        self.assertEqual(len(lines), 1, lines)
        sites, _ = self.answer("sites", "--top", "1000", folder=self.folder)
        grow = [row for row in sites if row["function"] == "grow" and row["source"] == "heap"]
        self.assertEqual([row["hosts"] for row in grow], [2])
        self.assertGreater(grow[0]["seconds"], 0)


class Page(FleetTest):
    def page(self, *options, **settings):
        self.fleet("--html", self.folder / "fleet.html", *options, **settings)
        return json.loads(json_in(self.folder / "fleet.html"))["fleet"]

    @staticmethod
    def rounded(row):
        """A row without its distribution. Several threads add, in any order."""
        return {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()
                if name != "releases"}

    def test_the_page_has_each_answer_and_the_hosts_of_each_site(self):
        page = self.page(*RELEASES)
        for query in "sites", "versions", "remedies", "outliers", "regressions":
            rows, _ = self.answer(query, *RELEASES)
            self.assertEqual(list(map(self.rounded, page[query])), list(map(self.rounded, rows)))
        for site in page["sites"]:
            self.assertEqual([(release["version"], release["hosts"]) for release in site["releases"]],
                             [("1.3", 13), ("1.4", 12)])
            values = [value for release in site["releases"] for value in release["values"]]
            self.assertEqual(len(values), 25)
            self.assertAlmostEqual(sum(values) / 25, site["seconds"] * 1e3 / (50 * 60), msg="2 min of each host")
            self.assertAlmostEqual(max(values), site["max_ms_per_s"])
            self.assertEqual(site["releases"][1]["dearest"][0], [SLOW_HOST, max(values)])
            for release in site["releases"]:
                self.assertEqual(release["values"], sorted(release["values"]))
        self.assertIsNone(self.page()["regressions"])

    def test_a_host_without_a_site_counts_with_0_and_many_hosts_become_quantiles(self):
        folder = self.folder / "many"
        data("fleet", str(folder), "300", "4", "300")
        self.write(folder / "x.parquet", "select * replace ('x' as host, 'other' as recording, 'id' as function_id) "
                   f"from read_parquet('{next(folder.rglob('0.parquet'))}', hive_partitioning = false) limit 1")
        page = self.page("--top", "3", folder=folder)
        self.assertEqual(len(page["sites"]), 3)
        for site in page["sites"]:
            self.assertEqual([(release["hosts"], len(release["values"])) for release in site["releases"]],
                             [(151, 101), (150, 101)])
            self.assertEqual(site["releases"][0]["values"][0], 0, "host x has not this site")

    def test_a_page_that_cannot_be_made_leaves_no_file(self):
        for options, code, text in ((("--html", "a.html", "sites"), 2, "give either a QUERY or --html"),
                                    ((), 2, "give either a QUERY or --html"),
                                    (("--html", "a.html", "--json"), 2, "exclude each other"),
                                    (("--html", "a.html", "--before", "9"), 2, "--before 9 is not in"),
                                    (("--html", "no/a.html"), 3, "no/a.html: No such file")):
            result = self.fleet(*options, code=code)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn("python3 is needed", self.fleet("--html", "a.html", code=5, env={"PATH": "/nowhere"}).stderr)


class Spark(FleetTest):
    def test_spark_gives_the_same_answers(self):
        if not has("pyspark") or shutil.which("java") is None:
            self.skipTest("no pyspark, ./dev readers, or no JDK")
        script = """
import argparse, json, sys
sys.path.insert(0, sys.argv[1])
import fleet
options = argparse.Namespace(folder=sys.argv[2], service="", before="1.3", after="1.4", top=1000, confidence=0.95)
engine = fleet.Spark("local[2]", "1g")
fleet.load(engine, options)
answers = {}
for query in sys.argv[3:]:
    names, rows = engine.table(fleet.query_of(query))
    answers[query] = [dict(zip(names, map(fleet.plain, row))) for row in rows]
print(json.dumps(answers))
"""
        copy = self.copy_of_fleet()
        shutil.copy(copy / "host=3/3.parquet", copy / "a name+%41.parquet")
        folder = pathlib.Path(PATHS.tarn).parent / "fleet"
        result = self.run_program(PYTHON, "-B", "-c", script, str(folder), str(copy), *QUERIES,
                                  env={**ENVIRONMENT, "SPARK_LOCAL_IP": "127.0.0.1"})
        self.assertIn("it counts once", result.stderr)
        answers = json.loads(result.stdout)
        for query in QUERIES:
            rows, _ = self.answer(query, "--top", "1000", *RELEASES, folder=copy)
            self.assertEqual(len(rows), len(answers[query]), query)
            for row, other in zip(rows, answers[query]):
                self.assertEqual(list(row), list(other))
                for name, value in row.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(value, other[name], delta=abs(value) * 1e-9, msg=(query, name))
                    else:
                        self.assertEqual(value, other[name], (query, name))


class BadInput(FleetTest):
    def test_a_host_that_sends_twice_counts_once(self):
        copy = self.copy_of_fleet()
        shutil.copy(copy / "host=4/4.parquet", copy / "z.parquet")
        self.write(copy / "earlier.parquet", "select * replace (length // 2 as length) from "
                   f"read_parquet('{copy}/host=5/5.parquet', hive_partitioning = false) limit 100")
        rows, lines = self.answer("versions", folder=copy)
        self.assertEqual(rows, self.answer("versions")[0])
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], "earlier.parquet: recording recording00005 of host h005 is also in .*/host=5/5.parq")
        self.assertRegex(lines[1], "z.parquet: recording recording00004 of host h004 is also in .*; it counts once")

    def test_files_of_another_version_are_named_and_left_out(self):
        copy = self.copy_of_fleet()
        source = copy / "host=4/4.parquet"
        self.write(copy / "a.parquet", f"select * replace (2::bigint as schema, 'x' as cost) from '{source}'")
        self.write(copy / "b.parquet", "select 1 as number")
        (copy / "c.parquet").write_bytes(source.read_bytes()[:-1])
        (copy / "d.parquet").write_bytes(b"")
        rows, lines = self.answer("versions", folder=copy)
        self.assertEqual(rows, self.answer("versions")[0])
        for line, text in zip(sorted(lines), ("a.parquet: schema 2 instead of 1", "b.parquet: no schema instead of 1",
                                              "c.parquet: not a Parquet file, or only a part",
                                              "d.parquet: not a Parquet file, or only a part"), strict=True):
            self.assertIn(text, line)

    def test_clocks_that_jump_are_named(self):
        copy = self.copy_of_fleet()
        source = copy / "host=4/4.parquet"
        replaced = {"a": "started + 30 as started", "b": "4000000000 as started, 1 as process",
                    "c": "5 as started, 2 as process", "d": "started + 60 as started, 3 as process"}
        for name, columns in replaced.items():
            self.write(copy / f"{name}.parquet", f"select * replace ('{name}' as recording, {columns}) from "
                       f"read_parquet('{source}', hive_partitioning = false)")
        rows, lines = self.answer("versions", folder=copy)
        self.assertEqual(sum(row["recordings"] for row in rows), 54)
        for line, text in zip(sorted(lines), ("a.parquet: starts 30 s before the end of", "in the future: the clock of",
                                              "before 2020: the clock of host h004 is wrong"), strict=True):
            self.assertIn(text, line)

    def test_errors_are_one_line(self):
        def error(*arguments, code, **settings):
            lines = self.fleet(*arguments, code=code, **settings).stderr.splitlines()
            self.assertEqual(len(lines), 1, lines)
            return lines[0]

        self.assertIn("no such folder", error("sites", code=3, folder=self.folder / "no"))
        self.assertIn("there is no Parquet file", error("sites", code=3, folder=self.folder))
        self.assertIn("there is no query 'nonsense'; there are outliers,", error("nonsense", code=2))
        self.assertIn("--before VERSION is not in", error("regressions", code=2))
        self.assertIn("the releases there: shop 1.3 (13 hosts); shop 1.4 (12 hosts)",
                      error("regressions", "--before", "1.3", "--after", "2", code=2))
        bad = self.folder / "bad.sql"
        bad.write_text("select nothing")
        self.assertIn("nothing", error(str(bad), code=3))
        self.write(self.folder / "other.parquet", "select 1 as number")
        self.assertIn("tarn: ", error("sites", code=3, folder=self.folder))
        self.assertIn("confidence", error("regressions", "--confidence", "1", code=2))
        self.assertIn("--confidence nan: a probability from 0.5 to 0.999999", error("regressions", "--confidence",
                                                                                    "nan", code=2))
        for memory in "foo", "1", "-1", "0GB", "-4GB", "4XB":
            self.assertIn(f"--memory {memory}: a positive number with a unit is needed, KB, MB, GB or TB",
                          error("sites", f"--memory={memory}", code=2))
        for query in "", " ;\n", "-- nothing\n/* nothing\neither */ ;\n":
            bad.write_text(query)
            self.assertIn("bad.sql: the file has no query", error(str(bad), code=3))
        bad.write_bytes(b"select '\xff'")
        self.assertIn("bad.sql: ", error(str(bad), code=3))
        (self.folder / "python3").symlink_to(shutil.which("python3", path="/usr/bin"))
        self.assertIn("pip install duckdb", error("sites", code=5, env={"PATH": str(self.folder)}))
        self.assertIn("python3 is needed", error("sites", code=5, env={"PATH": "/nowhere"}))


if __name__ == "__main__":
    main("tarn", "sites")
