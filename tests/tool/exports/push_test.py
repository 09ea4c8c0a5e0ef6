#!/usr/bin/env python3
"""`tarn record --continuous --push`: each file of a recording reaches a store, once, whatever the store does."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import prices
from paths import HANG_S, PATHS, FolderTest, main, polls
from stores import Store


def setUpModule():
    prices.use_simple()


class PushTest(FolderTest):
    def store(self, *behaviours, **settings):
        store = Store(behaviours, **settings)
        self.addCleanup(store.close)
        return store

    def start(self, url, *options):
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.addCleanup(self.errors.close)
        running = subprocess.Popen([PATHS.tarn, "record", "--heap", "--full", "--push", url, *options, "-o", "rec",
                                    "--", PATHS.attached, "0"], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        return running

    def read_errors(self):
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()

    def finish(self, running):
        """Ends the program; returns the lines of the push."""
        output = running.communicate(timeout=HANG_S)[0]
        errors = self.read_errors()
        self.assertEqual((output, running.returncode), ("0 wrong\n", 3), errors)
        return [line.removeprefix("tarn: push: ") for line in errors.splitlines() if line.startswith("tarn: push: ")]

    def last_number(self):
        return max((int(path.name.rpartition(".")[2]) for path in self.folder.iterdir()), default=0)

    def await_number(self, number):
        for _ in polls():
            if self.last_number() >= number:
                return

    def await_profiles(self, store):
        """Waits until the store has all but the newest files, so that little is left to send at the end."""
        for _ in polls():
            if len(store.profiles) >= self.last_number() - 1:
                return

    def counts_in(self, line):
        return [int(count) for count in
                re.match(r"(\d+) profiles? sent, (\d+) retried, (\d+) dropped", line).groups()]

    def check_counts(self, line, store, retried, dropped):
        """The last line of a push counts what the store took. On a busy machine the process that pushes may run out of
        time at the end, because it yields to others. Then the store may have the first of those not sent, too."""
        sent, *others = self.counts_in(line)
        self.assertEqual(others, [retried, dropped], line)
        unsure = int("not sent" in line)
        self.assertLessEqual(sent, len(store.profiles), line)
        self.assertLessEqual(len(store.profiles), sent + unsure, line)

    def check_taken(self, store):
        """No profile was taken twice, and what was sent again for one time was the same."""
        times = [(profile.from_ns, profile.until_ns) for profile in store.profiles]
        self.assertEqual(times, sorted(times))
        for before, after in zip(times, times[1:]):
            self.assertLessEqual(before[1], after[0], "two profiles overlap in time")
        self.assertEqual(len({query for query, _ in store.attempts}), len(set(store.attempts)))


class Windows(PushTest):
    def test_each_file_arrives_once_with_its_labels_and_its_time(self):
        store = self.store()
        begun_ns = time.time_ns()
        running = self.start(store.url + "/", "--continuous", "--every", "300ms", "--label", "service=shop",
                             "--label", "version=1.4", "--label", "container=c{1},x", "--label", "region=eu")
        self.assertTrue(store.wait_for(3))
        self.await_profiles(store)
        lines = self.finish(running)
        files = self.last_number()
        self.assertEqual(lines, [f"{files} profiles sent, 0 retried, 0 dropped"])
        self.assertEqual(len(store.profiles), files)
        self.check_taken(store)
        host = socket.gethostname()
        self.assertEqual({profile.name for profile in store.profiles},
                         {f"shop{{version=1.4,host={host},container=c_1__x,region=eu}}"})
        self.assertLessEqual(begun_ns, store.profiles[0].from_ns)
        self.assertLessEqual(store.profiles[-1].until_ns, time.time_ns() + 10**9)
        for profile in store.profiles[:-1]:
            self.assertGreaterEqual(profile.until_ns - profile.from_ns, 300 * 10**6)
        self.assertIn("allocations", store.profiles[0].types)

    def test_a_profile_is_that_of_tarn_export(self):
        store = self.store()
        running = self.start(store.url, "--every", "1h")
        self.finish(running)
        self.tarn("export", "rec.1", "--push", store.url)
        pushed, exported = store.profiles
        self.assertEqual(pushed.name, exported.name)
        self.assertRegex(pushed.name, r"^tool_attached\{version=[0-9a-f]+,host=[^,]+\}$")
        self.assertEqual(set(pushed.strings), set(exported.strings))

    def test_a_process_that_runs_already_is_pushed_and_a_pause_ends_a_file(self):
        store = self.store()
        program = subprocess.Popen([PATHS.attached, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   cwd=self.folder, text=True)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "ready\n")
        recorder = subprocess.Popen([PATHS.tarn, "record", "--heap", "--pid", str(program.pid), "--continuous",
                                     "--push", store.url, "-o", "rec"], cwd=self.folder, stderr=subprocess.PIPE,
                                    text=True)
        self.addCleanup(recorder.kill)
        self.assertIn("tarn: recording process", recorder.stderr.readline())
        self.tarn("record", "--pid", str(program.pid), "stop")
        self.assertTrue(store.wait_for(1))
        self.tarn("record", "--pid", str(program.pid), "start")
        program.communicate(timeout=HANG_S)
        errors = recorder.communicate(timeout=HANG_S)[1]
        self.assertIn("tarn: push: 2 profiles sent, 0 retried, 0 dropped\n", errors)
        self.check_taken(store)


class BadStores(PushTest):
    def test_what_fails_for_a_time_is_sent_again_and_counts_once(self):
        """Each failure is one line, and a profile whose answer broke off is not sent again."""
        for behaviours, problem in ((["nonsense"], "its answer is not HTTP"), ([503], "it answers 503: as it is"),
                                    ([429], "it answers 429"), (["close"], "Server returned nothing"),
                                    ([503, 503, "close", "close"], "Server returned nothing"), (["cut"], None)):
            with self.subTest(behaviours=behaviours):
                store = self.store(*behaviours)
                running = self.start(store.url, "--every", "200ms")
                self.assertTrue(store.wait_for(2))
                lines = self.finish(running)
                retried = 0 if problem is None else len(behaviours)
                self.check_counts(lines[-1], store, retried, 0)
                self.assertEqual(len(store.attempts), len(store.profiles) + retried)
                self.check_taken(store)
                kinds = 0 if problem is None else len(set(behaviours))
                self.assertEqual(len(lines), kinds + (kinds > 0) + 1, lines)
                if problem:
                    self.assertIn(f"{store.url}: {problem}", lines[kinds - 1])
                    self.assertIn("answers again", lines[kinds])
                for path in self.folder.iterdir():
                    path.unlink()

    def test_a_profile_that_the_store_refuses_is_dropped(self):
        for status in 400, 404, 301:
            with self.subTest(status=status):
                store = self.store(status, status)
                running = self.start(store.url, "--every", "200ms")
                self.assertTrue(store.wait_for(1))
                lines = self.finish(running)
                self.check_counts(lines[-1], store, 0, 2)
                self.assertEqual(len(lines), 2, lines)
                self.assertIn(f"rec.1 is dropped: {store.url}: it answers {status}: as it is (0 profiles sent",
                              lines[0])

    def test_a_store_that_comes_later_gets_all_that_waits(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        running = self.start(f"http://ada:secret@127.0.0.1:{port}", "--every", "200ms", "--keep", "900")
        self.await_number(5)
        for _ in polls():
            if "Couldn't connect" in self.read_errors():
                break
        store = self.store(port=port)
        self.assertTrue(store.wait_for(5))
        self.await_profiles(store)
        lines = self.finish(running)
        sent, retried, dropped = self.counts_in(lines[-1])
        self.assertEqual((sent, dropped), (self.last_number(), 0))
        self.assertGreater(retried, 0)
        self.assertEqual(len(store.profiles), sent)
        self.check_taken(store)
        self.assertIn(f"http://127.0.0.1:{port}: Couldn't connect to server; up to 899 profiles wait", lines[0])
        self.assertNotIn("secret", "".join(lines))

    def test_a_store_that_stays_away_costs_the_oldest_profiles_and_some_seconds(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        running = self.start(url, "--every", "200ms", "--keep", "3")
        self.await_number(7)
        begun = time.monotonic()
        lines = self.finish(running)
        self.assertGreater(time.monotonic() - begun, 5)
        files = self.last_number()
        counts = re.fullmatch(r"0 profiles sent, \d+ retried, (\d+) dropped; 2 not sent, from rec\.(\d+) to rec\.(\d+)",
                              lines[-1])
        self.assertEqual([int(count) for count in counts.groups()], [files - 2, files - 1, files])
        self.assertEqual(len(lines), 3, lines)
        self.assertIn("rec.1 is dropped: more than 2 profiles wait", lines[1])

    def test_neither_the_program_nor_its_recording_waits_for_a_store_that_hangs(self):
        store = self.store("hang")
        running = self.start(store.url, "--every", "100ms", "--keep", "1000")
        self.await_number(6)
        for _ in polls():  # the process that pushes yields to others
            if store.attempts:
                break
        self.assertEqual((len(store.attempts), len(store.profiles)), (1, 0))
        for _ in range(10):
            running.stdin.write("blocks 100\n")
            running.stdin.flush()
            self.assertEqual(running.stdout.readline(), "done\n")
        store.released.set()
        self.assertTrue(store.wait_for(6))
        self.assertEqual(self.counts_in(self.finish(running)[-1])[2], 0)
        self.check_taken(store)


class Command(PushTest):
    def test_what_cannot_be_pushed_is_refused_before_the_program_starts(self):
        refusals = ((["--push", "http://h"], 2, "--push requires --every or --continuous"),
                    (["--keep", "3"], 2, "--keep requires --every or --continuous"),
                    (["--continuous", "--push", "ftp://h"], 2, "must begin with http"),
                    (["--continuous", "--push", "http://h?a=b"], 2, "adds /ingest"),
                    (["--continuous", "--push", "http://h", "--keep", "1"], 2, "at least 2"),
                    (["--continuous", "--follow"], 2, "exclude each other"),
                    (["--label", "a=b"], 2, "requires --push"),
                    (["--continuous", "--push", "http://h", "--label", "a"], 2, "expected KEY=VALUE"))
        for options, code, problem in refusals:
            result = self.tarn("record", *options, "--", "touch", "started", code=code)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(problem, result.stderr)
        for name in "libcurl.so.4", "libcurl-gnutls.so.4":
            (self.folder / name).write_text("no library", encoding="utf-8")
        result = self.tarn("record", "--continuous", "--push", "http://h", "--", "touch", "started", code=5,
                           env={"LD_LIBRARY_PATH": str(self.folder)})
        self.assertEqual(result.stderr, "tarn: libcurl.so.4 is needed to send profiles; apt install libcurl4\n")
        self.assertFalse((self.folder / "started").exists())


if __name__ == "__main__":
    main("tarn", "attached")
