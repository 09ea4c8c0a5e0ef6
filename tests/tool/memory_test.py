#!/usr/bin/env python3
"""`tarn report`: which sites hold memory at the peak and at the end."""

import json
import os
import re
import signal
import subprocess
import time

import prices
from paths import HANG_S, PATHS, FolderTest, main, polls

KEPT, HELD = 500 * 4000, 60 * 100_000


def setUpModule():
    prices.use_own()


class Memory(FolderTest):
    def tarn(self, *arguments, **settings):
        return super().tarn(*arguments, **settings).stdout

    def record(self, case, *options):
        self.tarn("record", "--heap", *options, "-o", "rec", "--", PATHS.memory, case)

    def memory(self, *options):
        return json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", *options, "rec"))["memory"]

    def sites(self, memory):
        """What each function of the program held, at the peak and at the end: a function may be several sites."""
        held_bytes = {}
        for site in memory["sites"]:
            frame = site["stack"][site["frame_index"]]
            if not frame["file"].endswith("memory.c") or frame["function"] == "run_others":  # whose threads have stacks
                continue
            peak, end = held_bytes.get(frame["function"], (0, 0))
            held_bytes[frame["function"]] = (peak + site["peak_bytes"], end + site["end_bytes"])
        return held_bytes

    def test_each_site_has_what_it_held_at_the_peak_and_at_the_end(self):
        self.record("phases", "--full")
        memory = self.memory()
        sites = self.sites(memory)
        self.assertEqual(sites, {"keep": (KEPT, KEPT), "hold": (HELD, 60 * 1000)})
        self.assertGreaterEqual(memory["peak_bytes"], KEPT + HELD)
        self.assertLess(memory["peak_bytes"], KEPT + HELD + 100_000, "the C library's own blocks")
        self.assertGreater(memory["peak_ns"], 0)
        peaks = sorted((site["peak_blocks"], site["peak_bytes"]) for site in memory["sites"]
                       if site["peak_bytes"] > 100_000)
        self.assertEqual(peaks, [(60, HELD), (500, KEPT)])

    def test_a_request_that_fails_counts_nothing_and_large_blocks_cost_no_more(self):
        for options in [], ["--full"]:
            with self.subTest(options=options):
                started = time.monotonic()
                self.record("too-much", *options)
                # A draw for each half mebibyte took hours.
                self.assertLess(time.monotonic() - started, 20)
                heap = json.loads(self.tarn("report", "--json", "--quick", "rec"))["heap"]
                own_blocks = 20_020 + 500
                self.assertIn(heap["allocations"] - own_blocks, range(20), "those of the C library")
                self.assertIn(heap["bytes"] - 20_020 * 40 - 500 * 2 ** 30, range(100_000))
                self.assertLessEqual(heap["frees"], heap["allocations"])

    def test_blocks_that_another_thread_frees_leave_the_site_that_made_them(self):
        self.record("handover", "--full")
        self.assertEqual(self.sites(self.memory()), {"keep": (0, KEPT), "hold": (HELD, 0)})

    def test_a_peak_of_all_threads_together_is_that_of_their_sum(self):
        self.record("threads", "--full")
        peak, end = self.sites(self.memory())["hold_with_others"]
        self.assertEqual(end, 0)
        self.assertEqual(peak, 8 * 3 * 200_000)

    def test_the_peak_of_a_program_before_an_exec_stays(self):
        self.record("exec", "--full")
        memory = self.memory()
        holds = [site for site in memory["sites"] if site["stack"][site["frame_index"]]["function"] == "hold"]
        self.assertEqual(sum(site["peak_bytes"] for site in holds), HELD)
        self.assertLess(memory["peak_bytes"], KEPT + HELD + 100_000)

    def test_blocks_from_before_an_exec_are_gone_at_a_later_peak(self):
        self.record("exec-larger", "--full")
        memory = self.memory()
        self.assertGreaterEqual(memory["peak_bytes"], KEPT + HELD)
        self.assertLess(memory["peak_bytes"], KEPT + HELD + 100_000)

    def test_blocks_from_before_an_exec_are_not_in_use_at_the_end(self):
        for mode in (["--full"], ["--sample", "4096"]):
            self.record("exec-larger", *mode)
            memory = self.memory()
            at_end = sum(site["end_bytes"] for site in memory["sites"]
                         if site["stack"][site["frame_index"]]["function"] == "keep")
            self.assertAlmostEqual(at_end, KEPT, delta=KEPT / 4, msg="twice that with the program before")
            self.assertLess(memory["end_bytes"], 1.5 * KEPT)
            low, high = memory["peak_range"]
            self.assertLessEqual(low, high)
            self.assertLessEqual(high, 2 * KEPT + HELD)

    def test_each_size_is_counted_to_the_byte(self):
        self.record("sizes", "--full")
        self.assertEqual(self.sites(self.memory()), {"hold_sizes": (40 * sum(range(600)) + 70_000_000, 0)})

    def test_samples_tell_the_peak_within_their_error(self):
        self.record("phases", "--sample", "4096")
        sites = self.sites(self.memory())
        # Each block of 100,000 bytes is sampled with certainty; a block of 4,000 stands for some 1.5.
        self.assertEqual(sites["hold"][0], HELD)
        self.assertAlmostEqual(sites["keep"][0], KEPT, delta=KEPT / 4)
        self.assertAlmostEqual(sites["keep"][1], KEPT, delta=KEPT / 4)

    def test_the_text_shows_both_moments(self):
        self.record("phases", "--full")
        text = self.tarn("report", "--quick", "rec")
        self.assertRegex(text, r"\nHeap peak: 78\d\d KiB, [\d.]+ m?s after the start( \(.*\))?; "
                               r"20\d\d KiB never freed\.\n")
        self.assertRegex(text, r"\nMemory at the peak: 78\d\d KiB in 56\d blocks\n"
                               r" +5859 KiB +7\d %  60 blocks  memory\.c:\d+ hold\n"
                               r" +1953 KiB +2\d %  500 blocks  memory\.c:\d+ keep\n")
        self.assertRegex(text, r"\nMemory never freed: 20\d\d KiB in 56\d blocks\n"
                               r" +1953 KiB +97 %  500 blocks  memory\.c:\d+ keep\n")
        self.assertRegex(text, r"\n same-thread +\d+ allocations +[\d.]+ %, at \d+ sites; [\d.]+ % accumulated\n")
        sites = json.loads(self.tarn("report", "--quick", "--json", "rec"))["sites"]
        holders = [site["stack"][site["frame_index"]]["function"] for site in sites if site["accumulated"]]
        self.assertIn("hold", holders)
        self.assertNotIn("grow", holders)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 100)

    def test_a_peak_above_the_memory_of_the_process_is_explained(self):
        output = "\n        The process had less in memory: parts of the heap were never touched"
        for options in ["--full"], ["--sample", "524288"]:
            self.record("mostly-unused", *options)
            self.assertIn(output, self.tarn("report", "--quick", "rec"), options)
            self.record("phases", *options)
            self.assertNotIn("had less in memory", self.tarn("report", "--quick", "rec"), options)

    def test_a_peak_between_two_snapshots_was_in_memory(self):
        for case in "brief-peak", "late-peak":
            for _ in range(3):
                self.record(case, "--full")
                self.assertGreaterEqual(self.memory()["resident_bytes"], 64 << 20, case)
                self.assertNotIn("had less in memory", self.tarn("report", "--quick", "rec"), case)

    def test_a_site_that_may_hold_nothing_has_no_share(self):
        for _ in range(20):  # about one recording in two has a sample
            self.record("phases", "--sample", "8388608")
            text = self.tarn("report", "--quick", "rec")
            if "\nMemory at the peak: " in text:
                break
        self.assertRegex(text, r"\n +[\d.]+ [A-Za-z]+ \(0–[^)]+\)  too few samples  memory\.c:\d+ ")

    def test_threads_that_took_no_lock_are_not_counted_as_none(self):
        self.tarn("record", "--locks", "-o", "rec", "--", PATHS.memory, "phases")
        self.assertRegex(self.tarn("report", "rec").splitlines()[1], r" of CPU time$")

    def test_a_sampled_sum_is_said_with_its_range(self):
        for case, options in (("phases", ["--sample", "4096"]), ("phases", ["--sample", "524288"])):
            self.record(case, *options)
            text = self.tarn("report", "--quick", "rec")
            memory = self.memory()
            self.assertLessEqual(max(len(line) for line in text.splitlines()), 100)
            for moment in ("peak", "end"):
                low, high = memory[f"{moment}_range"]
                self.assertLessEqual(low, memory[f"{moment}_bytes"])
                self.assertGreaterEqual(high, memory[f"{moment}_bytes"])
            if memory["peak_bytes"] != 0:
                self.assertRegex(text, r"\nHeap peak: about [\d.]+ [A-Za-z]+ \([^)]+–[^)]+\)")
                self.assertRegex(text, r"\nMemory at the peak: about [\d.]+ [A-Za-z]+ \([^)]+–[^)]+\)\n")
                self.assertRegex(text, r"\n +[\d.]+ [A-Za-z]+ (± +\d+ %|\([^)]+–[^)]+\)) +(\d+ %|too few samples)"
                                       r"  memory\.c:\d+ ")
                rows = re.findall(r"\n +[\d.]+ [A-Za-z]+ \(([^)]+)–[^)]+\)  +(\d+ %|too few samples)  ", text)
                for low, share in rows:
                    self.assertEqual(low == "0", share == "too few samples", text)
            # How many blocks are in use at the end is counted, not estimated: it stands at the top alone.
            self.assertNotIn("block", text.partition("\nMemory at the peak: ")[2])
        for case, options in (("phases", ["--full"]), ("kept", ["--sample", "4096"])):  # "kept" frees nothing
            self.record(case, *options)
            memory = self.memory()
            self.assertEqual(memory["peak_range"], [memory["peak_bytes"]] * 2)
            self.assertEqual(memory["end_range"], [memory["end_bytes"]] * 2)
        self.assertEqual(memory["end_bytes"], KEPT)

    def test_estimates_are_not_above_what_was_counted(self):
        for run in range(5):
            self.record("phases", "--sample", str(1 << 20))
            report = json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", "rec"))
            heap, memory = report["heap"], report["memory"]
            for moment in ("peak", "end"):
                self.assertLessEqual(memory[f"{moment}_bytes"], heap["bytes"], run)
                self.assertLessEqual(memory[f"{moment}_range"][1], heap["bytes"], run)
                self.assertLess(*memory[f"{moment}_range"], f"an estimate has a range, {run}")
            self.assertLessEqual(memory["end_blocks"], heap["end_blocks"], run)
            self.assertLessEqual(sum(site["allocations"] for site in report["sites"]), heap["allocations"], run)
            for site in memory["sites"]:
                self.assertLessEqual(site["peak_bytes"], memory["peak_bytes"], run)
                self.assertLessEqual(site["end_bytes"], memory["end_bytes"], run)

    def test_sites_of_one_function_have_titles_of_their_own(self):
        self.record("two-categories", "--full")
        text = self.tarn("report", "--quick", "rec")
        for category in ("same-thread", "kept"):
            self.assertRegex(text, rf"\n\d+\. memory\.c:\d+ make_block, {category}  ")

    def test_a_gate_says_which_limit_samples_leave_open(self):
        self.record("phases", "--sample", str(1 << 25))
        result = subprocess.run([PATHS.tarn, "gate", "rec", "--max", "never freed <= 1M", "--max", "peak <= 1G"],
                                cwd=self.folder, capture_output=True, text=True, timeout=HANG_S, check=False)
        self.assertEqual(result.returncode, 6, result.stdout)
        self.assertRegex(result.stdout, r"\AOpen: rec does not decide 1 of 2 limits\.\n"
                                        r"open: never freed: about [\d,]+ bytes \([\d,]+ bytes?–[\d,]+ bytes\), limit")
        self.assertRegex(result.stderr, r"\Atarn: .*--full.*\n\Z")
        limits = json.loads(self.tarn("gate", "rec", "--json", "--max", "never freed <= 1M", code=6))
        self.assertEqual((limits["holds"], limits["limits"][0]["holds"]), (None, None))
        low, high = limits["limits"][0]["range"]
        self.assertTrue(low <= 1e6 < high, limits)
        self.record("phases", "--full")
        self.tarn("gate", "rec", "--max", "never freed <= 1M", code=1)

    def lost(self, case):
        self.tarn("record", "--heap", "--leaks", "-o", "rec", "--", PATHS.memory, case, code=5)
        lost = self.memory()["lost"]
        self.assertEqual(sum(site["blocks"] for site in lost["sites"]), lost["blocks"])
        return lost["bytes"], lost["blocks"], lost["first_blocks"]

    def test_blocks_that_no_pointer_reaches_are_lost(self):
        self.assertEqual(self.lost("lost"), (52 * 48, 50 + 2, 1 + 1))
        text = self.tarn("report", "--quick", "rec")
        self.assertRegex(text, r"\nMemory lost: 2496 bytes in 52 blocks at the exit, "
                               r"most at memory\.c:\d+ make_list\.\n")
        self.assertRegex(text, r"\nMemory lost: 2496 bytes in 52 blocks that no pointer reached\n"
                               r" +2496 bytes  52 blocks, 50 of them behind other lost ones  "
                               r"memory\.c:\d+ make_list\n")

    def test_what_other_threads_hold_at_the_exit_is_not_lost(self):
        self.assertEqual(self.lost("lost-threads"), (59 * 48, 50 + 2 + 7, 1 + 1 + 1))

    def test_a_program_that_loses_nothing_is_said_to(self):
        for case in ("held", "threads"):  # the C library keeps the descriptors of ended threads
            self.tarn("record", "--leaks", "-o", "rec", "--", PATHS.memory, case)
            self.assertEqual(self.memory()["lost"]["blocks"], 0, case)
        self.assertIn("\nNo memory was lost: ", self.tarn("report", "--quick", "rec"))
        self.record("kept", "--full")
        self.assertIsNone(self.memory()["lost"])

    def test_a_search_that_cannot_be_is_said_in_one_line(self):
        for program, reason in (((PATHS.memory, "abandoned"), "did not end by exit(): let it return from main "
                                                              "or call exit()"),
                                (("sh", "-c", "true"), "starts others: name the one to search itself")):
            command = [PATHS.tarn, "record", "--heap", "--leaks", "-o", "rec", "--", *program]
            result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=HANG_S,
                                    check=False)
            self.assertIn(f"tarn: lost blocks were not searched for: the program {reason}\n", result.stderr)
        for options in (["--locks"], ["--sample", "4096"], ["--follow"], ["--for", "1s"], ["--every", "1s"]):
            command = [PATHS.tarn, "record", "--leaks", *options, "-o", "rec", "--", PATHS.memory, "kept"]
            result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=HANG_S,
                                    check=False)
            self.assertEqual(result.returncode, 2, result.stderr)

    def await_deep_stack(self):
        """Waits for a snapshot after the program had all of its memory: its stack comes last."""
        def is_deep(report):
            resident = report["memory"]["last_resident"]
            return resident is not None and resident["stacks_bytes"] > 6 << 20
        self.await_report(is_deep)

    def test_the_sum_explains_the_resident_memory(self):
        mebibyte = 1 << 20
        for options in (["--full"], ["--sample", "4096"]):
            command = [PATHS.tarn, "record", "--heap", *options, "-o", "rec", "--", PATHS.memory, "kinds", "mapped"]
            with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as recorder:
                self.await_deep_stack()
                recorder.stdin.close()
                self.assertEqual(recorder.wait(HANG_S), 0)
            memory = self.memory()
            resident, heap = memory["last_resident"], memory["last_resident"]["heap"]
            sum_of_parts = sum(resident[part] for part in ("heap_bytes", "stacks_bytes", "program_bytes", "files_bytes",
                                                           "shared_memory_bytes", "recorder_bytes", "other_bytes"))
            self.assertEqual(sum_of_parts, resident["resident_bytes"])
            # The kernel's own count, which leaves out up to some tens of pages for each processor.
            allowed = 0.05 * resident["resident_bytes"]
            self.assertAlmostEqual(resident["resident_bytes"], memory["resident_bytes"], delta=allowed)
            error = allowed if "--full" in options else 3 * allowed  # a sampled recording estimates what is in use
            for part, truth in (("heap_bytes", 80), ("files_bytes", 16), ("shared_memory_bytes", 12),
                                ("other_bytes", 40), ("stacks_bytes", 6)):
                self.assertAlmostEqual(resident[part], truth * mebibyte, delta=allowed, msg=part)
            self.assertAlmostEqual(heap["in_use_bytes"], 50 * mebibyte, delta=error)
            self.assertAlmostEqual(heap["free_bytes"], 30 * mebibyte, delta=error)
            self.assertEqual(heap["untouched_bytes"], 0)
            text = self.tarn("report", "--quick", "rec")
            (self.folder / "rec").unlink()
        self.assertRegex(text, r"\nMemory of the process +at \d+\.\d\d s( +at \d+\.\d\d s)?\n   heap: in use +\d")
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 100)

    def test_blocks_that_were_never_touched_are_not_in_memory(self):
        command = [PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", PATHS.memory, "untouched"]
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
            self.await_report(lambda report: (report["memory"]["last_resident"] or {"heap": None})["heap"] and
                              report["memory"]["last_resident"]["heap"]["in_use_bytes"] > 300_000_000)
            recorder.stdin.close()
            self.assertEqual(recorder.wait(HANG_S), 0)
        heap = self.memory()["last_resident"]["heap"]
        self.assertGreater(heap["untouched_bytes"], 290_000_000)
        self.assertEqual(heap["free_bytes"], 0)

    def test_what_changed_is_said_for_both_moments(self):
        self.record("phases", "--full")
        os.rename(self.folder / "rec", self.folder / "before")
        self.record("kept", "--full")
        memory = json.loads(self.tarn("diff", "--json", "before", "rec"))["memory"]
        self.assertGreaterEqual(memory["before"]["peak_bytes"], KEPT + HELD)
        self.assertLess(memory["after"]["peak_bytes"], KEPT + 100_000)
        largest = memory["changes"][0]
        self.assertEqual((largest["before"]["function"], largest["before"]["peak_bytes"],
                          largest["before"]["end_bytes"], largest["after"]), ("hold", HELD, 60 * 1000, None))
        text = self.tarn("diff", "before", "rec")
        self.assertRegex(text, r"\nMemory: 78\d\d KiB → 19\d\d KiB at the peak; 20\d\d KiB → 19\d\d KiB at the end\n"
                               r"   memory\.c:\d+ hold  5859 KiB → 0 bytes at the peak; 59 KiB → 0 bytes at the end\n")
        self.assertNotIn("estimates", text)
        self.assertTrue(self.tarn("diff", "rec", "rec").startswith("No change.\n"))
        self.record("phases", "--sample", "524288")
        self.assertRegex(self.tarn("diff", "before", "rec"),
                         r"\nMemory: .*\n   these are estimates, within\n(   .* at the peak\n)?   .*–.* at the end\n")

    def gate(self, *limits, code=0):
        return self.tarn("gate", "rec", *(word for limit in limits for word in ("--max", limit)), code=code)

    def refusal(self, limit):
        """The one line that says why the recording cannot be held against the limit."""
        result = super().tarn("gate", "rec", "--max", limit, code=2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_a_later_file_of_samples_alone_tells_no_peak(self):
        command = [PATHS.tarn, "record", "--heap", "--sample", str(1 << 30), "--every", "100ms", "-o", "late", "--",
                   PATHS.memory, "leak"]
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
            while not (self.folder / "late.3").exists():
                time.sleep(0.05)
            recorder.stdin.close()
            self.assertEqual(recorder.wait(HANG_S), 0)
        os.rename(self.folder / "late.2", self.folder / "rec")
        self.assertIn("does not cover the program from its beginning", self.refusal("peak <= 1"))

    def test_a_gate_limits_memory(self):
        self.record("phases", "--full")
        self.gate(f"peak <= {KEPT + HELD + 100_000}", f"peak at function hold <= {HELD}",
                  "in use at the end <= 2200 KiB", f"never freed at function keep <= {KEPT}",
                  "never freed at function let_go <= 0")
        broken = self.gate(f"peak <= {KEPT + HELD - 1}", f"never freed at function keep <= {KEPT - 1}",
                           "peak at file memory.c <= 1G", code=1).splitlines()
        self.assertEqual(broken[0], "Failed: rec breaks 2 of 3 limits.")
        self.assertRegex(broken[1], r"^peak: 8,\d{3},\d{3} bytes, limit 7,999,999 bytes; "
                                    r"largest at memory\.c:\d+ hold$")
        self.assertRegex(broken[2], r"^never freed at function keep: 2,000,000 bytes, limit 1,999,999 bytes; "
                                    r"largest at memory\.c:\d+ keep$")
        self.assertEqual(len(broken), 3)

    def test_a_limit_that_cannot_be_checked_hides_no_broken_one(self):
        self.record("phases", "--full")
        limits = "system calls <= 1", f"never freed at function keep <= {KEPT - 1}", "peak at function kepp <= 1"
        for order in limits, limits[::-1]:
            lines = self.gate(*order, code=1).splitlines()
            self.assertEqual(lines[0], "Failed: rec breaks 1 of 3 limits.")
            self.assertRegex(lines[1], r"^never freed at function keep: 2,000,000 bytes, limit 1,999,999 bytes; ")
            self.assertEqual(set(lines[2:]), {
                "not checked: system calls: the recording has no system calls",
                "not checked: peak at function kepp: no recorded stack or program has a function of that name"})
        options = [word for limit in limits for word in ("--max", limit)]
        result = json.loads(self.tarn("gate", "rec", "--json", *options, code=1))
        self.assertIs(result["holds"], False)
        self.assertEqual([limit.get("reason", "") for limit in result["limits"] if limit["limit"] == "system calls"],
                         ["the recording has no system calls"])
        self.assertIn('"system calls" cannot be checked in rec: ', self.refusal("system calls <= 1"))

    def test_the_gate_as_json_has_each_limit(self):
        self.record("phases", "--full")
        limits = ("--max", f"never freed at function keep <= {KEPT - 1}", "--max", "peak at function keep <= 2 MiB")
        result = json.loads(self.tarn("gate", "rec", "--json", *limits, code=1))
        self.assertEqual((result["version"], result["holds"]), (2, False))
        freed, peak = result["limits"]
        self.assertEqual((freed["limit"], freed["value"], freed["maximum"], freed["holds"]),
                         ("never freed at function keep", KEPT, KEPT - 1, False))
        self.assertEqual(freed["largest"]["function"], "keep")
        self.assertEqual((peak["value"], peak["maximum"], peak["holds"]), (KEPT, 2 << 20, True))
        self.assertTrue(json.loads(self.tarn("gate", "rec", "--json", *limits[2:]))["holds"])

    def test_a_gate_limits_what_grows(self):
        command = [PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", PATHS.memory, "leak"]
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
            self.await_snapshots(20)
            recorder.stdin.close()
            self.assertEqual(recorder.wait(HANG_S), 0)
        rising = [site for site in self.memory()["sites"] if site["trend"] == "grows"]
        result = json.loads(self.tarn("gate", "rec", "--json", "--max", "growth <= 1G"))
        self.assertAlmostEqual(result["limits"][0]["value"], sum(site["bytes_per_second"] for site in rising), places=1)

    def test_a_recording_with_few_snapshots_says_so(self):
        command = [PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", PATHS.memory, "leak"]
        for _ in polls():  # again where the machine has been too slow to stop the recorder in time
            (self.folder / "rec").unlink(missing_ok=True)
            with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as recorder:
                self.await_snapshots(1)
                recorder.send_signal(signal.SIGSTOP)  # as if other programs had its processor
                time.sleep(1)
                recorder.stdin.close()
                recorder.send_signal(signal.SIGCONT)
                self.assertEqual(recorder.wait(HANG_S), 0)
            count = len(json.loads(self.tarn("report", "--json", "--quick", "rec"))["timeline"]["to_ns"])
            if count < 12:
                break
        snapshots = f"{count} snapshots" if count > 1 else "1 snapshot"
        self.assertIn(f"\nWhether memory grows is not known: the recording has {snapshots}, and that takes 12.\n",
                      self.tarn("report", "--quick", "rec"))
        self.assertIn(f"it has {snapshots}, and growth is told from 12 on", self.refusal("growth <= 0"))

    def await_snapshots(self, count):
        self.await_report(lambda report: report["timeline"] and len(report["timeline"]["to_ns"]) >= count)

    def await_report(self, holds):
        """Waits until the report of the running recording is as wanted, however slow the machine is."""
        deadline = time.monotonic() + HANG_S
        while time.monotonic() < deadline:
            if (self.folder / "rec").exists():
                command = [PATHS.tarn, "report", "--json", "--quick", "rec"]
                report = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False,
                                        cwd=self.folder)
                result = json.loads(report.stdout) if report.returncode == 0 else None
                if result and holds(result):
                    return
                self.assertFalse(result and result["end"], "the program has ended")
            time.sleep(0.1)
        self.fail("the recording never was as wanted")

    def test_limits_that_the_recording_cannot_tell_are_refused(self):
        self.record("phases", "--full")
        if len(json.loads(self.tarn("report", "--json", "--quick", "rec"))["timeline"]["to_ns"]) < 12:
            self.assertRegex(self.refusal("growth <= 0"), r"it has \d+ snapshots?, and growth is told from 12 on")
        self.tarn("record", "--locks", "-o", "rec", "--", PATHS.memory, "phases")
        for limit in ("peak <= 1G", "in use at the end <= 1G", "never freed <= 1G", "growth <= 1G"):
            self.assertIn("the recording has no heap", self.refusal(limit))


if __name__ == "__main__":
    main("tarn", "memory")
