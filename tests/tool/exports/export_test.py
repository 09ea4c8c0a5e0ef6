#!/usr/bin/env python3
"""`tarn export`: each format read by the tool that it is for. `./dev readers` installs those that no package has; a
test whose reader is absent is skipped, and says so."""

import base64
import collections
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import HANG_S, PATHS, FolderTest, main
from stores import Store

FOLDER = tempfile.TemporaryDirectory(prefix="tarn-export-")
ROUNDS = 1000
TOTALS = {}  # by recording: what `tarn record` says at its end
SUMS = {}
READERS = pathlib.Path(os.environ.get("TARN_READERS") or pathlib.Path(__file__).resolve().parents[3] / "build/readers")


def setUpModule():
    for name, program in ("rec", [PATHS.sites, str(ROUNDS), "0"]), ("locks", [PATHS.locks, "200"]):
        result = subprocess.run([PATHS.tarn, "record", "--full", "-o", name, "--", *program], cwd=FOLDER.name,
                                timeout=HANG_S, check=False, capture_output=True, text=True)
        counts = re.search(r"([\d,]+) allocations, ([\d,]+) locks taken, ([\d,]+) system calls", result.stderr)
        TOTALS[name] = dict(zip(("allocations", "lock_acquisitions", "calls"),
                                (int(word.replace(",", "")) for word in counts.groups())))


def tearDownModule():
    FOLDER.cleanup()


def reader(name, *folders):
    """The path of a program, from PATH or from what `./dev readers` installed; skips the test without it."""
    path = os.pathsep.join([*(str(READERS / folder) for folder in folders), os.environ["PATH"]])
    path_ = shutil.which(name, path=path)
    if path_ is None:
        raise unittest.SkipTest(f"no {name}: ./dev readers")
    return path_


class ExportTest(FolderTest):
    def run_in(self, *arguments, **settings):
        return self.run_program(*arguments, cwd=FOLDER.name, **{"text": False, **settings})

    def export(self, form, *arguments, recording="rec"):
        return self.run_in(PATHS.tarn, "export", recording, "--format", form, *arguments).stdout

    def exported(self, form, *arguments, recording="rec"):
        path = self.folder / f"{recording}.{form}"
        path.write_bytes(self.export(form, *arguments, recording=recording))
        return path

    def sums(self, recording="rec"):
        """Of each measure, by the simplest of the formats."""
        if recording in SUMS:
            return SUMS[recording]
        options = self.run_in(PATHS.tarn, "export", "--help").stdout.decode()
        sums = {}
        for measure in re.search(r"--measure NAME:\{(.*)\}", options)[1].split(","):
            lines = self.export("collapsed", "--measure", measure, recording=recording).decode().splitlines()
            sums[measure] = sum(int(line.rpartition(" ")[2]) for line in lines)
        SUMS[recording] = sums
        return sums


class Collapsed(ExportTest):
    def test_measures_add_up_to_what_was_recorded(self):
        for recording, totals in TOTALS.items():
            sums = dict(self.sums(recording))
            # An export has the conditions, too, which are no locks.
            text = self.export("collapsed", "--measure", "lock_acquisitions", recording=recording).decode()
            sums["lock_acquisitions"] -= sum(int(line.rpartition(" ")[2]) for line in text.splitlines()
                                             if ": condition]" in line)
            self.assertEqual({total: sums[total] for total in totals}, totals)

    def test_a_stack_is_named_from_thread_to_category(self):
        lines = self.export("collapsed", "--measure", "allocations").decode().splitlines()
        self.assertTrue(any(";main;" in line and f";grow;[same-thread] {9 * ROUNDS}" in line for line in lines), lines)
        self.assertTrue(all(re.match(r"[\w ]+ \(?\d+\)?;", line) for line in lines), lines)

    def test_threads_have_the_names_that_they_ended_with(self):
        self.run_in(PATHS.tarn, "record", "--heap", "--full", "-o", "named", "--", PATHS.threads, "2", "1000", "end",
                    code=7)
        names = {line.partition(";")[0] for line in self.export("collapsed", recording="named").decode().splitlines()}
        self.assertEqual(len([name for name in names if re.fullmatch(r'w " \[2J \(\d+\)', name)]), 2, names)

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
            jsonschema.validate(json.loads(self.export("speedscope", recording=recording)),
                                json.loads(schema.read_text()))

    def test_frames_have_files_and_lines(self):
        frames = json.loads(self.export("speedscope"))["shared"]["frames"]
        grow = next(frame for frame in frames if frame["name"] == "grow")
        self.assertTrue(grow["file"].endswith("sites.cpp"))
        self.assertIn("realloc", pathlib.Path(grow["file"]).read_text().splitlines()[grow["line"] - 1])


