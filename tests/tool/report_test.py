#!/usr/bin/env python3
"""`tarn report`: where prices come from, what is predicted from them, and how it looks on a terminal."""

import itertools
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

import prices
from paths import HANG_S, PATHS, FolderTest, json_in, main, record_sites

SHARED = tempfile.TemporaryDirectory(prefix="tarn-report-")


def setUpModule():
    record_sites(SHARED.name)
    prices.use_own()


class ReportTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.prices = self.folder / "tarn/costs.json"
        self.prices.parent.mkdir()
        shutil.copy(f"{prices.CACHE.name}/tarn/costs.json", self.prices)

    def tarn(self, *arguments, code=0, cwd=SHARED.name, **environment):
        return super().tarn(*arguments, code=code, cwd=cwd,
                            env={**os.environ, "XDG_CACHE_HOME": str(self.folder), **environment})


class Report(ReportTest):
    def report(self, *arguments, **settings):
        return self.tarn("report", "--quick", *arguments, "rec", **settings).stdout

    def json(self, *arguments, **environment):
        return json.loads(self.report("--json", "--top", "1000", *arguments, **environment))

    def test_json_written_in_parts_is_as_if_written_at_once(self):
        for command in (), ("--stacks", "--top", "100"), ("--top", "0"), ("--source", "heap"):
            # Of a fraction the last digit is each library's own.
            output = re.sub(r"\d+\.\d+(e[+-]\d+)?", "1", self.report("--json", *command))
            report = json.loads(output)
            self.assertEqual(output, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
            self.assertEqual(list(report), sorted(report))

    def test_json_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([PATHS.tarn, "report", "--quick", "--json", "rec"], stdout=full,
                                    stderr=subprocess.PIPE, text=True,
                                    timeout=HANG_S, check=False, cwd=SHARED.name,
                                    env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "empty")})
        self.assertEqual((result.returncode, result.stderr), (3, "tarn: standard output: No space left on device\n"))

    def test_prices_are_measured_once(self):
        before = self.prices.read_bytes()
        self.report()
        self.assertEqual(self.prices.read_bytes(), before)
        self.report("--calibrate")
        self.assertNotEqual(self.prices.read_bytes(), before)
        # The other files are of its own recording, and of the replays.
        file_names = {path.name for path in self.prices.parent.iterdir()} - {"recorder-2-full.json", "replays.json"}
        self.assertEqual(file_names, {self.prices.name})

    def test_two_reports_of_a_recording_say_the_same(self):
        first = self.tarn("report", "--json", "rec").stdout
        file = self.prices.parent / "replays.json"
        stored = json.loads(file.read_text())
        self.assertTrue(stored["keys"], "nothing was replayed")
        self.assertEqual(self.tarn("report", "--json", "rec").stdout, first)
        self.report("--calibrate")
        self.assertEqual(json.loads(file.read_text()), {}, "new prices need new replays")

    def test_replays_that_cannot_be_used_are_measured_again(self):
        file = self.prices.parent / "replays.json"
        self.tarn("report", "rec")
        stored = json.loads(file.read_text())
        for text in "[", '{"machine": 7}', json.dumps({**stored, "machine": "another", "keys": [0], "results": []}):
            file.write_text(text)
            self.tarn("report", "rec")
            measured = json.loads(file.read_text())
            self.assertEqual((measured["keys"], measured["machine"]), (stored["keys"], stored["machine"]))

    def test_prices_of_other_facts_are_measured_again(self):
        measured = json.loads(self.prices.read_text())
        tarn_price = measured["tarn"]
        measured["tarn"] = "another"
        self.prices.write_text(json.dumps(measured))
        self.report()
        self.assertEqual(json.loads(self.prices.read_text())["tarn"], tarn_price)

    def test_disturbed_prices_are_measured_again_later(self):
        hogs = [subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"]) for _ in range(3)]
        for hog in hogs:
            self.addCleanup(hog.wait, HANG_S)
            self.addCleanup(hog.kill)
        subprocess.run(["taskset", "-c", "0", PATHS.tarn, "report", "--quick", "--calibrate", "rec"], check=True,
                       capture_output=True, timeout=HANG_S, cwd=SHARED.name,
                       env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
        for hog in hogs:
            hog.kill()
        measured = json.loads(self.prices.read_text())
        self.assertTrue(measured["is_disturbed"])
        self.report()
        self.assertEqual(json.loads(self.prices.read_text()), measured, "soon after, they are good enough")
        self.prices.write_text(json.dumps({**measured, "date": "2020-01-01T00:00:00Z"}))
        self.report()
        self.assertNotIn("2020", json.loads(self.prices.read_text())["date"])
        del measured["is_disturbed"]
        self.prices.write_text(json.dumps({**measured, "date": "2020-01-01T00:00:00Z"}))
        self.report()
        self.assertIn("2020", json.loads(self.prices.read_text())["date"], "those of an idle machine stay")

    def test_prices_that_cannot_be_read_or_kept_are_done_without(self):
        for text in "[", '{"machine": 7}':
            self.prices.write_text(text)
            self.report()
            self.assertIn("pair_ns", json.loads(self.prices.read_text()))
        self.report(XDG_CACHE_HOME="", HOME="")

    def test_all_servers_have_prices(self):
        pairs = json.loads(self.prices.read_text())["pair_ns"]
        every = {"soon", "busy", "burst", "cold", "handed", "met"}
        self.assertEqual({name: set(values) for name, values in pairs.items()},
                         {"alone": every - {"handed", "met"}, "malloc": every, "drop_in": every, "pooled": every,
                          "shared_pool": every, "arena": every - {"handed", "met"}, "recycled": {"soon", "busy"}})
        for values in pairs.values():
            for by_size in values.values():
                self.assertEqual(len(by_size), 16)
                self.assertTrue(all(price > 0 for price in by_size), by_size)

    def test_every_remedy_is_predicted_as_a_range(self):
        prices.simplify(self.prices)
        report = self.json()
        site = max(report["sites"], key=lambda site: site["reallocs"])
        for remedy in site["predicted"]["remedies"]:
            for field in "remaining_ns", "saved_ns", "saved_share":
                low, high = remedy[field]
                self.assertLessEqual(low, high, (remedy["name"], field))
        self.assertEqual(site["predicted"]["remedies"][0]["name"], "reserve")
        self.assertEqual(site["predicted"]["remedies"][0]["calls_saved"], 8 * 2000)
        self.assertIn("std::realloc(buffer, size)", site["source_line"])
        self.assertGreater(report["heap"]["predicted"]["now_ns"][0], 0)
        low, high = report["recorder"]["overhead"]["cpu_ns"]
        self.assertTrue(0 <= low < high, (low, high))  # 0 where the machine was busy while the costs were measured
        costs = [sum(site["predicted"]["now_ns"]) for site in report["sites"]]
        self.assertEqual(costs, sorted(costs, reverse=True), "the dearest first")

    def test_a_measured_time_replaces_the_estimate(self):
        report = self.json("--cpu-seconds", "0.25")
        self.assertEqual(report["recorder"]["overhead"]["program_cpu_ns"], [0.25e9, 0.25e9])

    def test_the_shares_of_sites_add_up_to_that_of_the_heap(self):
        for choice in itertools.product(((), ("--cpu-seconds", "0.001")), ((), ("--stacks",)), (("--quick",), ())):
            report = json.loads(self.tarn("report", "--json", "--top", "1000", *sum(choice, ()), "rec").stdout)
            heap = report["heap"]["predicted"]
            for field in "now_ns", "share":
                for end in 0, 1:
                    with self.subTest(choice=choice, field=field, end=end):
                        sites = sum(site["predicted"][field][end] for site in report["sites"])
                        self.assertAlmostEqual(sites / heap[field][end], 1, places=6)
            self.assertLessEqual(heap["share"][1], 1)

    def test_stacks_of_one_function_are_one_site(self):
        def leaves(report):
            return [site for site in report["sites"]
                    if "::leaf(" in f"::{site['stack'][site['frame_index']]['function']}("]

        leaves_by_stack = leaves(self.json("--stacks"))
        self.assertEqual([site["callers"] for site in leaves_by_stack], [[], []])
        (site,) = leaves(self.json())
        self.assertEqual((site["stacks"], site["allocations"]),
                         (2, sum(site["allocations"] for site in leaves_by_stack)))
        self.assertEqual([(caller["function"].split("(")[0].split("::")[-1], caller["allocations"])
                          for caller in site["callers"]],
                         [("right", 1333), ("left", 667)])
        self.assertIn("67 % by", self.report("--cpu-seconds", "0.001"))

    def test_a_category_selects_its_sites(self):
        sites = self.json("--category", "cross-thread")["sites"]
        self.assertEqual({site["category"] for site in sites}, {"cross-thread"})
        text = " ".join(self.report("--category", "cross-thread", "--cpu-seconds", "0.001").split())
        self.assertRegex(text, r"mostly: thread \d+ freed what thread \d+ allocated")
        self.report("--category", "nonsense", code=2)

    def test_the_verdict_does_not_depend_on_the_choice_of_sites(self):
        mostly_heap = ["--cpu-seconds", "0.001"]  # seconds: as if the program did little else

        def verdict_in(text):
            return re.search(r"^Worth doing: (?:.|\n   )*", text, re.M)[0]

        total_line = verdict_in(self.report(*mostly_heap))
        self.assertRegex(total_line, r"^Worth doing: heap\. The first remedy at each of \d+ sites ")
        for choice in (["--top", "1"], ["--category", "kept"]):
            self.assertEqual(verdict_in(self.report(*mostly_heap, *choice)), total_line)
        report = self.json(*mostly_heap)
        (verdict,), remedies = report["verdicts"], report["heap"]["predicted"]["first_remedies"]
        self.assertEqual((verdict["source"], verdict["verdict"]), ("heap", "worth doing"))
        self.assertEqual((verdict["remedies"], verdict["saved_ns"]), (remedies["sites"], remedies["saved_ns"]))
        self.assertIn(f"first remedy at each of {remedies['sites']} sites", total_line)
        self.assertEqual("Worth doing: heap. " + verdict["text"], re.sub(r"\n +", " ", total_line))
        self.assertRegex(self.report("--cpu-seconds", "1000"), "\nNo remedy found for heap. Next: tarn record --cpu ")

    def test_what_tarn_run_saves_is_no_lower_bound(self):
        prices.simplify(self.prices)  # by which the drop-in surely saves
        gain = re.search(r"^Without a change: tarn run (.*(\n {3}.*)*)", self.report(), re.MULTILINE)[1]
        self.assertRegex(gain, r"^(may save|saves) about ")

    def test_without_a_name_it_is_the_file_that_record_writes(self):
        folder = self.folder / "default"
        folder.mkdir()
        missing = self.tarn("report", "--quick", code=3, cwd=folder)
        self.assertEqual(missing.stderr, "tarn: tarn.rec: No such file or directory; make a recording with: "
                                         "tarn record -- PROGRAM\n")
        shutil.copy(f"{SHARED.name}/rec", folder / "tarn.rec")
        self.assertEqual(self.tarn("report", "--quick", "--json", cwd=folder).stdout, self.report("--json"))

    def test_a_site_of_little_cost_without_a_gain_is_one_line(self):
        lines = self.report("--cpu-seconds", "1000").splitlines()
        titles = [line for line in lines if re.match(r"\d+\. ", line)]
        self.assertTrue(titles)
        for title in titles:
            self.assertRegex(title, "; nothing to gain$")
            self.assertIn(lines[lines.index(title) + 1], "")

    def test_small_sites_are_counted_by_themselves_with_the_option_that_shows_them(self):
        allocations = [site["allocations"] for site in self.json()["sites"]]
        large, small = (sum((count >= 1000) == is_large for count in allocations) for is_large in (True, False))
        self.assertGreater(large, 1)
        self.assertGreater(small, 1)
        small_sites = rf"{small} (more )?sites below 1,000 allocations: --json --top N\n"
        text = self.report("--top", "1000")
        self.assertRegex(text, r"\n\n" + small_sites, "--top shows none of them")
        self.assertEqual(len(re.findall(r"(?m)^\d+\. ", text)), large)
        self.assertRegex(self.report("--top", "1"), rf"\n\n{large - 1} more sites?; --top N, [^\n]*\nand {small_sites}")

    def test_sizes_begin_with_what_blocks_have(self):
        report = self.report("--cpu-seconds", "0.001")
        self.assertRegex(report, r" (up to|\d+ to) [\d,]+ bytes each")
        self.assertNotIn(" 0 to ", report)

    def test_a_remedy_names_what_to_mind(self):
        notes = [remedy["note"] for site in self.json()["sites"][:5] for remedy in site["predicted"]["remedies"][:3]
                 if remedy["note"]]
        self.assertTrue(notes)
        self.assertIn(f"note: {notes[0][:60]}", self.report("--cpu-seconds", "0.001", "--alternatives"))

    def test_a_site_has_one_remedy_and_the_others_on_request(self):
        def remedies(*options):
            text = self.report("--cpu-seconds", "0.001", *options)
            return [site.count("   → ") for site in re.split(r"\n\n\d+\. ", text)[1:]]
        self.assertEqual(set(remedies()), {1})
        self.assertIn(3, remedies("--alternatives"))

    def test_a_program_that_was_replaced_is_named(self):
        program = self.folder / "program"
        shutil.copy(PATHS.sites, program)
        recording = str(self.folder / "rec")
        self.tarn("record", "--heap", "-o", recording, "--", str(program), "1000", "0")
        output = self.tarn("report", "--quick", recording).stdout
        self.assertNotIn("replaced", output)
        shutil.copy(PATHS.growing, program)
        output = self.tarn("report", "--quick", recording).stdout
        self.assertIn(f"{program} was replaced since the program loaded it: its functions have no names here.\n",
                      output)
        self.assertEqual(output.count("replaced since"), 1)
        page = self.folder / "page.html"
        for options, is_there in ([], True), (["--redact"], False):
            self.tarn("report", "--quick", "--html", str(page), *options, recording)
            self.assertEqual("was replaced" in json_in(page), is_there)
        program.unlink()
        report = json.loads(self.tarn("report", "--quick", "--json", recording).stdout)
        self.assertIn(f"{program} is missing", report["recorder"]["replaced"])

    def test_a_program_with_heaps_of_tarn_is_named(self):
        self.tarn("record", "--heap", "-o", self.folder / "own", "--", PATHS.tarn, "--version")
        for name, expected in (self.folder / "own", "tarn allocates from heaps of libtarn.a, too, "), ("rec", ""):
            text = self.tarn("report", "--quick", "--json", name).stdout
            self.assertEqual(json.loads(text)["recorder"]["unrecorded_heaps"][:len(expected) or None], expected)
        text = self.tarn("report", "--quick", self.folder / "own").stdout
        self.assertIn("of libtarn.a, too, which are not recorded", " ".join(text.split()))

    def test_a_source_selects_its_findings(self):
        full_report, heap = self.json(), self.json("--source", "heap")
        self.assertEqual(heap["sites"], full_report["sites"])
        self.assertEqual(heap["recorder"]["sources"], ["heap"])
        self.assertEqual(self.json("--source", "locks,heap")["sites"], full_report["sites"])
        refusal = self.tarn("report", "--source", "locks,cpu", "rec", code=2).stderr
        self.assertEqual(refusal, "tarn: rec has no locks and no cpu; record the program with tarn record --locks "
                                  "--cpu\n")
        self.report("--source", "nonsense", code=2)

    def test_text_fits_the_page_and_begins_with_a_summary(self):
        lines = self.report().splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        # Some lines more where the recording has few snapshots, or the threads waited for most of the run.
        self.assertIn("", lines[:17], lines[:18])
        self.assertTrue(any("The heap costs" in line for line in lines[:15]), lines[:16])
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


def shares_above_all(text):
    """Errors, changes and sums over threads are no shares."""
    figures = re.finditer(r"(?<![\d.,±+-])(?<!± )(?<!±  )([\d,]+(?:\.\d+)?) %(?! of one thread)", text)
    return [figure[0] for figure in figures if float(figure[1].replace(",", "")) > 100]


def shares_in(value, name=""):
    """The numbers below names that end with share."""
    if isinstance(value, dict):
        return [share for key, member in value.items() for share in shares_in(member, key)]
    if isinstance(value, list):
        return [share for member in value for share in shares_in(member, name)]
    return [value] if name.endswith("share") else []


class Shares(ReportTest):
    def test_the_rule_finds_what_it_is_for(self):
        self.assertEqual(shares_above_all("about 171 % of CPU (9–1,000.5 %)"), ["171 %", "1,000.5 %"])
        self.assertEqual(shares_above_all("90 % and 1,000.5 %)\n± 120 % +150.0 % 369 % of one thread"), ["1,000.5 %"])
        self.assertEqual(shares_in({"a": [{"saved_share": [1, 2]}], "b": 3, "share": 4}), [1, 2, 4])

    def test_none_is_above_all_unless_it_says_what_it_counts(self):
        programs = (5, PATHS.locks, "convoy", "10"), (0, PATHS.sites, "2000", "0"), (0, PATHS.growing)
        recordings = (), ("--full",), ("--sample", "1048576")
        for (code, *program), options in itertools.product(programs, recordings):
            self.tarn("record", *options, "-o", self.folder / "rec", "--", *program, code=code)
            for arguments in (), ("--cpu-seconds", "0.0001"), ("--cpu-seconds", "0.0001", "--stacks", "--alternatives"):
                with self.subTest(program=program, options=options, arguments=arguments):
                    request = ["report", "--quick", "--top", "1000", *arguments, self.folder / "rec"]
                    self.assertEqual(shares_above_all(self.tarn(*request).stdout), [])
                    shares = shares_in(json.loads(self.tarn(*request, "--json").stdout))
                    self.assertNotEqual(shares, [])
                    self.assertEqual([share for share in shares if share > 1], [])


class Replay(ReportTest):
    def test_buffers_grown_at_another_site_are_replayed(self):
        recording = str(self.folder / "growing")
        self.tarn("record", "--heap", "-o", recording, "--", PATHS.growing)
        output = self.tarn("report", recording)
        self.assertEqual(output.stderr, "")
        self.assertNotRegex(output.stdout, r"\b1 (sites|threads|blocks)\b")
        for share in re.findall(r"([\d.]+) %", output.stdout):
            self.assertLessEqual(float(share), 100, output.stdout)
        reason = "what a call costs the code around it is not known"
        for _ in range(5):  # on a busy machine, a recording may lack excerpts, or other work hide the cost of the calls
            report = json.loads(self.tarn("report", "--json", recording).stdout)
            if all(reason in site["predicted"]["reasons"] for site in report["sites"]):
                break
            self.tarn("record", "--heap", "-o", recording, "--", PATHS.growing)
            report = json.loads(self.tarn("report", "--json", recording).stdout)
        for site in report["sites"]:
            self.assertIn(reason, site["predicted"]["reasons"], "replayed")
            ranges = [site["predicted"]["now_ns"], site["predicted"]["share"]]
            for remedy in site["predicted"]["remedies"]:
                ranges += [remedy["remaining_ns"], remedy["saved_ns"], remedy["saved_share"]]
                self.assertLessEqual(remedy["saved_share"][1], 1)
            for low, high in ranges:
                self.assertLessEqual(low, high)


class Refused(ReportTest):
    def test_what_is_no_recording_is_named_and_not_read(self):
        for path, reason in (("/dev/zero", "not a recording of tarn"), (".", "Is a directory"),
                             ("nothing", "No such file or directory; make a recording with: tarn record -o nothing "
                                         "-- PROGRAM"), (PATHS.tarn, "not a recording of tarn")):
            result = self.tarn("report", path, code=3)
            self.assertEqual(result.stderr, f"tarn: {path}: {reason}\n")

    def test_a_small_stack_is_enough(self):
        for command in (["record", "--heap", "-o", f"{self.folder}/small", "--", "true"], ["report", "rec"],
                        ["report", "--html", f"{self.folder}/page.html", "rec"], ["gate", "rec", "--max", "sites <= 0"],
                        ["export", "--format", "pprof", "-o", f"{self.folder}/profile", "rec"]):
            result = subprocess.run(["sh", "-c", 'ulimit -s 64; exec "$@"', "sh", PATHS.tarn, *command], check=False,
                                    cwd=SHARED.name, capture_output=True, text=True, timeout=HANG_S,
                                    env={**os.environ, "XDG_CACHE_HOME": prices.CACHE.name})
            self.assertIn(result.returncode, (0, 1), f"{command}: {result.stderr}")

    def test_a_file_that_cannot_be_opened_was_not_replaced(self):
        result = subprocess.run(["sh", "-c", 'ulimit -n 5; exec "$@"', "sh", PATHS.tarn, "report", "--quick", "rec"],
                                check=False, cwd=SHARED.name, capture_output=True, text=True, timeout=HANG_S,
                                env={**os.environ, "XDG_CACHE_HOME": prices.CACHE.name})
        self.assertNotIn("was replaced", result.stdout)

    def test_a_file_that_could_not_be_opened_while_it_was_recorded_was_not_replaced(self):
        recording = str(self.folder / "few")
        reports = []
        for limit in range(8, 13):
            record = subprocess.run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", PATHS.tarn, "record", "--cpu",
                                     "-o", recording, "--", PATHS.sites, "20000", "0"], check=False,
                                    capture_output=True, text=True, timeout=HANG_S)
            if record.returncode == 0:
                reports.append(self.tarn("report", "--quick", recording).stdout)
        if not reports:
            self.skipTest("no CPU samples here")
        self.assertNotIn("was replaced", "".join(reports))


