#!/usr/bin/env python3
"""`tarn diff`: what changed between two recordings, beside what was predicted, and where they cannot be compared."""

import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time

import prices
from paths import PATHS, FolderTest, json_in, main, record_sites

SHARED = tempfile.TemporaryDirectory(prefix="tarn-diff-")


def setUpModule():
    record_sites(SHARED.name)
    prices.use_simple()


class Diff(FolderTest):
    def tarn(self, *arguments, **settings):
        return super().tarn(*arguments, **{"cwd": SHARED.name, **settings})

    def diff(self, *arguments, **settings):
        return self.tarn("diff", *arguments, **settings).stdout

    def test_a_recording_does_not_differ_from_itself(self):
        self.assertIn("No site changed.", self.diff("rec", "rec"))
        self.assertEqual(json.loads(self.diff("--json", "rec", "rec"))["changes"], [])

    def test_the_same_work_is_no_change_sampled_or_not(self):
        for name, modes in ("full", ["--full"]), ("one", []), ("two", []):
            self.tarn("record", "--heap", *modes, "-o", str(self.folder / name), "--", PATHS.growing)
        for before, after in ("one", "two"), ("two", "one"), ("one", "full"), ("full", "one"), ("full", "full"):
            recordings = [str(self.folder / before), str(self.folder / after)]
            text = self.diff(*recordings)
            self.assertIn("No change.", text)
            self.assertNotIn("predicted", text.lower())
            self.assertEqual(json.loads(self.diff("--json", *recordings))["changes"], [])

    def test_what_changed_is_at_its_place(self):
        difference = json.loads(self.diff("--json", "--top", "100", "rec", "half"))
        for side, name in ("before", "rec"), ("after", "half"):
            sites = json.loads(self.tarn("report", "--json", "--top", "9999", name).stdout)["sites"]
            kept_allocations = sum(site["allocations"] for site in sites if site["category"] == "kept")
            self.assertEqual(difference["allocations"]["kept"][side], kept_allocations, "as the report counts")
        change = next(change for change in difference["changes"]
                      if change["before"]["function"].endswith("make_temporaries"))
        self.assertEqual((change["before"]["allocations"], change["after"]["allocations"]), (2000, 1000))
        self.assertEqual(change["before"]["line"], change["after"]["line"])
        self.assertEqual(change["model_saved_ns"], [20000, 20000])  # 1,000 at 20 ns
        self.assertEqual(change["predicted"],
                         {"name": "hoist", "is_taken": False, "saved_ns": [40000, 40000], "saved_allocations": 2000,
                          "outcome": "not taken"})

    def test_the_text_of_a_difference_begins_with_the_verdict(self):
        lines = self.diff("rec", "half").splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertTrue(any("2,000 → 1,000 allocations" in line for line in lines))
        self.assertTrue(any(re.match("   1,000 allocations are gone; worth .* by the model", line) for line in lines))
        self.assertTrue(any(re.search("hoist was predicted to save .*; it was not taken$", line) for line in lines))
        self.assertRegex(lines[0], r"^(Faster: saves |Slower: costs |No clear difference: about [\d.]+ % "
                                   r"(more|less) CPU \([\d.]+ % more to [\d.]+ % less\)\.$)", "the verdict comes first")
        self.assertNotIn("The prediction for", self.diff("half", "rec"), "none was taken")
        self.assertTrue(any("more" in line for line in self.diff("half", "rec").splitlines()))

    def test_the_verdict_gives_shares_of_cpu(self):
        self.assertEqual(self.diff("--cpu-seconds", "2,1.5", "rec", "half").splitlines()[0],
                         "Faster: saves 25 % of CPU.")
        self.assertEqual(self.diff("--cpu-seconds", "1.5,3", "rec", "half").splitlines()[0],
                         "Slower: costs 100 % of CPU more.")

    def test_another_amount_of_work_is_named(self):
        text = " ".join(self.diff("--cpu-seconds", "2,1.5", "rec", "half").split())
        self.assertIn("note: another load: the median site allocates 0.5 times as often after the change. "
                      "Per allocation, CPU time rose by about 50 %; how sure that is, is not known.", text)
        self.assertNotIn("another load", self.diff("--cpu-seconds", "2,1.5", "rec", "rec"))
        (note,) = json.loads(self.diff("--json", "--cpu-seconds", "2,1.5", "rec", "half"))["notes"]
        self.assertTrue(note.startswith("another load: the median site allocates 0.5 times as often"), note)
        self.assertEqual(json.loads(self.diff("--json", "rec", "rec"))["notes"], [])

    def record_contended(self, *names, modes=(), rounds=100_000, threads=4, arguments=()):
        paths = [str(self.folder / name) for name in names]
        for path in paths:
            self.tarn("record", *modes, "-o", path, "--", PATHS.contended, str(rounds), str(threads), *arguments)
        return paths

    def test_recordings_of_one_contended_program_give_no_verdict_on_cpu_time(self):
        recordings = self.record_contended("one", "two", "three", "four")
        for before, after in itertools.permutations(recordings, 2):
            text = self.diff(before, after)
            self.assertRegex(text, r"^(No change|CPU time cannot be compared: recording changed how often threads "
                                   r"waited for locks\.\nMeasure plain runs \(perf stat -r 5\), )")
            self.assertNotRegex(text, "Faster|Slower|Per allocation")
            difference = json.loads(self.diff("--json", before, after))
            self.assertIsNone(difference["saved_cpu_ns"])
            self.assertTrue(difference["notes"][0].startswith("CPU time cannot be compared"), difference["notes"])
        measured = ("--cpu-seconds", "2,1.5", *recordings[:2])
        self.assertTrue(self.diff(*measured).startswith("Faster: saves 25 % of CPU.") or
                        self.diff(*measured).startswith("No change"))
        self.assertEqual(json.loads(self.diff("--json", *measured))["saved_cpu_ns"], [0.5e9, 0.5e9])
        self.diff(*recordings[:2], "--html", str(self.folder / "page.html"))

    def test_a_remedy_that_was_taken_is_no_other_load(self):
        modes, rounds = ["--heap", "--full"], 20_000
        (before,) = self.record_contended("before", modes=modes, rounds=rounds, threads=1)
        (after,) = self.record_contended("after", modes=modes, rounds=rounds, threads=1, arguments=["reserve"])
        text = self.diff(before, after)
        self.assertNotIn("another load", text)
        self.assertRegex(text, r"contended\.cpp:\d+ grown<0>\n   100,000 → 20,000 allocations\n"
                               r"   80,000 allocations are gone, as predicted of reserve; worth [^;]*by\s+the\s+model\n"
                               r"   reserve was predicted to save ")
        difference = json.loads(self.diff("--json", before, after))
        # The change saves most of the CPU time, which may make it look like another amount of work.
        self.assertEqual([note for note in difference["notes"] if "CPU time" not in note], [])
        outcomes = [change["predicted"]["outcome"] for change in difference["changes"] if change["predicted"]]
        self.assertEqual(outcomes, ["as predicted"] * 7)
        # The counts agree; what the change gave is in the CPU time alone.
        low, high = difference["predicted_ns"]
        for saved_ns, verdict in ((low * 0.9, "shows less"), (high * 1.1, "shows more"), (0, "shows less"),
                                  ((low + high) / 2, "saved is as predicted")):
            seconds = f"2,{2 - saved_ns / 1e9:.9f}"
            text = " ".join(self.diff("--cpu-seconds", seconds, before, after).split())
            self.assertRegex(text, r"The prediction for the remedies that were applied, or whose site is gone: "
                                   rf"saves [^;]*; the CPU time {verdict}\.")
        self.assertIn("By the cost model alone, the heap costs ", text)

    def test_few_sites_do_not_tell_another_load(self):
        options = {"modes": ["--heap", "--full"], "threads": 1}
        (growing,) = self.record_contended("growing", rounds=20_000, **options)
        (less,) = self.record_contended("less", rounds=10_000, **options)
        self.assertIn("another load", self.diff(growing, less), "twelve sites")
        for name, rounds in ("many", "4000"), ("few", "2000"):
            self.tarn("record", "--heap", "--full", "-o", str(self.folder / name), "--", PATHS.growing, rounds)
        text = self.diff(str(self.folder / "many"), str(self.folder / "few"))
        self.assertNotIn("another load", text, "less than five")

    def test_what_samples_count_is_called_an_estimate(self):
        (before,) = self.record_contended("before", rounds=200_000)
        (after,) = self.record_contended("after", rounds=200_000, arguments=["reserve"])
        text = self.diff(before, after)
        self.assertRegex(text, r"\n   about [\d,]+ \(± \d+ %\) → about [\d,]+ \(± \d+ %\) allocations\n   about "
                               r"[\d.,]+( million)? allocations are gone, as predicted of reserve")
        self.assertRegex(text, r"\nLocks: about [\d,]+ \(± \d+ %\) → ")
        self.assertRegex(text, r"\nMemory: no change beyond the error, at the peak and at the end\n")
        calls = " ".join(text[text.index("System calls: "):].split())
        self.assertRegex(calls, r" in them, and [^()]* in calls that wait \(futex")
        self.assertNotRegex(calls, r"(munmap|madvise|mprotect) in ")

    def test_changes_that_are_too_small_to_matter_are_counted_alone(self):
        modes, rounds = ["--syscalls", "--full"], 50_000
        (four,) = self.record_contended("four", modes=modes, rounds=rounds)
        (six,) = self.record_contended("six", modes=modes, rounds=rounds, threads=6)
        changes = json.loads(self.diff("--json", "--top", "1000", four, six))["syscalls"]["changes"]
        relevant = [change for change in changes if change["is_relevant"]]
        count = len(changes) - len(relevant)
        self.assertGreater(count, 0, "two more threads map their stacks")
        calls = self.diff("--top", "1000", four, six).split("System calls: ")[1]
        self.assertIn(f"\n   {count} change{'' if count == 1 else 's'} too small to matter: --json\n", calls)
        self.assertEqual(len(re.findall(r"\n   \w+ in ", calls)), len(relevant))

    def test_cpu_times_of_one_run_each_allow_for_the_machine(self):
        before, after = (json.loads(self.tarn("report", "--json", name).stdout)["recorder"]["overhead"]
                         for name in ("rec", "half"))
        before, after = before["program_cpu_ns"], after["program_cpu_ns"]
        text = self.diff("rec", "half")
        is_explained = "do not explain their difference" not in text
        share = 0.1 if is_explained else 0.5
        self.assertIn(f"the range allows for {10 if is_explained else 50} % between runs", text)
        between_runs = share * max(sum(before) / 2, sum(after) / 2)
        low, high = json.loads(self.diff("--json", "rec", "half"))["saved_cpu_ns"]
        self.assertAlmostEqual(low, before[0] - after[1] - between_runs, delta=2)
        self.assertAlmostEqual(high, before[1] - after[0] + between_runs, delta=2)

    def test_no_clear_difference_is_more_or_less(self):
        self.assertEqual(self.diff("--cpu-seconds", "2,2", "rec", "half").splitlines()[0],
                         "No clear difference: the CPU time is the same.")

    def test_two_programs_are_called_two(self):
        other = str(self.folder / "other")
        self.tarn("record", "--heap", "-o", other, "--", PATHS.growing)
        self.assertIn("note: these are two programs, ", self.diff("rec", other))
        self.assertIn("two programs, ", json.loads(self.diff("--json", "rec", other))["notes"][0])
        page = self.folder / "page.html"
        for options, is_there in ([], True), (["--redact"], False):
            self.tarn("diff", f"{SHARED.name}/rec", other, "--html", str(page), *options)
            self.assertIn("these are two programs", json_in(page))
            self.assertEqual("two programs, " in json_in(page), is_there, "with their names")
        renamed = shutil.copy(PATHS.sites, self.folder / "renamed")
        self.tarn("record", "--heap", "-o", other, "--", str(renamed), "2000", "0")
        self.assertNotIn("note: ", self.diff("rec", other))

    def test_only_run_times_above_a_second_are_called_different(self):
        ends, waits = str(self.folder / "ends"), str(self.folder / "waits")
        self.tarn("record", "--heap", "--full", "-o", ends, "--", PATHS.sites, "100", "0")
        for seconds, is_noted in (0.6, False), (1.5, True):
            recorder = subprocess.Popen([PATHS.tarn, "record", "--heap", "--full", "-o", waits, "--", PATHS.sites,
                                         "100", "wait"], stderr=subprocess.DEVNULL)
            time.sleep(seconds)
            recorder.terminate()
            recorder.wait()
            self.assertEqual("run time" in self.diff(ends, waits), is_noted)

    def test_a_program_built_in_the_place_of_the_recorded_one_is_refused(self):
        program = self.folder / "program"
        shutil.copy(PATHS.sites, program)
        before, after = str(self.folder / "before"), str(self.folder / "after")
        self.tarn("record", "--heap", "-o", before, "--", str(program), "1000", "0")
        shutil.copy(PATHS.growing, program)
        self.tarn("record", "--heap", "-o", after, "--", str(program))
        for arguments in (before, after), (after, before), ("--json", before, after):
            refusal = self.tarn("diff", *arguments, code=3).stderr
            self.assertEqual(refusal, f"tarn: {before} cannot be compared, because its functions have no names: "
                                      f"{program} was replaced since the program loaded it; put the recorded build "
                                      "back, or next time record a copy of the program (cp server server.before)\n")
        self.assertIn("No site changed.", self.diff(before, before))

    def test_measured_cpu_times_decide_what_was_saved(self):
        self.assertEqual(json.loads(self.diff("--json", "--cpu-seconds", "2,1.5", "rec", "half"))["saved_cpu_ns"],
                         [0.5e9, 0.5e9])
        self.diff("--cpu-seconds", "2", "rec", "half", code=2)


if __name__ == "__main__":
    main("tarn", "sites", "growing", "contended")
