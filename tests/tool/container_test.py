#!/usr/bin/env python3
"""The command in a container, which tests/support/container.c stands for, and the container files of examples/."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from paths import HANG_S, PATHS, FolderTest, main

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FILES = PROJECT / "examples/containers"
LINTERS = PROJECT / "build/linters/bin"
NAMESPACES = ["unshare", "--user", "--map-root-user", "--pid", "--mount", "--net", "--fork"]
# Two containers of a pod. The program of the first waits for the end of its input, which is when the second has ended.
POD = """
mkfifo "$volume/input"
unshare --mount "$container" "$mode" "$root" "" /app/attached 2 <"$volume/input" >"$volume/output" &
exec 4>"$volume/input"
until grep -qs ready "$volume/output"; do sleep 0.05; done
unshare --mount "$container" "$mode" "$root" "$volume" /opt/bin/tarn record --pid $! --for 1s -o /data/rec 4>&-
recorded=$?
exec 4>&-
wait $!
echo "recorder $recorded, program $?"
"""


def linter(name):
    program = shutil.which(name) or shutil.which(name, path=str(LINTERS))
    if not program:
        raise unittest.SkipTest(f"no {name}: ./dev test --all installs it by pip")
    return program


class Container(FolderTest):
    prefix = "tarn-container-"

    def setUp(self):
        super().setUp()
        tried = subprocess.run([*NAMESPACES, "true"], check=False, capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest(f"no namespaces for this user: {tried.stderr.strip()}")
        self.root, self.volume = self.folder / "root", self.folder / "volume"
        for name in ("proc", "dev", "data", "app", "opt/bin", "opt/lib"):
            (self.root / name).mkdir(parents=True)
        (self.root / "dev/null").touch()
        self.volume.mkdir()
        library = pathlib.Path(PATHS.tarn).parents[1] / "lib"
        for source, folder in [(PATHS.tarn, "opt/bin"), (library / "libtarn-record.so", "opt/lib"),
                               (library / "libtarn-malloc.so", "opt/lib"), (PATHS.threads, "app/threads"),
                               (PATHS.attached, "app/attached")]:
            shutil.copy(source, self.root / folder)
            for path in re.findall(r"(?:=> |^\t)(/\S+) \(", self.run_program("ldd", source).stdout, re.MULTILINE):
                (self.root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self.root / path.lstrip("/"))

    def run_inside(self, *arguments, volume="", code=0, **variables):
        return self.run_program(*NAMESPACES, PATHS.container, "as-user", self.root, volume, *arguments, code=code,
                                env=variables)

    def report(self):
        return json.loads(self.run_program(PATHS.tarn, "report", "--json", "--quick", self.volume / "rec").stdout)

    def test_a_program_is_recorded_without_rights_and_without_a_folder_for_temporary_files(self):
        for variables in ({}, {"LD_PRELOAD": "/opt/lib/libtarn-malloc.so"}):
            with self.subTest(variables=variables):
                result = self.run_inside("/opt/bin/tarn", "record", "--full", "-o", "/data/rec", "--", "/app/threads",
                                         "3", "500", volume=self.volume, code=7, **variables)
                self.assertEqual(result.stdout, "done\n")
                self.assertRegex(result.stderr, r"tarn: 1,5\d\d allocations, \d+ locks taken, \d+ system calls at ")
                report = self.report()
                self.assertGreaterEqual(report["heap"]["allocations"], 3 * 500)

    def test_a_report_needs_no_folder_that_can_be_written(self):
        self.run_inside("/opt/bin/tarn", "record", "--full", "-o", "/data/rec", "--", "/app/threads", "3", "500",
                        volume=self.volume, code=7)
        report = self.run_inside("/opt/bin/tarn", "report", "--json", "/data/rec", volume=self.volume)
        self.assertEqual(report.stderr, "")
        self.assertNotEqual(json.loads(report.stdout)["cost_model"]["date"], "")

    def test_a_recording_that_can_be_written_nowhere_is_one_line(self):
        result = self.run_inside("/opt/bin/tarn", "record", "--", "/app/threads", "3", "500", code=3)
        self.assertEqual((result.stdout, result.stderr), ("", "tarn: tarn.rec: Read-only file system\n"))

    def test_the_missing_capability_for_the_processor_is_named(self):
        result = self.run_inside("/opt/bin/tarn", "record", "--cpu", "-o", "/data/rec", "--", "/app/threads", "3",
                                 "500", volume=self.volume, code=5)
        self.assertRegex(result.stderr, r"^tarn: --cpu: [^\n]*in a container --cap-add=PERFMON[^\n]*\n$")

    def test_the_malloc(self):
        result = self.run_inside("/opt/bin/tarn", "run", "--stats=json", "--", "/app/threads", "3", "500", code=7)
        self.assertGreaterEqual(json.loads(result.stderr)["sums"]["allocated_blocks"], 3 * 500)

    def run_pod(self, mode, **variables):
        settings = {"PATH": "/usr/bin:/bin", "container": PATHS.container, "mode": mode, "root": str(self.root),
                    "volume": str(self.volume)}
        return subprocess.run([*NAMESPACES, "sh", "-c", POD], check=False, capture_output=True, text=True,
                              env={**settings, **variables}, timeout=HANG_S)

    def test_another_container_of_the_pod_records_a_running_program(self):
        result = self.run_pod("unfiltered")
        self.assertEqual(result.stdout, "recorder 0, program 3\n", result.stderr)
        self.assertIn(" stood still for ", result.stderr)
        self.assertEqual((self.volume / "output").read_text(encoding="utf-8"), "ready\n0 wrong\n")
        self.assertGreater(self.report()["heap"]["allocations"], 1000)

    def test_a_filter_of_system_calls_is_named_to_another_container(self):
        result = self.run_pod("beside")
        self.assertEqual(result.stdout, "recorder 3, program 3\n", result.stderr)
        self.assertRegex(result.stderr, r"^tarn: process \d+ has restricted its system calls \(seccomp\)[^\n]*\n$")

    # In the user namespace of the tests above, the two users are one to the kernel.
    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root has two users here")
    def test_root_with_the_right_to_trace_alone_records_another_users_program(self):
        self.folder.chmod(0o755)
        limited = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set"]
        user = ["-all", "--reuid=1000", "--regid=1000", "--clear-groups"]
        with subprocess.Popen([*limited, *user, self.root / "app/attached", "2"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as program:
            self.assertEqual(program.stdout.readline(), "ready\n")
            for start in ("loads the recorder", "takes over the region"):
                with self.subTest(start=start):
                    result = self.run_program(*limited, "-all,+sys_ptrace", self.root / "opt/bin/tarn", "record",
                                              "--pid", str(program.pid), "--for", "1s", "-o", self.volume / "rec")
                    self.assertIn(" stood still for ", result.stderr)
                    self.assertGreater(self.report()["heap"]["allocations"], 1000)
            program.stdin.close()
            self.assertEqual((program.stdout.read(), program.wait(HANG_S)), ("0 wrong\n", 3))


class Files(FolderTest):
    def test_linters_accept_the_files(self):
        self.run_program(linter("hadolint"), "--failure-threshold", "info", FILES / "server.Dockerfile")
        self.assertIn("passed", self.run_program(linter("kubernetes-validate"), "--strict", FILES / "pod.yaml").stdout)

    def test_linters_find_a_mistake(self):
        text = (FILES / "pod.yaml").read_text(encoding="utf-8")
        (self.folder / "pod.yaml").write_text(text.replace("shareProcessNamespace", "shareProcesses"), encoding="utf-8")
        self.run_program(linter("kubernetes-validate"), "--strict", self.folder / "pod.yaml", code=1)
        text = (FILES / "server.Dockerfile").read_text(encoding="utf-8")
        (self.folder / "Dockerfile").write_text(text.replace("debian:12-slim", "debian"), encoding="utf-8")
        self.run_program(linter("hadolint"), self.folder / "Dockerfile", code=1)


if __name__ == "__main__":
    main("tarn", "container", "threads", "attached")
