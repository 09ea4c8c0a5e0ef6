#!/usr/bin/env python3
"""`tarn fix --prove`, `--check` and `--apply`: which patches are kept."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from fixing import NOISY, PATCHES, ROOT, SHARED, FixTest, git, line_of, run
from fixing import setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main


class Trials(FixTest):
    def burn(self, script):
        """A command that takes some CPU time: the number of units that a script of the shell prints."""
        return f"n=$({script}); awk -v n=$n 'BEGIN {{ for (i = 0; i < n * 100000; ++i) s += i; print s }}'"

    def test_patches_that_build_and_pass_are_committed(self):
        names = "program.cpp", "shared.hpp"
        times = {name: (ROOT / name).stat() for name in names}
        head = git("rev-parse", "HEAD").strip()

        def restore():
            git("reset", "--quiet", "--hard", head)
            for name in names:
                os.utime(ROOT / name, ns=(times[name].st_atime_ns, times[name].st_mtime_ns))

        self.addCleanup(restore)
        expected = run(ROOT / "build/program").stdout.strip()
        text = self.fix("--apply", "--check", f'test "$(build/program)" = {expected}', applies=True)
        self.assertIn(f"patch {PATCHES}: ", text)
        self.assertEqual(git("rev-parse", f"HEAD~{PATCHES}").strip(), head)
        self.assertEqual(git("status", "--porcelain"), "")
        messages = git("log", "--format=%b", f"{head}..")
        self.assertEqual(len(re.findall(r"Predicted: (?:may )?saves? ", messages)), PATCHES)
        self.assertIn("values.reserve(", (ROOT / "program.cpp").read_text(encoding="utf-8"))

    def problems(self, *options):
        # A line may also have a site for tarn-pooled, which has no patch here.
        return {site["line"]: site["problem"] for site in json.loads(self.fix("--json", *options))["sites"]
                if site["check"] not in ("", "tarn-pooled") and site["file"].endswith("program.cpp")}

    def test_a_patch_that_breaks_the_build_or_the_check_is_not_kept(self):
        check = "! grep values.reserve program.cpp"
        problems = self.problems("--build", "! grep make_shared program.cpp", "--check", check,
                                 "-o", self.folder / "out")
        self.assertRegex(problems[line_of("loop")], r"^the check fails \(! grep values.*\): +values.reserve")
        self.assertRegex(problems[line_of("pointer")], r"^the build fails \(! grep make_shared.*\): .*std::make_shared")
        self.assertEqual(problems[line_of("rejecting")], "")
        # Two patches have values.reserve, and two have make_shared.
        self.assertEqual(len(list((self.folder / "out").iterdir())), PATCHES - 4)

    def test_a_command_that_fails_without_a_patch(self):
        for test_options in ["false"], ["true", "--check", "false"], ["true", "--prove", "false"]:
            error = self.fix("--build", *test_options, code=15)
            self.assertRegex(error, r"without a patch, the .* \(false\): exit code 1")
        (self.folder / "compile_commands.json").write_bytes((ROOT / "build/compile_commands.json").read_bytes())
        self.assertIn("has no CMakeCache.txt: name the command that builds by --build",
                      self.fix("--check", "true", build=self.folder, code=2))

    def test_only_what_gains_more_than_noise_is_kept(self):
        load = self.burn("grep -q numbers.reserve program.cpp && echo 1 || echo 8")
        sites = json.loads(self.fix("--json", "--build", "true", "--prove", load, "-o", self.folder / "out"))["sites"]
        patched_sites = [site for site in sites if site["patch"]]
        self.assertEqual([site["line"] for site in patched_sites], [line_of("rejecting")])
        self.assertGreater(patched_sites[0]["measured_share"], 0.5)
        self.assertEqual(patched_sites[0]["gain"], "measured")
        lost = [site["problem"] for site in sites if site["measured_share"] is not None and not site["patch"]]
        # Without a patch for its last use, a variable may have one that keeps its memory, or the other way round.
        instead = [site for site in self.sites().values() if "is the variable of the patch" in site["problem"]]
        self.assertEqual(len(lost), PATCHES - 1 + len(instead))
        for problem in lost:
            self.assertRegex(problem, r"^(no gain beyond noise|the machine is too noisy to tell|probably faster, "
                                      r".*|slower): median -?[\d.]+ % (of CPU time saved|more CPU time) "
                                      r"\(pairs: -?[\d.]+ to "
                                      r"-?[\d.]+ %\), (5|10) interleaved pairs, rank test p [=<] [01]\.\d+")
        patch, = (self.folder / "out").iterdir()
        self.assertRegex(patch.read_text(encoding="utf-8"), r"\nMeasured: median [\d.]+ % of CPU time saved")

    def test_a_machine_that_is_too_noisy(self):
        count = self.folder / "count"
        load = self.burn(f"echo >> {count}; test $(($(wc -l < {count}) % 3)) = 0 && echo 1 || echo 8")
        text = self.fix("--build", "true", "--prove", load, code=NOISY)
        self.assertRegex(text, r"^tarn: \w+.[ch]pp:\d+: the machine is too noisy to tell: .* rank test p [=<] 0\.\d+\n")
        self.assertIn("   no patch: the machine is too noisy to tell", text)
        self.assertIn("   no patch: 'target' may have elements before the loop\n", text)

    def test_a_loss_is_dropped_and_the_other_patches_go_on(self):
        load = self.burn("if grep -q values.reserve program.cpp; then echo 20; else "
                         "grep -q make_shared program.cpp && echo 1 || echo 8; fi")
        sites = json.loads(self.fix("--json", "--build", "true", "--prove", load, "-o", self.folder / "out"))["sites"]
        problems = {site["line"]: site["problem"] for site in sites if site["measured_share"] is not None}
        self.assertRegex(problems[line_of("loop")],
                         r"^slower: median [\d.]+ times the CPU time \(pairs: [\d.]+ to [\d.]+\), 5 interleaved")
        self.assertEqual(problems[line_of("pointer")], "")
        self.assertEqual([site["line"] for site in sites if site["patch"]], [line_of("pointer")])
        self.assertEqual(len(list((self.folder / "out").iterdir())), 1)

    def test_losses_alone_are_no_error(self):
        load = self.burn("grep -q -e [.]reserve -e [.]assign -e [.]clear -e make_shared -e std::move -e pooled.hpp "
                         "-e 'string& copy' program.cpp shared.hpp other.cpp && echo 20 || echo 1")
        text = self.fix("--build", "true", "--prove", load)
        self.assertRegex(text, r"\n   no patch: slower: median [\d.]+ times the CPU time")
        self.assertNotIn("patch 1:", text)

    def test_a_signal_leaves_nothing_behind(self):
        for stop in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            started = self.folder / f"started-{stop}"
            scratch = self.folder / "scratch"
            scratch.mkdir(exist_ok=True)
            command = subprocess.Popen(
                [PATHS.tarn, "fix", f"{SHARED.name}/rec", "-p", "build", "--quick", "--build", "true",
                 "--check", f"sleep 1000 & echo $! > {started}.new; mv {started}.new {started}; wait"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                env={**os.environ, "XDG_CACHE_HOME": SHARED.name, "TMPDIR": str(scratch)})
            while not started.exists():
                self.assertIsNone(command.poll())
                time.sleep(0.01)
            command.send_signal(stop)
            output = command.communicate(timeout=HANG_S)
            self.assertEqual((command.returncode, *output), (130, "", f"tarn: ended by {stop.name}\n"))
            self.assertEqual(list(scratch.iterdir()), [])
            with self.assertRaises(ProcessLookupError):  # its children are gone as well
                for _ in range(500):
                    os.kill(int(started.read_text(encoding="utf-8")), 0)
                    time.sleep(0.01)

    def test_at_least_five_pairs_of_runs(self):
        self.assertIn("--runs", self.fix("--prove", "true", "--runs", "4", code=2))
        self.assertIn("--prove", self.fix("--runs", "5", code=2))


if __name__ == "__main__":
    main("tarn", "library")
