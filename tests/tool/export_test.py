#!/usr/bin/env python3
"""`tarn export`: each format read by the tool that it is for. `./dev readers` installs those that no package has; a test
whose reader is absent is skipped, and says so."""

import argparse
import collections
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PATHS = argparse.Namespace()
FOLDER = tempfile.TemporaryDirectory(prefix="tarn-export-")
ROUNDS = 1000
TOTALS = {}  # by recording: what `tarn record` says at its end
READERS = pathlib.Path(os.environ.get("TARN_READERS") or pathlib.Path(__file__).resolve().parents[2] / "build/readers")


def setUpModule():
    for name, program in ("rec", [PATHS.sites, str(ROUNDS), "0"]), ("locks", [PATHS.locks, "200"]):
        result = subprocess.run([PATHS.tarn, "record", "--full", "-o", name, "--", *program], cwd=FOLDER.name,
                                timeout=100, check=False, capture_output=True, text=True)
        words = re.search(r"(\d+) allocations, (\d+) locks taken, (\d+) system calls", result.stderr)
        TOTALS[name] = dict(zip(("allocations", "lock_acquisitions", "calls"), map(int, words.groups())))


def tearDownModule():
    FOLDER.cleanup()


def reader(name, *folders):
    """The path of a program, from PATH or from what `./dev readers` installed; skips the test without it."""
    path = os.pathsep.join([*(str(READERS / each) for each in folders), os.environ["PATH"]])
    found = shutil.which(name, path=path)
    if found is None:
        raise unittest.SkipTest(f"no {name}: ./dev readers")
    return found


class ExportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-export-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_in(self, *words, code=0, **more):
        result = subprocess.run(words, capture_output=True, timeout=60, check=False, cwd=FOLDER.name, **more)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def export(self, form, *words, recording="rec"):
        return self.run_in(PATHS.tarn, "export", recording, "--to", form, *words).stdout

    def exported(self, form, *words, recording="rec"):
        path = self.folder / f"{recording}.{form}"
        path.write_bytes(self.export(form, *words, recording=recording))
        return path

    def sums(self, recording="rec"):
        """Of each measure, by the simplest of the formats."""
        options = self.run_in(PATHS.tarn, "export", "--help").stdout.decode()
        sums = {}
        for measure in re.search(r"--measure NAME:\{(.*)\}", options)[1].split(","):
            lines = self.export("collapsed", "--measure", measure, recording=recording).decode().splitlines()
            sums[measure] = sum(int(each.rpartition(" ")[2]) for each in lines)
        return sums


class Collapsed(ExportTest):
    def test_measures_add_up_to_what_was_recorded(self):
        for recording, totals in TOTALS.items():
            sums = self.sums(recording)
            self.assertEqual({each: sums[each] for each in totals}, totals)

    def test_a_stack_is_named_from_thread_to_category(self):
        lines = self.export("collapsed", "--measure", "allocations").decode().splitlines()
        self.assertTrue(any(";main;" in each and f";grow;[transient] {9 * ROUNDS}" in each for each in lines), lines)
        self.assertTrue(all(re.match(r"[\w ]+ \(?\d+\)?;", each) for each in lines), lines)

    def test_threads_have_the_names_that_they_ended_with(self):
        self.run_in(PATHS.tarn, "record", "--heap", "-o", "named", "--", PATHS.threads, "2", "1000", "end", code=7)
        names = {each.partition(";")[0] for each in self.export("collapsed", recording="named").decode().splitlines()}
        self.assertEqual(len([each for each in names if re.fullmatch(r'w " \[2J \(\d+\)', each)]), 2, names)

    def test_inferno_draws_it(self):
        drawing = self.run_in(reader("inferno-flamegraph", "cargo/bin"), input=self.export("collapsed")).stdout
        self.assertIn(b"<title>grow (", drawing)


class Speedscope(ExportTest):
    def test_it_keeps_to_the_published_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no python3-jsonschema")
        schema = READERS / "node_modules/speedscope/dist/release/file-format-schema.json"
        if not schema.is_file():
            self.skipTest("no speedscope: ./dev readers")
        for recording in "rec", "locks":
            jsonschema.validate(json.loads(self.export("speedscope", recording=recording)), json.loads(schema.read_text()))

    def test_frames_have_files_and_lines(self):
        frames = json.loads(self.export("speedscope"))["shared"]["frames"]
        grow = next(each for each in frames if each["name"] == "grow")
        self.assertTrue(grow["file"].endswith("sites.cpp"))
        self.assertIn("realloc", pathlib.Path(grow["file"]).read_text().splitlines()[grow["line"] - 1])