class Firefox(ExportTest):
    def pq(self, *arguments):
        session = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        return self.run_in(reader("profiler-cli", "node_modules/.bin"), *arguments, env=session).stdout.decode()

    def test_the_profiler_reads_it(self):
        path = self.exported("firefox")
        self.pq("load", str(path))
        self.addCleanup(lambda: self.pq("stop", "--all"))
        lines = self.pq("thread", "list").splitlines()
        track = next(line.split()[0].lstrip("*") or line.split()[1] for line in lines if "Blocks allocated" in line)
        self.pq("thread", "select", track)
        samples = self.pq("thread", "samples", "--limit", "1000")
        self.assertIn("same-thread", samples)
        self.assertRegex(samples, rf"tool_sites!grow - .*{9 * ROUNDS}")

    def test_every_thread_has_a_track_of_each_measure(self):
        profile = json.loads(self.export("firefox"))
        tracks = [(thread["processName"], thread["name"]) for thread in profile["threads"]]
        self.assertEqual(len(tracks), len(set(tracks)))
        sums = collections.Counter()
        for thread in profile["threads"]:
            sums[thread["processName"]] += sum(thread["samples"]["weight"])
        self.assertEqual(sums["Bytes allocated"], self.sums()["bytes"])


class Pprof(ExportTest):
    def pprof(self, path, *arguments):
        return self.run_in(reader("go"), "tool", "pprof", *arguments, str(path)).stdout.decode()

    def test_go_reads_every_measure(self):
        for recording in "rec", "locks":
            path, sums = self.exported("pprof", recording=recording), self.sums(recording)
            raw = self.pprof(path, "-raw")
            head, _, body = raw.partition("Samples:\n")
            kinds, *lines = body.partition("Locations\n")[0].splitlines()
            tallies = collections.Counter()
            for line in lines:
                counts, colon, _ = line.partition(":")
                if colon and counts.replace(" ", "").isdigit():
                    for kind, count in zip(kinds.split(), counts.split()):
                        tallies[kind.partition("/")[0]] += int(count)
            for measure, expected in sums.items():
                self.assertEqual(tallies[measure], expected, (measure, head))

    def test_go_finds_functions_lines_and_labels(self):
        path = self.exported("pprof")
        self.assertRegex(self.pprof(path, "-top", "-sample_index=allocations"), rf"\n +{9 * ROUNDS} .* grow\n")
        self.assertRegex(self.pprof(path, "-lines", "-top", "-sample_index=allocations"), r" grow .*sites\.cpp:\d+\n")
        self.assertIn("tool_sites", self.pprof(path, "-top").partition("\n")[0], "the program comes first")
        tags = self.pprof(path, "-tags", "-sample_index=allocations")
        for text in "category:", "same-thread", "freed_by:", "source:", "thread:":
            self.assertIn(text, tags)

    def test_it_is_compressed(self):
        self.assertGreater(len(gzip.decompress(self.export("pprof"))), 1000)


