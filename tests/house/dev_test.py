#!/usr/bin/env python3
"""The front door with the machine behind it faked: what ./dev installs, when, and what it says when it cannot.

A copy of ./dev and packages.sh runs with a PATH of small stand-ins that note how they are called.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ["bash", "env", "dirname", "readlink", "nproc", "sed", "tr", "sort", "tail", "mkdir", "rm", "cksum",
         "grep", "cat", "true", "rmdir"]
# Each stand-in notes its name and arguments. `have`, `known` and `broken` are files in the machine's folder.
STAND_INS = {
    "id": 'echo "${FAKE_UID:-0}"',
    "dpkg-query": 'grep -qxF "${!#}" "$MACHINE/have" && printf installed',
    # As apt does, with no line for a name that it has never heard of.
    "apt-cache": """
for name in "${@:2}"; do
  if grep -qxF "$name" "$MACHINE/known"; then
    printf '%s:\\n  Installed: (none)\\n  Candidate: 1\\n  Version table:\\n' "$name"
  fi
done""",
    "apt-get": """
if [ "$1" = update ]; then
  printf '%s\\n' one two three maybe >"$MACHINE/known"
  rm -f "$MACHINE/broken"
elif [ -e "$MACHINE/broken" ]; then
  echo "E: the archive has moved on" >&2
  exit 100
fi""",
    "sudo": '[ "${FAKE_SUDO:-yes}" = yes ] || exit 1; [ "$1" = -n ] && shift; exec "$@"',
    # An installation: one file for each build, and a list that ends without a newline and does not have DESTDIR, as
    # cmake writes it.
    "cmake": """
if [ "$1" = --install ]; then
  mkdir -p "$2" "${DESTDIR:-}$4/lib/${2##*/}"
  true >"${DESTDIR:-}$4/lib/${2##*/}/libtarn.a"
  printf %s "$4/lib/${2##*/}/libtarn.a" >"$2/install_manifest.txt"
