#!/usr/bin/env python3
"""`tarn record --syscalls`: its counts are strace's, and the program does not notice."""

import collections
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import HANG_S, PATHS, FolderTest, main

# How often a thread has to wait for another one is not the program's to say.
NOT_COMPARED = {"futex", "sched_yield", "restart_syscall"}


class Syscalls(FolderTest):
    def record(self, *arguments, code=0, modes=()):
        self.record_errors = self.run_program(PATHS.tarn, "record", "--syscalls", *modes, "-o", "rec", "--", *arguments,
                                              code=code).stderr
        report = self.run_program(PATHS.tarn, "report", "--json", "--top", "1000000", "rec").stdout
        return json.loads(report)

    def counts(self, *arguments):
        """Calls by name, by `tarn record`."""
        report = self.record(*arguments)
        self.assertEqual(report["recorder"]["dropped"], 0)
        total = collections.Counter()
        for site in report["syscalls"]:
            self.assertEqual(site["error"], 0, "a short program is counted in full")
            total[site["name"]] += site["count"]
        return total

    def strace(self, follow, *arguments):
        self.run_program("strace", *(["-f"] if follow else []), "-qq", "-o", "trace", "--", *arguments)
        counts = collections.Counter()
        for line in (self.folder / "trace").read_text(encoding="utf-8", errors="replace").splitlines():
            if match := re.match(r"(?:\d+ +)?(\w+)\(", line):
                counts[match[1]] += 1
        return counts

    def compare(self, mode, rounds, follow=True):
        """As differences between runs, so that the start-up of each cancels."""
        def difference(count):
            long, short = count(str(2 * rounds)), count(str(rounds))
            return {name: long[name] - short[name] for name in sorted({*long, *short} - NOT_COMPARED)
                    if long[name] != short[name]}
        recorded = difference(lambda rounds: self.counts(PATHS.calls, mode, rounds))
        self.assertEqual(recorded, difference(lambda rounds: self.strace(follow, PATHS.calls, mode, rounds)))
        self.assertGreaterEqual(sum(recorded.values()), rounds)

    def test_counts_are_straces(self):
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        # Not followed where it has child processes, whose calls are not its own.
        for mode, rounds, follow in (("plain", 50, True), ("threads", 10, True), ("raised", 20, True),
                                     ("interrupted", 10, False), ("restarted", 10, False), ("masks", 10, True),
                                     ("stack", 10, True), ("jumps", 10, False), ("sigsys", 5, True),
                                     ("spawns", 3, False), ("forks", 5, False), ("clones", 5, False),
                                     ("restricted", 5, False)):
            with self.subTest(mode=mode):
                self.compare(mode, rounds, follow)

    def test_gdb_reads_its_script_and_stops_at_no_call(self):
        if shutil.which("gdb") is None:
            self.skipTest("needs gdb")
        folder = pathlib.Path(PATHS.tarn).parent.parent / "lib"
        with subprocess.Popen([PATHS.tarn, "record", "-o", "rec", "--", "cat"], cwd=self.folder, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
            recorder.stdin.write("one\n")
            recorder.stdin.flush()
            self.assertEqual(recorder.stdout.readline(), "one\n", "cat runs")
            children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text(encoding="ascii")
            command = ["gdb", "-nx", "-batch", "-iex", f"add-auto-load-safe-path {folder}", "-iex",
                       "set debuginfod enabled off",
                       "-p", children.split()[0], "-ex", "info signals SIGSYS", "-ex", "continue"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as gdb:
                output = ""
                while "Bad system call" not in output:
                    line = gdb.stdout.readline()
                    if not line:
                        break
                    output += line
                recorder.stdin.write("two\n" * 1000)
                recorder.stdin.close()
                output += gdb.stdout.read()
            self.assertEqual(recorder.stdout.read(), "two\n" * 1000)
            self.assertEqual(recorder.wait(), 0)
        if "Operation not permitted" in output:
            self.skipTest("gdb may not attach here")
        self.assertRegex(output, r"SIGSYS\s+No\s+No\s+Yes")
        self.assertIn("exited normally", output)
        self.assertNotIn("received signal", output)

    def test_programs_do_not_notice(self):
        for mode, code in (("cancels", 0), ("exit", 6), ("exec", 0), ("own_threads", 0)):
            with self.subTest(mode=mode):
                self.run_program(PATHS.calls, mode, "20", code=code)
                report = self.record(PATHS.calls, mode, "20", code=code)
                self.assertTrue(report["syscalls"])

    def test_nasty_programs_end_as_they_would(self):
        programs = ("thread_ends cancel, threads coroutine_stacks, dlopen dlopen_in_threads, fork fork_from_threads, "
                    "exit immediate_exit, thread_ends key_destructors, threads longjmp_between, "
                    "thread_ends main_thread_ends_first, exit quick_exit, signals signal_jump, signals signal_timer, "
                    "signals signals_untouched, threads small_stacks, thread_local_destructors, "
                    "children vfork_exec").split(", ")
        for command in programs:
            with self.subTest(program=command):
                program = f"{PATHS.programs}/{command}".split(" ")
                plain = subprocess.run(program, capture_output=True, timeout=HANG_S, check=False)
                self.run_program(PATHS.tarn, "record", "-o", "rec", "--", *program, code=plain.returncode)

    def test_a_handler_that_comes_while_something_is_counted_is_counted(self):
        output = self.run_program(PATHS.tarn, "record", "--full", "-o", "rec", "--", PATHS.calls, "storm", "1").stdout
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--top", "1000000", "rec").stdout)
        self.assertEqual(sum(call["count"] for call in report["syscalls"] if call["name"] == "getppid"), int(output))
        self.assertEqual(report["recorder"]["dropped"], 0)

    def test_children_are_recorded_with_follow(self):
        self.run_program(PATHS.tarn, "record", "--follow", "--syscalls", "-o", "rec", "--", PATHS.calls, "forks", "1")
        files = sorted(path for path in self.folder.glob("rec.*"))
        self.assertTrue(files)
        counts = []
        for file in files:
            report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--top", "1000", file).stdout)
            counts.append(sum(call["count"] for call in report["syscalls"] if call["name"] == "getppid"))
        self.assertIn(11, counts)  # in the child: ten, and one in a handler

    def test_the_recorders_own_calls_and_blocks_are_not_counted(self):
        for modes in [], ["--heap"]:
            with self.subTest(modes=modes):
                report = self.record(PATHS.calls, "plain", "1", modes=modes)
                look_ups = [call["name"] for call in report["syscalls"]
                            if any("dlsym" in frame["function"] for frame in call["stack"])]
                self.assertEqual(look_ups, [], "calls of the recorder's constructors")
                self.assertEqual(report["heap"]["allocations"], 0, "the program allocates nothing")

    def test_a_launcher_adds_no_thread(self):
        for prefix in [], ["timeout", "100"], ["env"]:
            with self.subTest(prefix=prefix):
                self.record(*prefix, PATHS.calls, "threads", "1", modes=["--full"])
                self.assertIn(" by 5 threads, in rec ", self.record_errors)

    def test_all_threads_are_in_the_last_line(self):
        self.record(PATHS.calls, "ended_threads", "2000")
        self.assertRegex(self.record_errors, r" by [\d,]+ of 2,001 threads, in rec ")

    def test_a_program_cannot_take_the_dispatch_over(self):
        self.record(PATHS.calls, "dispatch", "1")

    def site(self, report, name, function):
        sites = [call for call in report["syscalls"] if call["name"] == name
                 and any(frame["function"] == function for frame in call["stack"])]
        self.assertEqual(len(sites), 1, f"{name} in {function}: {sites}")
        return sites[0]

    def assert_estimated(self, site, count):
        """Six of its standard deviations, as that is estimated, too: one in a hundred thousand is outside by chance."""
        self.assertGreater(site["error"], 0)
        self.assertLess(abs(site["count"] - count), 6 / 1.96 * site["error"] * site["count"], site)

    def assert_reconciled(self, site, count, error=0.02):
        """The kernel counts all reads and writes, also of the loader and the recorder; nearly all are of this site. The
        error is that of a block of calls of another site, which no window saw."""
        self.assertGreater(site["error"], 0, site)
        self.assertLess(site["error"], error, site)
        self.assertLess(abs(site["count"] - count), 0.02 * count, site)

    def test_estimates_lie_within_their_error(self):
        rounds = 100_000
        report = self.record(PATHS.calls, "plain", str(rounds))
        sites = {name: self.site(report, name, function) for name, function in
                 (("write", "put"), ("read", "take"), ("getppid", "plain"), ("openat", "plain"), ("close", "plain"))}
        for name in "getppid", "openat", "close":
            self.assert_estimated(sites[name], rounds)
        for name in "read", "write":
            self.assert_reconciled(sites[name], rounds)
        self.assertEqual(sites["write"]["bytes"], sites["write"]["count"], "all figures of a call have its weight")
        self.assertEqual(sites["write"]["errors"], 0)
        stats = [call for call in report["syscalls"] if call["name"] in ("stat", "newfstatat") and call["error"]]
        self.assertEqual(sorted(call["errors"] for call in stats),
                         sorted(call["count"] if call["errors"] else 0 for call in stats),
                         "each fails always, or never")
        # Each call follows another one here, so none is in a row; each asks what the one before did.
        self.assertEqual(sites["getppid"]["in_a_row"], 0)
        self.assertGreater(sites["openat"]["same_arguments"], 0.99 * sites["openat"]["count"])
        self.assertIn("tarn::io::writer", sites["write"]["remedy"])
        output = re.search(r"about [\d,]+ system calls \(± \d+ %\) at", self.record_errors)
        text = self.run_program(PATHS.tarn, "report", "rec").stdout
        self.assertIn(output[0], text, "the line after the recording")
        self.assertRegex(text, r"repeated: about [\d,]+ openat calls \(± \d+ %\)")
        self.assertRegex(text, r"small: about [\d,]+ write calls \(± \d+ %\)")

    def test_estimates_are_unbiased_where_the_rate_of_calls_changes(self):
        """The weights and the lengths of the blocks follow the rate. The errors of ten runs, in the standard deviations
        that each run states, have the mean 0 and the mean square 1; beyond these bounds is one case in a thousand."""
        rounds, errors, dispatched = 100, [], []
        for _ in range(10):
            report = self.record(PATHS.calls, "turns", str(rounds))
            dispatched.append(report["recorder"]["overhead"]["dispatched_calls"])
            site = self.site(report, "getppid", "turns")
            self.assertGreater(site["error"], 0)
            errors.append((site["count"] / (2000 * rounds) - 1) / (site["error"] / 1.96))
        self.assertLess(abs(sum(errors)) / len(errors), 3.3 / len(errors) ** 0.5, errors)
        self.assertLess(sum(error * error for error in errors), 30, errors)
        # At first 1,400 calls all count, and then 128 for each weight up to 2,048. Without a look at the rate it were
        # 4,096 and 512, and thousands in blocks that are too long for the calls that come in them.
        self.assertLess(statistics.median(dispatched), 5000)

    def test_no_long_wait_is_missed(self):
        for _ in range(3):
            report = self.record(PATHS.calls, "late_waits", "1")
            sleeps = self.site(report, "clock_nanosleep", "late_waits")
            self.assertEqual((sleeps["count"], sleeps["error"]), (20, 0), sleeps)
            self.assertGreater(sleeps["time_ns"], 20 * 3e6)
            self.assertTrue(sleeps["is_lower_bound"], "there may have been short ones, too")
            polls = self.site(report, "poll", "wait_for")
            self.assertGreater(polls["time_ns"], 20 * 3e6, polls)
            total_ns = sum(call["time_ns"] for call in report["syscalls"])
            self.assertGreaterEqual(total_ns, sleeps["time_ns"] + polls["time_ns"])
            self.assertRegex(self.record_errors, r"about [\d,]+ system calls \(± \d+ %\) at")

    def test_a_call_that_never_returns_is_shown(self):
        for options in ["--syscalls"], ["--syscalls", "--full"]:
            self.run_program(PATHS.tarn, "record", *options, "-o", "rec", "--", "timeout", "-s", "KILL", "2",
                             PATHS.calls, "endless", "1", code=-9)
            report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec").stdout)
            calls = {call["name"]: call for call in report["unfinished_calls"]}
            self.assertEqual(set(calls), {"futex", "poll", "read"}, options)
            for name, function in ("futex", "endless"), ("poll", "waits_in_poll"), ("read", "waits_in_read"):
                self.assertIn(function, [frame["function"] for frame in calls[name]["stack"]])
                self.assertGreater(calls[name]["time_ns"], 300_000_000)
            self.assertEqual(len({call["thread"] for call in calls.values()}), 3)
            text = self.run_program(PATHS.tarn, "report", "rec").stdout
            self.assertRegex(text, r"(?m)^3 system calls have not returned, up to [\d.]+ m?s so far$")
            self.assertRegex(text, r"(?m)^ +[\d.]+ m?s so far  poll, thread \d+  calls\.c:\d+ waits_in_poll$")
        complete_report = self.record(PATHS.calls, "plain", "50")
        self.assertEqual(complete_report["unfinished_calls"], [], "each has returned")

    def test_estimates_of_many_threads_lie_within_their_error(self):
        rounds = 1500
        report = self.record(PATHS.calls, "threads", str(rounds))
        self.assert_estimated(self.site(report, "getppid", "some_calls"), 80 * rounds)
        # clone3 by the thread that makes another one, rseq by each before its first function.
        windowed = [site for site in report["syscalls"] if site["name"] in ("clone3", "rseq") and site["error"]]
        for site in windowed:
            self.assert_estimated(site, 4 * rounds)
        # As many calls as these, but its error is that of a block alone: 0.08 to 0.40 of theirs in 24 runs.
        error = 0.75 * max(site["error"] for site in windowed)
        self.assert_reconciled(self.site(report, "write", "put"), 4 * rounds, error=error)

    def test_a_restricted_child_that_shares_memory_restricts_itself_alone(self):
        rounds = 2000
        output = self.run_program(PATHS.tarn, "record", "-o", "rec", "--", PATHS.calls, "restricted",
                                  str(rounds)).stderr
        self.assertNotIn("seccomp", output)
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--top", "1000000", "rec").stdout)
        self.assert_estimated(self.site(report, "getppid", "goes_on"), 60 * rounds)
        for call in report["syscalls"]:
            if call["name"] == "vfork":
                self.assertEqual([frame["function"] for frame in call["stack"]][:2], ["restricted_children", "main"])

    def test_a_decision_that_is_left_for_another_stack_ends(self):
        site = self.site(self.record(PATHS.calls, "left_decisions", "1"), "getppid", "after_jumps")
        self.assert_estimated(site, 2_000_000)
        self.assertLess(site["error"], 0.5)

    def test_threads_leave_no_signal_stacks_behind(self):
        for modes in [], ["--full"]:
            with self.subTest(modes=modes):
                self.record(PATHS.calls, "ended_stacks", "1000", modes=modes)

    def test_threads_leave_no_memory_behind(self):
        self.run_program(PATHS.tarn, "record", "--heap", "-o", "rec", "--", PATHS.calls, "ended_threads", "8000")
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec").stdout)
        first_threads = 4096  # each has a row of its own
        threads = report["threads"]
        self.assertEqual({thread["name"] for thread in threads[1:first_threads] + threads[first_threads + 1:]},
                         {"tool_calls"})
        rows = [thread for thread in threads if thread["id"] != 0]  # without that of ended threads
        self.assertEqual(sum(1 + thread.get("predecessors", 0) for thread in rows), 8001)
        for name in "allocations", "frees":  # the first thread reads a file now and then
            self.assertIn(report["heap"][name], range(8000, 8100))

    def test_the_end_of_a_thread_asks_the_kernel_for_nothing(self):
        """Neither whether another thread has gone, nor for its name, as no thread has set one."""
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        self.run_program("strace", "-f", "-qq", "-e", "trace=tgkill,prctl", "-o", "trace", "--", PATHS.tarn, "record",
                         "--heap", "-o", "rec", "--", PATHS.calls, "late_names", "100")
        trace = (self.folder / "trace").read_text(encoding="utf-8")
        self.assertLess(len(re.findall(r" (?:tgkill\(|prctl\(PR_GET_NAME)", trace)), 20)

    def test_threads_that_set_a_name_late_have_it(self):
        self.run_program(PATHS.tarn, "record", "--heap", "-o", "rec", "--", PATHS.calls, "late_names", "300")
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec").stdout)
        expected = ["late" if number >= 100 and number % 2 != 0 else "tool_calls" for number in range(300)]
        self.assertEqual([thread["name"] for thread in report["threads"][1:]], expected)

    def test_few_calls_of_brief_threads_are_dispatched(self):
        """Their calls count, too, before those of all threads become estimates."""
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        def dispatched(*options):
            self.run_program("strace", "-f", "-qq", "-e", "trace=rt_sigreturn", "-o", "trace", "--", PATHS.tarn,
                             "record", *options, "-o", "rec", "--", PATHS.calls, "ended_threads", "3000")
            trace = (self.folder / "trace").read_text(encoding="utf-8")
            calls = collections.Counter(re.findall(r"^(\d+) +rt_sigreturn\(", trace, re.MULTILINE))
            # The first thread asks as often as chance wants whether another one has gone.
            return calls.total() - max(calls.values())

        # The first 4,096 calls of the process all count, and then 512 for each of the weights up to 128: a third of
        # all here, and some more where the threads take turns often.
        self.assertLess(dispatched(), dispatched("--full") * 3 / 5)

    def test_ended_threads_are_not_asked_for_their_names(self):
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        threads = 4 * 300
        self.run_program("strace", "-qq", "-e", "trace=openat", "-o", "trace", "--", PATHS.tarn, "record", "-o", "rec",
                         "--",
                         PATHS.calls, "threads", str(threads // 4))
        failed_opens = re.findall(r'"/proc/\d+/task/\d+/comm".* = -1',
                                  (self.folder / "trace").read_text(encoding="utf-8"))
        self.assertLess(len(failed_opens), threads // 10, "only a thread that ends in that moment")

    def test_estimates_differ_by_chance_only(self):
        for name in "one", "two":
            self.run_program(PATHS.tarn, "record", "--syscalls", "-o", name, "--", PATHS.calls, "plain", "100000")
        changes = json.loads(self.run_program(PATHS.tarn, "diff", "--json", "one", "two").stdout)["syscalls"]["changes"]
        # The kernel's counts of reads and writes are exact, and the loader may read more in one run than in the other.
        self.assertEqual([change for change in changes
                          if (change["after"] or change["before"])["operation"] not in ("read", "write")], [])

    def test_a_limit_is_broken_by_more_than_the_error(self):
        report = self.record(PATHS.calls, "plain", "100000")
        for limit, code in (600_000, 1), (1_600_000, 0):
            result = self.run_program(PATHS.tarn, "gate", "--max", f"system calls <= {limit}", "rec", code=code)
            if code == 1:
                output = re.search(r"^system calls: about ([\d,]+) \([\d,]+–[\d,]+\), limit 600,000$", result.stdout,
                                 re.MULTILINE)
                self.assertEqual(int(output[1].replace(",", "")), sum(call["count"] for call in report["syscalls"]))

    def test_programs_run_where_windows_close(self):
        """Many rounds, so that most of them are not dispatched: of what they tell the kernel about signals, masks and
        stacks nothing may end them when the next window opens."""
        for mode, rounds in (("raised", 5000), ("masks", 3000), ("stack", 3000), ("sigsys", 3000), ("forks", 300),
                             ("clones", 300), ("threads", 500), ("spawns", 60), ("cancels", 1000), ("dispatch", 9000)):
            with self.subTest(mode=mode):
                self.run_program(PATHS.tarn, "record", "-o", "rec", "--", PATHS.calls, mode, str(rounds))

    def test_sites_have_stacks_bytes_and_remedies(self):
        report = self.record(PATHS.calls, "plain", "2000", modes=["--full"])
        self.assertEqual(report["recorder"]["sources"], ["system calls by syscall user dispatch"])
        put = self.site(report, "write", "put")
        self.assertEqual((put["count"], put["bytes_asked"], put["bytes"], put["errors"], put["category"]),
                         (2000, 2000, 2000, 0, "small"))
        self.assertIn("tarn::io::writer", put["remedy"])
        self.assertIn("plain", [frame["function"] for frame in put["stack"]])
        self.assertIn("main", [frame["function"] for frame in put["stack"]])
        self.assertGreater(put["time_ns"], 0)
        opened = self.site(report, "openat", "plain")
        self.assertEqual((opened["category"], opened["same_arguments"]), ("repeated", 1999))
        stats = [call for call in report["syscalls"] if call["name"] in ("stat", "newfstatat")
                 and any(frame["function"] == "plain" for frame in call["stack"])]
        self.assertEqual(sorted(call["errors"] for call in stats), [0, 2000, 2000])
        unchanged = json.loads(self.run_program(PATHS.tarn, "diff", "--json", "rec", "rec").stdout)["syscalls"]
        self.assertEqual((unchanged["before"], unchanged["changes"]), (unchanged["after"], []))
        self.assertGreater(unchanged["before"]["count"], 2000)
        self.assertRegex(self.run_program(PATHS.tarn, "diff", "rec", "rec").stdout, r"System calls: ([\d,]+) → \1 made")
        refusal = self.run_program(PATHS.tarn, "report", "--source", "heap", "rec", code=2)
        self.assertEqual((refusal.stdout, refusal.stderr),
                         ("", "tarn: rec has no heap; record the program with tarn record --heap\n"))
        text = self.run_program(PATHS.tarn, "report", "--top", "2", "rec").stdout
        self.assertRegex(text, r"(?m)^\d{1,3},\d{3} system calls at \d+ sites: [\d.]+ (s|ms|µs) in them")
        self.assertRegex(re.sub(r"\n +", " ", text), r": 2,000 write calls, by 1 thread; [\d.]+ (s|ms|µs) in them "
                                                     r"\(running, runnable or blocked\), [\d.]+ (ms|µs|ns) each")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        # The calls that take most time are listed, whether or not there is a remedy.
        spent = sum(call["time_ns"] for call in report["syscalls"])
        longest = max(report["syscalls"], key=lambda call: call["time_ns"])
        is_shown = "Longest system calls: " in text
        self.assertEqual(is_shown, spent >= 0.01 * report["end"]["wall_us"] * 1000, "1 % of the run")
        if is_shown:
            self.assertRegex(text, rf"calls: .* with waiting.*\n +[\d.]+ (s|ms|µs) +\d+ %  {longest['name']}, ")

    def test_a_wait_for_data_is_no_work(self):
        waits = ("import os, socket, threading, time\n"
                 "here, there = socket.socketpair()\n"
                 "source, target = os.pipe()\n"
                 "def feed():\n"
                 "    for give in 20 * [lambda: there.send(b'x')] + 20 * [lambda: os.write(target, b'x')]:\n"
                 "        time.sleep(0.03)\n"
                 "        give()\n"
                 "feeder = threading.Thread(target=feed)\n"
                 "feeder.start()\n"
                 "for round in range(20): here.recv(1)\n"
                 "for round in range(20): os.read(source, 1)\n"
                 "feeder.join()\n")
        self.run_program(PATHS.tarn, "record", "--syscalls", "--full", "-o", "rec", "--", sys.executable, "-c", waits)
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--quick", "--top", "100000",
                                             "rec").stdout)
        received = [call for call in report["syscalls"] if call["name"] == "recvfrom"]
        self.assertEqual([(call["category"], call["count"]) for call in received], [("waits", 20)])
        self.assertGreater(received[0]["time_ns"], 400_000_000)
        text = " ".join(self.run_program(PATHS.tarn, "report", "--quick", "rec").stdout.split())
        self.assertRegex(text, r" system calls at \d+ sites: [\d.]+ m?s in them \(at most [\d.]+ [mµ]?s of that on a "
                               r"processor\), and [\d.]+ s in calls that wait \([^()]*recvfrom[^()]*\)")


if __name__ == "__main__":
    main("tarn", "calls", "programs")