class Perfetto(ExportTest):
    def trace(self, recording="rec"):
        """Read by the messages that Perfetto publishes for Python."""
        folders = list(READERS.glob("python/lib/python3*/site-packages"))
        if not folders:
            self.skipTest("no perfetto: ./dev readers")
        script = """
import json, sys
sys.path.insert(0, sys.argv[1])
from google.protobuf.json_format import MessageToDict
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace.FromString(sys.stdin.buffer.read())
assert trace.IsInitialized()
print(json.dumps(MessageToDict(trace, preserving_proto_field_name=True)))
"""
        python = folders[0].parents[3] / "bin/python3"
        return json.loads(self.run_in(str(python), "-c", script, str(folders[0]),
                                      input=self.export("perfetto", recording=recording)).stdout)["packet"]

    def test_the_heap_is_a_dump_whose_names_are_there(self):
        packets = self.trace()
        names = next(packet["interned_data"] for packet in packets if "interned_data" in packet)
        functions = {function["iid"]: function["str"] for function in names["function_names"]}
        frames = {frame["iid"]: frame for frame in names["frames"]}
        stacks = {callstack["iid"]: callstack["frame_ids"] for callstack in names["callstacks"]}
        dump = next(packet["profile_packet"] for packet in packets if "profile_packet" in packet)["process_dumps"][0]
        self.assertEqual(sum(int(sample["alloc_count"]) for sample in dump["samples"]), TOTALS["rec"]["allocations"])
        self.assertEqual(sum(int(sample["self_allocated"]) for sample in dump["samples"]), self.sums()["bytes"])
        grown = max(dump["samples"], key=lambda sample: int(sample["alloc_count"]))
        inner = [frames[stack] for stack in stacks[grown["callstack_id"]]]
        self.assertEqual(base64.b64decode(functions[inner[-1]["function_name_id"]]), b"[same-thread]")
        self.assertEqual(base64.b64decode(functions[inner[-2]["function_name_id"]]), b"grow")
        self.assertGreater(inner[-2]["line_number"], 0)

    def test_slices_are_as_long_as_what_they_stand_for(self):
        packets, begun, long, acquisitions = self.trace("locks"), {}, 0, 0
        for packet in packets:
            event = packet.get("track_event", {})
            if event.get("type") == "TYPE_SLICE_BEGIN":
                begun[event["track_uuid"]] = int(packet["timestamp"])
                notes = {note["name"]: note for note in event["debug_annotations"]}
                acquisitions += int(notes.get("lock_acquisitions", {}).get("uint_value", 0))
            elif event:
                long += int(packet["timestamp"]) - begun.pop(event["track_uuid"])
        sums = self.sums("locks")
        self.assertFalse(begun)
        self.assertEqual(acquisitions, TOTALS["locks"]["lock_acquisitions"])
        self.assertEqual(long, sums["lock_wait"] + sums["call_time"])