class Firefox(ExportTest):
    def pq(self, *words):
        session = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        return self.run_in(reader("profiler-cli", "node_modules/.bin"), *words, env=session).stdout.decode()

    def test_the_profiler_reads_it(self):
        path = self.exported("firefox")
        self.pq("load", str(path))
        self.addCleanup(lambda: self.pq("stop", "--all"))
        listed = self.pq("thread", "list").splitlines()
        track = next(each.split()[0].lstrip("*") or each.split()[1] for each in listed if "Blocks allocated" in each)
        self.pq("thread", "select", track)
        shown = self.pq("thread", "samples", "--limit", "1000")
        self.assertIn("transient", shown)
        self.assertRegex(shown, rf"tool_sites!grow - .*{9 * ROUNDS}")

    def test_every_thread_has_a_track_of_each_measure(self):
        profile = json.loads(self.export("firefox"))
        tracks = [(each["processName"], each["name"]) for each in profile["threads"]]
        self.assertEqual(len(tracks), len(set(tracks)))
        sums = collections.Counter()
        for each in profile["threads"]:
            sums[each["processName"]] += sum(each["samples"]["weight"])
        self.assertEqual(sums["Bytes allocated"], self.sums()["bytes"])


class Pprof(ExportTest):
    def pprof(self, path, *words):
        return self.run_in(reader("go"), "tool", "pprof", *words, str(path)).stdout.decode()

    def test_go_reads_every_measure(self):
        for recording in "rec", "locks":
            path, sums = self.exported("pprof", recording=recording), self.sums(recording)
            raw = self.pprof(path, "-raw")
            head, _, rest = raw.partition("Samples:\n")
            kinds, *lines = rest.partition("Locations\n")[0].splitlines()
            found = collections.Counter()
            for line in lines:
                counts, colon, _ = line.partition(":")
                if colon and counts.replace(" ", "").isdigit():
                    for kind, count in zip(kinds.split(), counts.split()):
                        found[kind.partition("/")[0]] += int(count)
            for measure, expected in sums.items():
                self.assertEqual(found[measure], expected, (measure, head))

    def test_go_finds_functions_lines_and_labels(self):
        path = self.exported("pprof")
        self.assertRegex(self.pprof(path, "-top", "-sample_index=allocations"), rf"\n +{9 * ROUNDS} .* grow\n")
        self.assertRegex(self.pprof(path, "-lines", "-top", "-sample_index=allocations"), r" grow .*sites\.cpp:\d+\n")
        self.assertIn("tool_sites", self.pprof(path, "-top").partition("\n")[0], "the program comes first")
        tags = self.pprof(path, "-tags", "-sample_index=allocations")
        for each in "category:", "transient", "freed_by:", "source:", "thread:":
            self.assertIn(each, tags)

    def test_it_is_compressed(self):
        self.assertGreater(len(gzip.decompress(self.export("pprof"))), 1000)


class Command(ExportTest):
    def test_errors(self):
        def error(*words, code=2):
            return self.run_in(PATHS.tarn, "export", *words, code=code).stderr.decode()

        self.assertIn("--to is required", error("rec"))
        self.assertIn("nonsense", error("rec", "--to", "nonsense"))
        self.assertIn("no/such", error("no/such", "--to", "pprof"))
        self.assertIn("nonsense", error("rec", "--to", "collapsed", "--measure", "nonsense"))
        self.assertIn("has all of them", error("rec", "--to", "pprof", "--measure", "bytes"))
        self.assertIn("No such file", error("rec", "--to", "pprof", "-o", "no/such/folder"))
        self.assertIn("No space left", error("rec", "--to", "pprof", "-o", "/dev/full"))

    def test_no_binary_on_a_terminal(self):
        ours, theirs = pty.openpty()
        result = subprocess.run([PATHS.tarn, "export", "rec", "--to", "pprof"], stdout=theirs, stderr=subprocess.PIPE,
                                cwd=FOLDER.name, timeout=60, check=False)
        os.close(theirs)
        os.close(ours)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"not for terminals", result.stderr)

    def test_a_damaged_recording_is_exported_up_to_there(self):
        whole = pathlib.Path(FOLDER.name, "rec").read_bytes()
        half = self.folder / "half"
        half.write_bytes(whole[:-20])
        for form in "collapsed", "firefox", "pprof", "speedscope":
            result = self.run_in(PATHS.tarn, "export", str(half), "--to", form)
            self.assertIn(b"what came before is shown", result.stderr)
            self.assertTrue(result.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("tarn", "sites", "locks", "threads"):
        parser.add_argument(f"--{name}", required=True)
    PATHS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