class Gate(ReportTest):
    def gate(self, *limits, code=0, options=()):
        return self.tarn("gate", "rec", *(word for limit in limits for word in ("--max", limit)), *options, code=code)

    def test_a_recording_within_its_limits_passes(self):
        passed = self.gate("kept allocations at function keep <= 2000",
                           "allocations at function make_temporaries <= 2k")
        self.assertEqual((passed.stdout, passed.stderr), ("Passed: rec keeps 2 limits.\n", ""))

    def test_what_was_not_recorded_is_said(self):
        recording = str(self.folder / "forked")
        self.tarn("record", "--heap", "-o", recording, "--", sys.executable, "-c",
                  "import os; [os.fork() or os._exit(0) for at in range(3)]")
        line = "not recorded: 3 forked processes; use tarn record --follow to record each process"
        for limit, code in ("sites <= 1G", 0), ("sites <= 0", 1):
            gate = self.tarn("gate", recording, "--max", limit, code=code)
            self.assertEqual(gate.stderr, f"tarn: {line}\ntarn: the limits are checked in what was recorded alone\n")
        gate = self.tarn("gate", recording, "--json", "--max", "sites <= 1G")
        self.assertEqual(json.loads(gate.stdout)["not_recorded"], [line])
        self.assertIn(f"tarn: {line}\n", gate.stderr)
        self.assertEqual(json.loads(self.gate("sites <= 1G", options=("--json",)).stdout)["not_recorded"], [])

    def test_each_broken_limit_is_one_line(self):
        broken = self.gate("kept allocations at function keep <= 1999",
                           "allocations at function make_temporaries <= 3", "allocations <= 1G", code=1)
        lines = broken.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0], "Failed: rec breaks 2 of 3 limits.", "the verdict comes first")
        self.assertIn("2,000, limit 1,999; largest at sites.cpp:", lines[1])
        self.assertIn("hoist", lines[2])
        self.assertEqual(broken.stderr, "")

    def test_the_gate_counts_and_advises_as_the_report_does(self):
        sites = json.loads(self.tarn("report", "--json", "--top", "9999", "rec").stdout)["sites"]
        for category in ("same-thread", "cross-thread", "kept"):
            of_category = [site for site in sites if site["category"] == category]
            gate = json.loads(self.gate(f"{category} allocations <= 0", options=("--json",), code=1).stdout)
            self.assertEqual(gate["limits"][0]["value"], sum(site["allocations"] for site in of_category), category)
        (temporaries,) = [site for site in sites
                         if "make_temporaries" in site["stack"][site["frame_index"]]["function"]]
        gate = json.loads(self.gate("allocations at function make_temporaries <= 0", options=("--json",),
                                    code=1).stdout)
        self.assertEqual(gate["limits"][0]["largest"]["remedy"], temporaries["remedy"])

    def test_a_broken_limit_is_reported_where_the_machine_cannot_be_measured(self):
        own_mounts = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                      'mount -t tmpfs -o ro none /dev && exec "$@"', "sh"]
        if subprocess.run([*own_mounts, "true"], check=False, capture_output=True, timeout=HANG_S).returncode:
            self.skipTest("no mount namespace here")
        gate = subprocess.run([*own_mounts, PATHS.tarn, "gate", f"{SHARED.name}/rec", "--max", "allocations <= 1"],
                              check=False, capture_output=True, text=True, timeout=HANG_S,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "empty")})
        self.assertEqual(gate.returncode, 1, gate.stderr)
        self.assertTrue(gate.stdout.startswith("Failed: "), gate.stdout)
        self.assertRegex(gate.stderr, "cannot measure the cost model: [^\n]*: /dev/null: [^\n]*Read-only file system")

    def test_limits_in_a_file(self):
        file = self.folder / "limits.toml"
        file.write_text('requests = 1000\n[max]\n"kept allocations at function keep per request" = 2\n'
                        '"heap share" = "100 %"\n')
        self.gate(str(file))
        self.gate(str(file), options=("--requests", "999"), code=1)  # goes before the file's
        self.assertIn("heap share: about ", self.gate("heap share <= 0.0001 %", code=1).stdout)
        file.write_text('requests = 1000\n[max]\n"kept allocations per request" = 1.5\n"sites" = "0k"\n')
        self.assertEqual(len(self.gate(str(file), code=1).stdout.splitlines()), 3)

    def test_wrong_limits_are_reported(self):
        for text, problem in (("[max]\n'apples' = 3", "apples"), ("[max", "limits.toml:1"), ("[most]", "most"),
                              ("requests = 3", "is missing"), ("[max]\nbytes = true", "is not a number"),
                              ("requests = 'x'\n[max]\nbytes = 3", "requests is not a number above 0"),
                              ("[max]", "has no limit"), ("requests = inf\n[max]\nbytes = 3", "is not a number"),
                              ("[max]\n'bytes per request' = 3", "requests")):
            (self.folder / "limits.toml").write_text(text)
            code = 2 if problem == "requests" else 3  # --requests is missing on the command line
            self.assertIn(problem, self.gate(str(self.folder / "limits.toml"), code=code).stderr)
        self.assertIn("is neither a .toml file nor a limit", self.gate("allocations", code=2).stderr)
        self.assertIn("No such file", self.tarn("gate", "nothing", "--max", "bytes <= 1", code=3).stderr)
        self.tarn("gate", "rec", code=2)

    def test_a_function_that_never_occurs_is_reported(self):
        output = self.gate("allocations at function make_temporarys <= 3", code=2)
        self.assertEqual(output.stdout, "")
        self.assertEqual(len(output.stderr.splitlines()), 1)
        self.assertIn("make_temporarys", output.stderr)
        self.gate("allocations at function consume <= 0")  # a symbol of the program, which allocates nothing
        self.gate("allocations at function operator new <= 0", code=2)  # two words are no name
        self.gate("allocations at function __libc_start_call_main <= 0")  # on the stacks, for others

    def test_a_recording_that_is_cut_before_its_events_gets_no_verdict(self):
        whole = pathlib.Path(SHARED.name, "rec").read_bytes()
        pathlib.Path(SHARED.name, "start").write_bytes(whole[:300])
        result = self.tarn("report", "--quick", "start")
        self.assertIn("the report covers the part before the damage", result.stderr)
        self.assertTrue(result.stdout.endswith("\nNo events could be read, so there is nothing to judge.\n"
                                               "Record again; keep tarn record running until the program ends.\n"),
                        result.stdout)

    def test_a_part_of_a_program_passes_no_gate(self):
        contents = pathlib.Path(SHARED.name, "rec").read_bytes()
        pathlib.Path(SHARED.name, "part").write_bytes(contents[:-3])
        self.assertIn("incomplete", self.tarn("gate", "part", "--max", "bytes <= 1G", code=3).stderr)


if __name__ == "__main__":
    main("tarn", "sites", "growing", "locks")