class Rows(ExportTest):
    def rows(self, recording="rec", *arguments):
        return [json.loads(line) for line in self.export("rows", *arguments, recording=recording).splitlines()]

    def test_the_page_names_every_column(self):
        page = pathlib.Path(__file__).resolve().parents[3] / "docs/guide/fleet.md"
        table = page.read_text().partition("| column | content |")[2].partition("\n\n")[0]
        column_names = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))
        measures = set(self.sums())
        for row in self.rows():
            self.assertEqual(sorted(row), sorted({*column_names, *measures}))
            self.assertEqual(row["schema"], 1)

    def test_two_runs_of_a_build_have_the_same_ids(self):
        self.run_in(PATHS.tarn, "record", "--full", "-o", "again", "--", PATHS.sites, str(ROUNDS), "0")
        first, second = self.rows(), self.rows("again")

        def ids(rows):
            return {(row["build"], row["site"], row["function_id"]) for row in rows if row["function"] == "grow"}

        self.assertEqual(len(ids(first)), 1)
        self.assertEqual(ids(first), ids(second))
        self.assertRegex(first[0]["build"], "^[0-9a-f]{40}$")
        self.assertEqual({row["recording"] for row in first}, {row["recording"] for row in self.rows()})
        self.assertNotEqual({row["recording"] for row in first}, {row["recording"] for row in second})
        self.assertEqual(len({row["function_id"] for row in first}), len({row["function"] for row in first}))

    def test_labels_and_facts_are_in_every_row(self):
        for row in self.rows():
            self.assertEqual((row["host"], row["service"], row["version"], row["container"], row["labels"]),
                             (os.uname().nodename, "tool_sites", row["build"], "", ""))
            self.assertGreater(row["length"], 0)
            self.assertGreater(row["started"], 1_700_000_000)
        arguments = [word for label in ("host=h1", "service=shop", "version=1.4=b", "container=c", "zone=a",
                                           "region=eu")
                     for word in ("--label", label)]
        for row in self.rows("rec", *arguments):
            self.assertEqual((row["host"], row["service"], row["version"], row["container"], row["labels"]),
                             ("h1", "shop", "1.4=b", "c", "region=eu;zone=a"))

    def test_remedies_have_the_savings_of_the_report(self):
        report = json.loads(self.run_in(PATHS.tarn, "report", "--json", "--quick", "--stacks", "--top", "200",
                                        "rec").stdout)
        grow = next(site["predicted"] for site in report["sites"] if site["stack"][0]["function"] == "grow")
        row = next(row for row in self.rows() if row["function"] == "grow" and row["source"] == "heap")
        remedy = next(remedy for remedy in grow["remedies"] if remedy["name"] == row["remedy"])
        for saving, reported in zip((row["saving_low"], row["saving_high"]), remedy["saved_ns"]):
            self.assertAlmostEqual(saving, reported, delta=1)
        self.assertAlmostEqual(row["cost"], sum(grow["now_ns"]) / 2, delta=1)
        self.assertGreater(row["saving_low"], 0)


