#!/usr/bin/env python3
"""`tarn record` never hangs, kills or changes the program that it records."""

import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys

from paths import HANG_S, PATHS, FolderTest, main

MODES = (["--heap"], ["--heap", "--full"], ["--locks"], ["--syscalls"], [], ["--full", "--follow"])
RUBY = "puts (1..4).map { |i| Thread.new { (1..2000).map { |x| x.to_s }.size } }.map(&:value).sum"
JAVA = """
public class Hello {
  public static void main(String[] words) throws Exception {
    Thread[] all = new Thread[4];
    for (int at = 0; at < all.length; ++at) (all[at] = new Thread(() -> "x".repeat(1000))).start();
    for (Thread each : all) each.join();
    System.out.println("ended");
  }
}
"""
COUNTS_INTERRUPTS = """
import signal, sys, time
seen = []
for each in signal.SIGINT, signal.SIGQUIT:
    signal.signal(each, lambda number, frame: seen.append(number))
print("ready", flush=True)
while not seen:
    time.sleep(0.05)
time.sleep(0.5)
print(*map(int, seen), flush=True)
"""
# Locks all of its memory, and prints how much of it is resident, in KiB.
LOCKS_ITS_MEMORY = r"""
import ctypes, re
if ctypes.CDLL(None).mlockall(3) == 0:
    print(re.search(r"VmRSS:\s*(\d+) kB", open("/proc/self/status").read())[1])
"""
PRINTS_ITS_MAPPINGS = "print(open('/proc/self/smaps').read())"
CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="ascii").strip()