fi""",
    "python3": 'pwd >"$MACHINE/where"; echo "all is well"',
}
NOTED = {"apt-get", "cmake", "python3"}


class Dev(unittest.TestCase):
    def setUp(self):
        self.machine = pathlib.Path(tempfile.mkdtemp(prefix="tarn-machine-"))
        self.addCleanup(shutil.rmtree, self.machine)
        self.project = self.machine / "checkout"
        self.path = self.machine / "bin"
        self.project.mkdir()
        self.path.mkdir()
        for name in "dev", "packages.sh":
            shutil.copy(PROJECT / name, self.project)
        (self.project / "packages.txt").write_text(
            "# Words.\nbuild: one two three\ntest:\ndemo:\nbench: one\npackage:\npeers: maybe?\nfix: one\ncheck:\n"
            "clang: four\nappserver: one\narm: cross?\nmusl: loader?\n", encoding="utf-8")
        for name in TOOLS:
            (self.path / name).symlink_to(shutil.which(name))
        for name, body in STAND_INS.items():
            note = f'echo "{name} $*" >>"$MACHINE/calls"\n' if name in NOTED else ""
            stand_in = self.path / name
            stand_in.write_text(f"#!{shutil.which('bash')}\n{note}{body}\n", encoding="utf-8")
            stand_in.chmod(0o755)
        self.file("have", "one", "two", "three", "maybe")
        self.file("known", "one", "two", "three", "maybe")

    def file(self, name, *lines):
        (self.machine / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def dev(self, *arguments, expect=0, **environment):
        result = subprocess.run([str(self.project / "dev"), *arguments], capture_output=True, text=True, check=False,
                                cwd=self.machine, stdin=subprocess.DEVNULL,
                                env={"PATH": str(self.path), "HOME": "/nowhere", "MACHINE": str(self.machine),
                                     **environment})
        output = result.stderr + result.stdout
        self.assertEqual(result.returncode, expect, output)
        return output

    def calls(self, name):
        calls = self.machine / "calls"
        lines = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
        return [line for line in lines if line.split()[0] == name]

    def installed(self):
        """The packages of each `apt-get install`, and "update" for each update, in order."""
        problems = []
        for call in self.calls("apt-get"):
            arguments = call.split()[1:]
            problems.append("update" if arguments[0] == "update" else
                         [word for word in arguments[1:] if "=" not in word and not word.startswith("-")])
        return problems

    def test_complete_machine_is_left_alone(self):
        self.dev("build", "dev")
        self.assertEqual(self.installed(), [])
        self.assertEqual(self.calls("cmake")[0], f"cmake --preset dev -B {self.project}/build/dev")

    def test_only_what_is_missing_is_installed_and_the_lists_stay(self):
        self.file("have", "one")
        output = self.dev("build", "dev")
        self.assertEqual(self.installed(), [["three", "two"]])
        self.assertIn("== Installing three two\n", output)

    def test_lists_are_updated_when_they_lack_a_name(self):
        self.file("have", "one")
        self.file("known")
        self.dev("build", "dev")
        self.assertEqual(self.installed(), ["update", ["three", "two"]])

    def test_lists_are_updated_when_the_archive_has_moved_on(self):
        self.file("have", "one")
        self.file("broken")
        self.dev("build", "dev")
        self.assertEqual(self.installed(), [["three", "two"], "update", ["three", "two"]])

    def test_package_that_does_not_exist(self):
        output = self.dev("build", "clang", expect=1)
        self.assertEqual(self.installed(), ["update"])
        self.assertIn("./dev: no package four in the lists of this system", output)
        self.assertEqual(self.calls("cmake"), [])

    def test_wanted_package_that_does_not_exist(self):
        self.file("have", "one", "two", "three")
        self.file("known", "one")
        (self.path / "apt-get").write_text(f'#!{shutil.which("bash")}\necho "apt-get $*" >>"$MACHINE/calls"\n',
                                           encoding="utf-8")
        output = self.dev("bench", "--json")
        self.assertEqual(self.installed(), ["update"])
        self.assertIn("== Going on without maybe", output)
        self.assertEqual(self.calls("python3"),
                         [f"python3 {self.project}/bench/run.py --build {self.project}/build/release --json"])

    def test_plain_user_installs_through_sudo(self):
        self.file("have", "one")
        self.dev("build", "dev", FAKE_UID="1000")
        self.assertEqual(self.installed(), [["three", "two"]])

    def test_plain_user_without_sudo(self):
        self.file("have", "one")
        output = self.dev("build", "dev", expect=1, FAKE_UID="1000", FAKE_SUDO="no")
        self.assertIn("./dev: not root, and sudo refused. Install as root: three two\n", output)
        (self.path / "sudo").unlink()
        output = self.dev("build", "dev", expect=1, FAKE_UID="1000")
        self.assertIn("./dev: not root, and no sudo. Install as root: three two\n", output)
        self.assertEqual(self.installed(), [])

    def test_plain_user_on_a_complete_machine_needs_no_sudo(self):
        (self.path / "sudo").unlink()
        self.dev("build", "dev", FAKE_UID="1000")

    def test_system_without_apt(self):
        (self.path / "dpkg-query").unlink()
        output = self.dev("bench", expect=1)
        self.assertIn("./dev: not a Debian-like system: install what Debian 12 calls maybe one three two, "
                      "then use TARN_PACKAGES=skip\n", output)
        self.dev("bench", TARN_PACKAGES="skip")

    def test_failing_step_shows_its_log_and_ends(self):
        (self.path / "cmake").write_text(f'#!{shutil.which("bash")}\necho why it failed >&2\nexit 3\n',
                                         encoding="utf-8")
        output = self.dev("test", expect=1)
        self.assertIn("why it failed\n./dev: failed after", output)
        self.assertIn(f"(exit 3): cmake --preset dev -B {self.project}/build/dev\n", output)
        self.assertEqual(self.calls("python3"), [])

    def builds(self):
        """The builds whose tests the last `./dev test` ran."""
        text = (self.project / "build/test/CTestTestfile.cmake").read_text(encoding="utf-8")
        return re.findall(r'subdirs\("\.\./(\w+)"\)\n', text)

    def test_tests_of_both_builds_end_in_one_summary(self):
        output = self.dev("test", "-R", "heap", TARN_JOBS="3")
        self.assertEqual(self.calls("python3"),
                         [f"python3 -B {self.project}/tests/run.py {self.project}/build/test 4 -R heap"])
        self.assertIn("Left out: AddressSanitizer and ThreadSanitizer (./dev test --all)\n", output)
        self.assertTrue(output.endswith("all is well\n"), output)
        self.assertEqual(self.builds(), ["dev", "release"])

    def test_long_tests_are_left_out_unless_arguments_choose(self):
        output = self.dev("test", TARN_JOBS="3")
        self.assertEqual(self.calls("python3"),
                         [f"python3 -B {self.project}/tests/run.py --changed {self.project}/build/test 4 "
                          "--label-exclude ^long$"])
        self.assertIn("the tests with the label long (./dev test --all)\n", output)
        self.assertTrue(self.calls("cmake")[-1].endswith(
            "--target src/all profiler/all examples/all tests/all bench_golden"))
        self.dev("test", "-R", "heap")
        self.assertNotIn("--target", self.calls("cmake")[-1])

    def test_soak_runs_each_kind_for_so_many_minutes(self):
        for program in "dev/bin/soak", "asan/bin/test_stress", "tsan/bin/test_stress":
            path = self.project / "build" / program
            path.parent.mkdir(parents=True)
            note = 'echo "$TARN_GUARD$TARN_HARDEN$STRESS_SECONDS $*" >>"$MACHINE/soaked"'
            path.write_text(f"#!{shutil.which('bash')}\n{note}\n", encoding="utf-8")
            path.chmod(0o755)
        self.dev("test", "--soak", "2")
        soaked = (self.machine / "soaked").read_text(encoding="utf-8").splitlines()
        self.assertEqual(sorted(soaked), ["0 120", "1 120", "1 120", "120 ", "120 "])
        self.assertIn("takes a number of minutes", self.dev("test", "--soak", "long", expect=1))
        (self.project / "build/asan/bin/test_stress").write_text("#!/bin/false\n", encoding="utf-8")
        (self.machine / "soaked").unlink()
        self.assertRegex(self.dev("test", "--soak", "1", expect=1), r"failed after \d+ s \(exit 1\)")
        self.assertEqual(len((self.machine / "soaked").read_text(encoding="utf-8").splitlines()), 4)

    def test_all_tests_include_the_sanitizers(self):
        output = self.dev("test", "--all", "-R", "heap", TARN_JOBS="3")
        self.assertEqual(self.calls("python3"),
                         [f"python3 -m venv {self.project}/build/linters",
                          f"python3 -B {self.project}/tests/run.py {self.project}/build/test 4 -R heap"])
        self.assertIn("Going on without Conan, hadolint and kubernetes-validate\n", output)
        self.assertIn("Left out: 64-bit Arm (packages.txt, arm)\n", output)
        self.assertIn("Left out: musl (packages.txt, musl; pip, ziglang)\n", output)
        self.assertEqual(self.builds(), ["dev", "asan", "tsan", "release"])

    def test_musl_gets_its_compiler_from_the_python_index(self):
        self.assertIn("./dev: musl needs zig (pip: ziglang)\n", self.dev("build", "musl", expect=1))
        for name in "chmod", "find", "ln":
            (self.path / name).symlink_to(shutil.which(name))
        pip = self.project / "build/zig/bin/python3"
        pip.parent.mkdir(parents=True)
        pip.write_text(f"#!{shutil.which('bash')}\n" + """to=${0%/bin/*}/lib/ziglang; mkdir -p "$to"
echo "$*" >"$to/zig"; chmod +x "$to/zig"\n""", encoding="utf-8")
        pip.chmod(0o755)
        self.dev("build", "musl")
        self.assertEqual((pip.parent / "zig").read_text(encoding="utf-8"), "-m pip install --quiet ziglang==0.17.1\n")
        self.assertEqual(self.calls("cmake")[0], f"cmake --preset musl -B {self.project}/build/musl")

    def test_all_tests_include_arm_where_its_compiler_is(self):
        for name in "aarch64-linux-gnu-g++", "qemu-aarch64-static", "musl-gcc", "zig":
            (self.path / name).symlink_to(shutil.which("true"))
        self.assertNotIn("Left out", self.dev("test", "--all"))
        self.assertEqual(self.builds(), ["dev", "asan", "tsan", "release", "arm", "musl"])
        self.file("have", "one", "two", "three", "maybe", "gcc-multilib")
        output = self.dev("test", "--all")
        self.assertIn("Left out: 64-bit Arm, whose cross compiler Debian does not install beside gcc-multilib\n",
                      output)
        self.assertEqual(self.builds(), ["dev", "asan", "tsan", "release", "musl"])

    def test_files_that_a_command_names_lie_where_the_caller_stands(self):
        for command in "bench", "demo":
            self.dev(command, "--json", "figures.json")
            self.assertEqual((self.machine / "where").read_text(encoding="utf-8"), f"{self.machine}\n")

    def test_install_takes_the_folder_from_where_the_caller_stands(self):
        self.dev("install", "pre fix")
        self.assertEqual(self.calls("cmake")[-2:], [
            f"cmake --install {self.project}/build/{preset} --prefix {self.machine}/pre fix"
            for preset in ["release", "checks"]])
        self.assertIn("install takes one folder", self.dev("install", expect=1))
        self.assertIn("install takes one folder", self.dev("install", "--prefix", expect=1))
        self.assertFalse((self.machine / "--prefix").exists())

    def test_install_brings_the_library_alone_where_asked(self):
        self.dev("install", "--library", "prefix")
        self.assertEqual(self.calls("cmake")[-2:], [
            f"cmake --install {self.project}/build/{preset} --prefix {self.machine}/prefix"
            for preset in ["library", "checks"]])

    def test_uninstall_removes_what_was_installed_and_nothing_else(self):
        prefix = self.machine / "pre fix"
        self.dev("install", "--library", "pre fix")
        own_file = prefix / "lib/own"
        own_file.write_text("mine", encoding="utf-8")
        self.dev("install", "pre fix")  # the files of the first installation stay in the list
        for build in "library", "release", "checks":
            self.assertTrue((prefix / "lib" / build / "libtarn.a").exists())
        self.assertIn("Removed from", self.dev("uninstall", "pre fix"))
        self.assertEqual([path for path in prefix.rglob("*") if path.is_file()], [own_file])
        self.assertEqual(list(prefix.iterdir()), [prefix / "lib"])
        self.assertIn("./dev install has put nothing under", self.dev("uninstall", "pre fix", expect=1))
        self.assertIn("uninstall takes one folder", self.dev("uninstall", expect=1))

    def test_install_and_uninstall_stay_inside_of_destdir(self):
        prefix = self.machine / "prefix"
        for stage in [str(self.machine / "st age"), "stage"]:  # one of these from where the caller stands
            folder = self.machine / stage
            self.dev("install", str(prefix), DESTDIR=stage)
            self.assertFalse(prefix.exists())
            staged = folder / str(prefix).lstrip("/")
            self.assertEqual((staged / "share/tarn/files.txt").read_text(encoding="utf-8").splitlines(), [
                "lib/checks/libtarn.a", "lib/release/libtarn.a", "share/tarn/files.txt"])
            self.dev("uninstall", str(prefix), DESTDIR=stage)
            self.assertEqual([path for path in folder.rglob("*") if path.is_file()], [])

    def test_package_packs_both_flavours_with_the_page(self):
        self.assertIn("no packages without the page of tarn report --html", self.dev("package", expect=1))
        page = self.project / "build/release/web/page/index.html"
        page.parent.mkdir(parents=True)
        page.write_text("page", encoding="utf-8")
        self.dev("package")
        builds = self.project / "build"
        self.assertEqual(self.calls("python3"), [f"python3 -B packaging/package.py --to {builds}/package "
                                                 f"{builds}/release {builds}/checks"])

    def test_install_looks_first_whether_it_may_write(self):
        mkdir = self.path / "mkdir"
        mkdir.unlink()
        mkdir.write_text(f'#!{shutil.which("bash")}\n[ "${{!#}}" = "$MACHINE/denied" ] && exit 1\n'
                         f'exec {shutil.which("mkdir")} "$@"\n', encoding="utf-8")
        mkdir.chmod(0o755)
        output = self.dev("install", "denied", expect=1)
        self.assertIn(f"./dev: {self.machine}/denied is not writable for you: choose another folder, or first make it "
                      "yours: sudo install -d -o ", output)
        self.assertEqual(self.calls("cmake"), [])
        self.assertEqual(self.dev("install", "allowed").count("not writable"), 0)

    def test_install_says_at_the_end_that_the_page_is_missing(self):
        page = self.project / "build/release/web/page/index.html"
        page.parent.mkdir(parents=True)
        page.write_text("", encoding="utf-8")
        last = self.dev("install", "folder").splitlines()[-1]
        self.assertIn("Without tarn report --html", last)
        self.assertIn("release/web/npm.log", last)
        page.write_text("<html>", encoding="utf-8")
        self.assertNotIn("--html", self.dev("install", "folder"))

    def test_build_folder_of_a_moved_checkout_is_made_anew(self):
        cache = self.project / "build/dev/CMakeCache.txt"
        cache.parent.mkdir(parents=True)
        cache.write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/somewhere/else\n", encoding="utf-8")
        self.assertIn("starting it anew", self.dev("build", "dev"))
        self.assertFalse(cache.exists())
        cache.parent.mkdir(parents=True)
        cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.project}\n", encoding="utf-8")
        self.assertNotIn("anew", self.dev("build", "dev"))
        self.assertTrue(cache.exists())

    def test_path_that_no_preload_can_hold(self):
        self.project = self.project.rename(self.machine / "check out")
        output = self.dev("demo", "--quick")
        folder = pathlib.Path(re.search(r"building in (/var/tmp/tarn-0-\d+)\n", output)[1])
        self.addCleanup(shutil.rmtree, folder)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.calls("cmake")[0], f"cmake --preset release -B {folder}/release")
        self.assertTrue(self.calls("cmake")[1].endswith("--target installed_with_server"))
        self.assertEqual(self.calls("python3"),
                         [f"python3 {self.project}/bench/demo/run.py --tarn {folder}/release/lib/libtarn-malloc.so "
                          f"--quick"])
        self.assertFalse((self.project / "build").exists())

    def test_an_unknown_command_or_preset_is_refused(self):
        self.assertIn('no command "tset"', self.dev("tset", expect=1))
        refusal = self.dev("build", "fast", expect=1)
        self.assertIn('no preset "fast": one of dev release', refusal)
        usage = self.dev("build", "--help")
        for preset in re.search("one of (.+)", refusal)[1].split():
            self.assertRegex(usage, rf"[ :]{preset}[ ,;]")
        self.assertIn("Usage: ./dev COMMAND", self.dev())

    def test_each_command_answers_help_and_sets_nothing_up(self):
        self.file("have")  # all packages are missing
        script = (self.project / "dev").read_text(encoding="utf-8")
        commands = set(re.findall(r"^command_(\w+)\(", script, re.MULTILINE)) - {"soak"}
        self.assertGreater(len(commands), 10)
        for command in commands:
            with self.subTest(command):
                output = self.dev(command, "--help")
                self.assertRegex(output, rf"\AUsage: ./dev COMMAND\n\n  {command} ")
                self.assertEqual(self.dev(command, "-h"), output)
        self.assertIn("  bench sync ", self.dev("bench", "sync", "--help"))
        self.assertEqual([self.calls("apt-get"), self.calls("cmake")], [[], []])
        self.assertEqual({call.split()[-2:][0] for call in self.calls("python3")},
                         {"bench/run.py", "bench/demo/run.py", "tests/findings/findings.py"})
        self.assertFalse((self.project / "build").exists())

    def test_called_through_a_link(self):
        link = self.machine / "link"
        link.symlink_to(self.project / "dev")
        subprocess.run([str(link), "help"], check=True, capture_output=True, env={"PATH": str(self.path)})

    def test_long_step_shows_that_it_goes_on(self):
        (self.path / "cmake").write_text(f'#!{shutil.which("bash")}\necho first\nsleep 2\nprintf last\n',
                                         encoding="utf-8")
        (self.path / "sleep").symlink_to(shutil.which("sleep"))
        script = (self.project / "dev").read_text(encoding="utf-8")
        (self.project / "dev").write_text(script.replace("every=20", "every=1"), encoding="utf-8")
        self.assertRegex(self.dev("build", "dev"), r"== Configuring dev\n   [12] s  first\n")
        self.assertEqual((self.project / "build/logs/configure-dev.log").read_text(encoding="utf-8"), "first\nlast")


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main()