class Parquet(ExportTest):
    def with_duckdb(self):
        """An environment in which DuckDB is found, as somebody who installed it has one."""
        python = READERS / "python/bin/python3"
        if subprocess.run([python if python.exists() else "python3", "-c", "import duckdb"], capture_output=True,
                          timeout=HANG_S, check=False).returncode != 0:
            self.skipTest("no duckdb: ./dev readers")
        return {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"} if python.exists() else dict(os.environ)

    def test_duckdb_answers_the_questions_of_the_docs(self):
        environment = self.with_duckdb()
        for recording in TOTALS:
            path = self.folder / f"{recording}.parquet"
            self.run_in(PATHS.tarn, "export", recording, "--format", "parquet", "-o", str(path), env=environment)
        page = pathlib.Path(__file__).resolve().parents[3] / "docs/guide/export.md"
        queries = re.search(r"```sql\n(.*?)```", page.read_text(), re.DOTALL)[1].split(";\n")
        queries = [query for query in queries if query.strip()]
        self.assertEqual(len(queries), 3)
        answers = []
        for query in [*queries, "select sum(allocations), sum(calls), sum(lock_acquisitions) from '*.parquet'"]:
            script = "import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.argv[1]).fetchall(), default=str))"
            result = self.run_in("sh", "-c", 'cd "$1" && python3 -c "$2" "$3"', "sh", str(self.folder), script, query,
                                 env=environment)
            answers.append(json.loads(result.stdout))
        self.assertTrue(all(answers), answers)
        self.assertEqual([int(answer) for answer in answers[-1][0]],
                         [sum(totals[kind] for totals in TOTALS.values())
                          for kind in ("allocations", "calls", "lock_acquisitions")])

    def test_without_duckdb_the_cure_is_named(self):
        result = self.run_in(PATHS.tarn, "export", "rec", "--format", "parquet", code=5, env={"PATH": str(self.folder)})
        self.assertIn(b"pip install duckdb", result.stderr)


class Push(ExportTest):
    def test_a_store_takes_it(self):
        store = Store()
        self.addCleanup(store.close)
        self.run_in(PATHS.tarn, "export", "rec", "--push", store.url + "/")
        self.run_in(PATHS.tarn, "export", "rec", "--push", store.url, "--label", "service=a&b", "--label", "region=eu")
        self.assertRegex(store.profiles[0].name, r"^tool_sites\{version=[0-9a-f]+,host=[^,]+\}$")
        self.assertRegex(store.profiles[1].name, r"^a&b\{version=[0-9a-f]+,host=[^,]+,region=eu\}$")
        self.assertEqual(store.profiles[0].body, gzip.decompress(self.export("pprof")))

    def test_what_a_store_refuses_is_reported(self):
        store = Store([422])
        self.addCleanup(store.close)
        result = self.run_in(PATHS.tarn, "export", "rec", "--push", store.url, code=3)
        self.assertEqual(result.stderr.decode(),
                         f"tarn: {store.url} did not take the profile: it answers 422: as it is\n")
        with socket.create_server(("127.0.0.1", 0)) as unused:
            away = f"http://127.0.0.1:{unused.getsockname()[1]}"
        result = self.run_in(PATHS.tarn, "export", "rec", "--push", away, code=3)
        self.assertIn(b"did not take the profile: Couldn't connect to server", result.stderr)
        result = self.run_in(PATHS.tarn, "export", "rec", "--push", "ftp://127.0.0.1", code=2)
        self.assertIn(b"must begin with http", result.stderr)


class Command(ExportTest):
    def test_wrong_arguments_of_export_are_named(self):
        def error(*arguments, code=2):
            return self.run_in(PATHS.tarn, "export", *arguments, code=code).stderr.decode()

        self.assertIn("--format FORMAT or --push URL is required", error("rec"))
        self.assertIn("exclude each other", error("rec", "--format", "pprof", "--push", "http://127.0.0.1"))
        self.assertIn("nonsense", error("rec", "--format", "nonsense"))
        self.assertIn("no/such", error("no/such", "--format", "pprof", code=3))
        self.assertIn("nonsense", error("rec", "--format", "collapsed", "--measure", "nonsense"))
        self.assertIn("contains all measures", error("rec", "--format", "pprof", "--measure", "bytes"))
        self.assertIn("--label zone: expected KEY=VALUE", error("rec", "--format", "rows", "--label", "zone"))
        self.assertIn("--label =a: expected KEY=VALUE", error("rec", "--format", "rows", "--label", "=a"))
        self.assertIn("--label a=2: a is given twice",
                      error("rec", "--format", "rows", "--label", "a=1", "--label", "a=2"))
        self.assertIn("--label works with --format parquet and rows, and with --push, only",
                      error("rec", "--format", "pprof", "--label", "a=1"))
        self.assertIn("No such file or directory; make the folder no/such first",
                      error("rec", "--format", "pprof", "-o", "no/such/folder", code=3))
        self.assertIn("No space left", error("rec", "--format", "pprof", "-o", "/dev/full", code=3))

    def test_no_binary_on_a_terminal(self):
        ours, theirs = pty.openpty()
        result = subprocess.run([PATHS.tarn, "export", "rec", "--format", "pprof"], stdout=theirs,
                                stderr=subprocess.PIPE,
                                cwd=FOLDER.name, timeout=HANG_S, check=False)
        os.close(theirs)
        os.close(ours)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot be written to a terminal", result.stderr)

    def test_a_damaged_recording_is_exported_up_to_there(self):
        contents = pathlib.Path(FOLDER.name, "rec").read_bytes()
        half = self.folder / "half"
        half.write_bytes(contents[:-20])
        for form in "collapsed", "firefox", "perfetto", "pprof", "rows", "speedscope":
            result = self.run_in(PATHS.tarn, "export", str(half), "--format", form)
            self.assertIn(b"the report covers the part before the damage", result.stderr)
            self.assertTrue(result.stdout)


if __name__ == "__main__":
    main("tarn", "sites", "locks", "threads")