class Safety(FolderTest):
    def record(self, *arguments, modes=(), **settings):
        return self.run_program(PATHS.tarn, "record", *modes, "-o", "rec", "--", *arguments, **settings)

    def test_hooks_call_nothing_that_locks_or_allocates(self):
        for modes in MODES:
            with self.subTest(modes=modes):
                self.assertEqual(self.record(PATHS.hooks, modes=modes).stdout, "ended\n")

    def test_all_that_the_recorder_calls_is_listed(self):
        page = pathlib.Path(PATHS.page).read_text(encoding="utf-8")
        in_hooks, ahead = (re.findall(r"`(\w+)`", "\n".join(re.findall(r"(?m)^\| (`.*?) \|", part)))
                           for part in re.split(r"(?m)^## ", page)[1:3])
        output = self.run_program("nm", "-D", "--undefined-only", PATHS.library).stdout
        self.assertEqual(sorted({line.split()[-1].split("@")[0] for line in output.splitlines()}),
                         sorted(in_hooks + ahead))
        by_compiler = ("__cxa_finalize", "__gmon_start__", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable")
        watched = self.run_program(PATHS.hooks, "list").stdout.split()
        self.assertEqual(sorted(watched), sorted(set(ahead) - set(by_compiler)))

    def test_a_core_file_leaves_out_the_recorder(self):
        for modes in [], ["--full"]:
            with self.subTest(modes=modes):
                text = self.record("/usr/bin/python3", "-c", PRINTS_ITS_MAPPINGS, modes=modes).stdout
                kib = list(map(int, re.findall(r"(?m)^Size: +(\d+) kB", text)))
                flags = [line.split() for line in re.findall(r"(?m)^VmFlags: (.*)", text)]
                large = [(size, flag_names) for size, flag_names in zip(kib, flags, strict=True) if size >= 64 << 10]
                self.assertTrue(large, "the region is mapped")
                self.assertEqual([size for size, flag_names in large if "dd" not in flag_names], [])
        if CORE_PATTERN.startswith(("|", "/")):
            return
        unlimited = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        with contextlib.suppress(subprocess.SubprocessError):  # the hard limit is lower
            self.record("/usr/bin/python3", "-c", "import os; os.abort()", code=-signal.SIGABRT, preexec_fn=unlimited)
            cores = list(self.folder.glob("core*"))
            self.assertEqual([core.name for core in cores if core.stat().st_size > 256 << 20], [])
            self.assertTrue(cores)

    def test_a_program_that_locks_its_memory_gets_no_untouched_pages(self):
        resident_kib = self.record(sys.executable, "-c", LOCKS_ITS_MEMORY).stdout
        if resident_kib == "":
            self.skipTest("the right to lock memory without a limit")
        self.assertLess(int(resident_kib), 192 << 10)

    def test_the_arithmetic_of_the_program_is_its_own(self):
        for modes in MODES:
            for mode in "flags", "traps":
                with self.subTest(modes=modes, mode=mode):
                    output = self.record(PATHS.arithmetic, mode, modes=modes, input="go on\n").stdout
                    self.assertEqual(output, "ready\ndone\n0 raised\n")

    def test_ruby_and_java_run(self):
        (self.folder / "Hello.java").write_text(JAVA)
        for command, output in (["ruby", "-e", RUBY], "8000\n"), (["java", "-Xmx128m", "Hello.java"], "ended\n"):
            if shutil.which(command[0]) is None:
                continue
            for modes in ["--heap"], []:
                with self.subTest(command=command[0], modes=modes):
                    self.assertEqual(self.record(*command, modes=modes).stdout, output)

    def test_a_signal_to_the_recorder_alone_reaches_the_program(self):
        """As containers stop PostgreSQL (SIGINT) and nginx (SIGQUIT)."""
        for number in signal.SIGINT, signal.SIGQUIT:
            with self.subTest(number=number), subprocess.Popen(
                    [PATHS.tarn, "record", "--heap", "-o", "rec", "--", "/usr/bin/python3", "-c", COUNTS_INTERRUPTS],
                    cwd=self.folder, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
                    start_new_session=True) as running:
                self.assertEqual(running.stdout.readline(), "ready\n")
                running.send_signal(number)
                self.assertEqual(running.stdout.readline(), f"{int(number)}\n")
                self.assertEqual(running.wait(HANG_S), 0)

    def test_a_key_of_the_terminal_reaches_the_program_once(self):
        for key, number in (b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT):
            with self.subTest(number=number):
                process, terminal = pty.fork()
                if process == 0:
                    os.chdir(self.folder)
                    os.execv(PATHS.tarn, ["tarn", "record", "--heap", "-o", "rec", "--", "/usr/bin/python3", "-c",
                                          COUNTS_INTERRUPTS])
                with os.fdopen(terminal, "rb", buffering=0) as screen:
                    while b"ready" not in screen.read(100):
                        pass
                    os.write(terminal, key)
                    output = b""
                    with contextlib.suppress(OSError):  # the other end is closed: all has been read
                        while chunk := screen.read(100):
                            output += chunk
                self.assertEqual(os.waitpid(process, 0)[1], 0, output)
                self.assertIn(f"{int(number)}\r\n".encode(), output)
                self.assertNotIn(f"{int(number)} {int(number)}".encode(), output)

    def test_processes_of_other_pid_namespaces_are_told_apart(self):
        ways = (["unshare", "-p", "-f"], ["unshare", "-r", "-p", "-f"])
        way = next((way for way in ways if shutil.which("unshare") and
                    subprocess.run([*way, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0), None)
        if way is None:
            self.skipTest("no PID namespace may be made here")
        launch = f"{' '.join(way)} '{PATHS.sites}' 100 0"
        self.record("sh", "-c", f"{launch} & {launch} & wait", modes=["--heap", "--full", "--follow"])
        files = [path.name for path in self.folder.glob("rec.*")]
        self.assertTrue(all(re.fullmatch(r"rec\.\d+(@\d+\.\d+)?", file) for file in files), files)
        counts = self.counts_of_followed_sites()
        self.assertEqual(len(counts), 2, files)
        self.assertGreater(counts[0], 1200)
        self.assertEqual(counts[0], counts[1], "two processes of the number 1 counted in one file")
        # With a /proc of its own, a namespace does not show where the recording is.
        for file in files:
            (self.folder / file).unlink()
        self.record(*way, "--mount-proc", "sh", "-c", f"'{PATHS.sites}' 100 0; '{PATHS.sites}' 100 0; true",
                    modes=["--heap", "--full", "--follow"])
        if way[1] != "-r":
            self.assertEqual(self.counts_of_followed_sites(), counts)

    def counts_of_followed_sites(self):
        """The allocations of each recorded process that is tool_sites."""
        reports = [json.loads(self.run_program(PATHS.tarn, "report", "--json", "--stacks", "--top", "1000",
                                               path).stdout)
                   for path in self.folder.glob("rec.*")]
        return [report["heap"]["allocations"] for report in reports
                if any("sites.cpp" in frame["file"] for site in report["sites"] for frame in site["stack"])]

    def report(self):
        return json.loads(self.run_program(PATHS.tarn, "report", "--json", "--stacks", "--top", "1000", "rec").stdout)

    def can_change_user(self):
        command = ["setpriv", "--reuid=65534", "--clear-groups", PATHS.sites, "1", "0"]
        return (os.geteuid() == 0 and shutil.which("setpriv") is not None and
                subprocess.run(command, check=False).returncode == 0)

    def test_a_launcher_is_followed_into_its_program(self):
        self.record(PATHS.sites, "100", "0", modes=["--heap", "--full"])
        allocations = self.report()["heap"]["allocations"]
        launchers = [["env", "-i"], ["timeout", "100"], ["timeout", "100", "env", "-i"],
                     ["sh", "-c", f"'{PATHS.sites}' 100 0; true"], ["sh", "-c", f"exec '{PATHS.sites}' 100 0"],
                     ["sh", "-c", f"true; (exec env -i '{PATHS.sites}' 100 0); ls > /dev/null"]]
        if self.can_change_user():
            launchers.append(["setpriv", "--reuid=65534", "--clear-groups"])
        for way in (["unshare", "-p", "-f", "--mount-proc"], ["unshare", "-rpf"], ["unshare", "-rpf", "--mount-proc"]):
            if subprocess.run([*way, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
                launchers += [way, [*way, "sh", "-c", f"'{PATHS.sites}' 100 0; true"]]
        for command in launchers:
            with self.subTest(command=command):
                if "sh" not in command:
                    command = [*command, PATHS.sites, "100", "0"]
                self.record(*command, modes=["--heap", "--full"])
                report = self.report()
                self.assertTrue(any("sites.cpp" in frame["file"] for site in report["sites"]
                                    for frame in site["stack"]))
                images = report["program"]["images"]
                self.assertGreaterEqual(report["heap"]["allocations"], allocations if images > 1 else allocations - 1)
                self.assertEqual([path.name for path in self.folder.glob("rec*")], ["rec"])
                self.assertEqual(report["recorder"]["unrecorded"]["became"], "")

    def test_what_is_not_recorded_is_reported(self):
        runs_two = f"import subprocess; [subprocess.run(['{PATHS.sites}', '100', '0']) for at in range(2)]"
        output = self.record("/usr/bin/python3", "-c", runs_two, modes=["--heap"]).stderr
        line = "not recorded: 2 child programs (tool_sites ×2); use tarn record --follow to record each process"
        self.assertIn(f"tarn: {line}\n", output)
        self.assertIn(f"{line}.\n", self.run_program(PATHS.tarn, "report", "rec").stdout)
        self.assertEqual(self.report()["recorder"]["unrecorded"]["programs"], {"tool_sites": 2})

        output = self.record("/usr/bin/python3", "-c",
                             "import os; [os.fork() or os._exit(0) for at in range(3)]").stderr
        self.assertIn("tarn: not recorded: 3 forked processes; use tarn record --follow", output)

        makes_both = ("import os; [os.fork() or os._exit(0) for at in range(3)]; "
                      "[os.system('true') for at in range(2)]; "
                      "[os.posix_spawn('/bin/true', ['true'], os.environ) for at in range(4)]; "
                      "[os.fork() or os.execv('/bin/true', ['true']) for at in range(5)]")
        output = self.record("/usr/bin/python3", "-c", makes_both).stderr
        self.assertIn("tarn: not recorded: 3 forked processes; use tarn record --follow", output)
        self.assertIn("tarn: not recorded: 11 child programs (true ×9, dash ×2); use tarn record --follow", output)

        output = self.record("/usr/bin/python3", "-c", f"import os; os.execv('{PATHS.static}', ['x'])").stderr
        self.assertRegex(output, "tarn: not recorded: the program that replaced it by exec, .*statically linked")
        self.assertIn("replaced it by exec", self.run_program(PATHS.tarn, "report", "rec").stdout)

        output = self.record("true").stderr
        self.assertNotIn("not recorded", output)

    def test_children_that_cannot_be_followed_are_reported(self):
        ways = {"resource.setrlimit(resource.RLIMIT_AS, (200_000_000, 200_000_000))":
                "it has too few addresses (ulimit -v) for the memory of tarn record"}
        if os.geteuid() == 0:
            ways["os.setuid(65534); os.closerange(3, 5000)"] = (
                "it cannot open the memory of tarn record, with another user, root folder or /proc than at its start; "
                "tarn record --pid may record it")
        for way, reason in ways.items():
            with self.subTest(way):
                program = f"import os, resource; {way}; [os.fork() or os._exit(0) for at in range(2)]; os.wait()"
                output = self.record("/usr/bin/python3", "-c", program, modes=["--follow", "--heap"]).stderr
                line = rf"not recorded: python3[.\d]* ×2: {re.escape(reason)}"
                self.assertRegex(output, f"tarn: {line}\n")
                self.assertRegex(self.run_program(PATHS.tarn, "report", "rec").stdout, line)

    def test_children_with_another_root_folder_or_user_are_followed(self):
        if os.geteuid() != 0:
            self.skipTest("only root may change them")
        forks = "[os.fork() or os._exit(0) for at in range(2)]; os.wait(); os.wait()"
        changes = ("os.chroot('.')", "os.setuid(65534)", "os.seteuid(65534)", "os.setreuid(65534, 65534)",
                   "os.setresuid(1, 65534, 1)")
        commands = [["/usr/bin/python3", "-c", f"import os; {change}; {forks}"] for change in changes]
        if self.can_change_user():
            commands.append(["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", "(true); (true); true"])
        for command in commands:
            with self.subTest(command=command):
                output = self.record(*command, modes=["--follow", "--heap"]).stderr
                self.assertIn("tarn: recorded 2 child processes", output)
                self.assertNotIn("not recorded", output)

    def test_a_program_may_restrict_its_system_calls(self):
        for mode in "prctl", "syscall", "strict", "raw":
            # In a program that asks the kernel by an instruction of its own, only --syscalls sees it.
            for modes in [["--syscalls"], []] if mode == "raw" else MODES:
                with self.subTest(mode=mode, modes=modes):
                    result = self.record(PATHS.restricted, mode, modes=modes)
                    self.assertEqual(result.stdout, "ended\n")
                    has_calls = "--syscalls" in modes or not {"--heap", "--locks"} & set(modes)
                    output = self.assertIn if has_calls else self.assertNotIn
                    output("tarn: the program restricted its system calls (seccomp)", result.stderr)
        for modes in MODES:
            with self.subTest(mode="clock", modes=modes):
                self.assertEqual(self.record(PATHS.restricted, "clock", modes=modes).stdout, "ended\n")
        self.record(PATHS.restricted, "prctl", modes=["--syscalls"])
        self.assertIn("restricted its system calls (seccomp)", self.run_program(PATHS.tarn, "report", "rec").stdout)
        output = self.run_program(PATHS.tarn, "gate", "rec", "--max", "system calls per request <= 1000000",
                                  "--requests", "1", code=3)
        self.assertIn("cannot be checked in rec: the program restricted its system calls", output.stderr)
        for mode, blocks in ("prctl", 3000), ("strict", 1000):  # of three threads that began after it, or of the first
            self.record(PATHS.restricted, mode, modes=["--heap", "--locks", "--full"])
            report = self.report()
            for kind, count in ("sites", "allocations"), ("locks", "acquisitions"):
                after = [site[count] for site in report[kind]
                         if any(frame["function"].startswith("allocate_after")
                                for stack in [site.get("stack"), *(entry["stack"] for entry in site.get("sites", []))]
                                for frame in stack or [])]
                self.assertEqual(sum(after), blocks, (mode, kind))
        self.assertNotIn("seccomp", self.record("true").stderr)

    def test_a_limit_of_open_files_bounds_the_children_or_is_named(self):
        for modes, program in ((["--follow"], ["true"]), ([], ["sh", "-c", "true; true"])):
            self.assertEqual(self.limited(resource.RLIMIT_NOFILE, 12, *program, modes=modes, code=4).stderr,
                             "tarn: the limit of 12 open files (ulimit -n) is too low to record child processes; at "
                             "least 56 are needed: raise it, or record the program itself, without --follow and "
                             "without a shell or launcher\n")
        self.limited(resource.RLIMIT_NOFILE, 12, PATHS.sites, "100", "0")
        children = "for child in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true; done; true"
        output = self.limited(resource.RLIMIT_NOFILE, 56, "sh", "-c", children, modes=["--follow"]).stderr
        self.assertIn("tarn: recorded 8 child processes, ", output)
        self.assertIn("tarn: 4 more child processes were not recorded; the limit is 8, more with a higher ulimit -n",
                      output)

    def limited(self, resource_kind, bytes_, *arguments, file_limit=None, modes=(), code=0):
        limit = lambda: resource.setrlimit(resource_kind, (bytes_, file_limit or bytes_))
        return self.record(*arguments, modes=modes, code=code, preexec_fn=limit)

    def test_limits_leave_room_or_are_named(self):
        gigabyte = 1 << 30
        self.limited(resource.RLIMIT_AS, gigabyte, PATHS.sites, "2000", "0")
        self.assertGreater(self.report()["heap"]["allocations"], 12 * 2000)
        self.assertIn(f"the limit is {gigabyte >> 10} KiB (ulimit -v)",
                      self.limited(resource.RLIMIT_AS, gigabyte, "true", modes=["--full"], code=4).stderr)
        self.limited(resource.RLIMIT_AS, gigabyte, "sh", "-c", f"'{PATHS.sites}' 100 0; true", modes=["--follow"])
        self.assertIn("(ulimit -v) is too low to record", self.limited(
            resource.RLIMIT_AS, 200 << 20, "true", code=4).stderr)
        # The region is a file in memory: its limit is raised as far as it may be, and not the program's.
        output = self.limited(resource.RLIMIT_FSIZE, 512 << 10, "sh", "-c", "ulimit -S -f; true",
                            file_limit=gigabyte).stdout
        self.assertEqual(output, "1024\n")
        self.assertGreater(self.report()["heap"]["allocations"], 0)
        output = self.limited(resource.RLIMIT_FSIZE, 512, PATHS.sites, "2000", "0", file_limit=gigabyte).stderr
        self.assertIn("File too large; it has no events", output)
        raises = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (1, 1)); r.setrlimit(r.RLIMIT_FSIZE, (-1, -1))"
        if subprocess.run(["/usr/bin/python3", "-c", raises], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.assertIn("(ulimit -f) is too low to record", self.limited(
                resource.RLIMIT_FSIZE, 512 << 10, "true", code=4).stderr)


if __name__ == "__main__":
    main("tarn", "library", "hooks", "page", "sites", "static", "restricted", "arithmetic")
