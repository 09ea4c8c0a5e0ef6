#!/usr/bin/env python3
"""`tarn fix`: what it proposes for a recorded program, that it changes nothing, and what it says of bad input."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import prices
from paths import HANG_S, PATHS, main

NOISY = 16  # the one error whose list of sites is printed
PATCHES = 13  # of the program below
SHARED = tempfile.TemporaryDirectory(prefix="tarn-fix-test-")
ROOT = pathlib.Path(SHARED.name).resolve() / "project"
SOURCES = {
    ".gitignore": "/build/\n",
    ".clang-format": "BasedOnStyle: Google\nAllowShortIfStatementsOnASingleLine: Never\nIndentWidth: 4\n",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(program CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS "-g -O1 -fno-inline -Wl,--build-id")
add_executable(program program.cpp other.cpp)
include_directories("${TARN_INCLUDE}")
target_link_libraries(program "${TARN_LIBRARY}")
""",
    "shared.hpp": """#pragma once
#include <vector>
inline std::vector<long> multiples(int count) {
    std::vector<long> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(3L * i);  // header
    }
    return result;
}
""",
    "other.cpp": """#include "shared.hpp"
#include <memory>
#include "part/count.hpp"
long sum_of_others() {
    return multiples(count).back();
}

namespace {
struct node {
    explicit node(int number) : value(number) {}
    int value;
}; }
int single(int number) {
    std::unique_ptr<node> first(new node(number));  // pooled
    return first->value;
}
""",
    "program.cpp": """#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include "shared.hpp"

long sum_of_others();
struct token {
    explicit token(int number) : value(number) {}
    int value;
    char text[40] = {};
};

long squares(int count) {
    std::vector<long> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(static_cast<long>(i) * i);  // loop
    }
    return values.back();
}

int shared(int number) {
    std::shared_ptr<token> one(new token(number));  // pointer
    return one->value;
}

void fill(std::vector<long>& target, int count) {
    for (int i = 0; i < count; ++i) {
        target.push_back(i);  // refused
    }
}

long parsed(const std::vector<std::string>& texts, unsigned count) {
    std::vector<long> numbers;
    for (unsigned i = 0; i < count; ++i) {
        numbers.push_back(std::stol(texts[i]));  // rejecting
    }
    return numbers.back();
}

std::vector<long> multiples_of(int divisor, int count) {
    std::vector<long> result;
    for (int i = 0; i < count; ++i) {
        if (i % divisor == 0) result.push_back(i);  // conditional
    }
    return result;
}

long near(int count) {
    std::vector<long> values;
    std::shared_ptr<token> one(new token(count));  // near pointer
    for (int i = 0; i < count; ++i) {
        values.push_back(i + one->value);  // near loop
    }
    return values.back();
}

long last_ones(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        std::vector<long> values(50, i);  // hoisted
        sum += values.back();
    }
    return sum;
}

void put(std::vector<long>& target, int number) {
    target.insert(target.end(), 40, number);  // filled
}

long first_ones(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        std::vector<long> numbers;
        put(numbers, i);  // caller
        sum += numbers.front();
    }
    return sum;
}

long fifty(int first) {
    std::vector<long> values(50, first);  // recycled
    return values.back();
}

std::size_t length_of(std::string text) {
    std::string changed = text;  // moved
    changed[0] = 'y';
    return changed.size();
}

std::size_t size_of(const std::string& text) {
    const std::string copy = text;  // copied
    return copy.size();
}

std::size_t given_away() {
    std::string text(60, 'x');  // new
    return std::make_pair(1, text).second.size();  // given
}

int single(int number);

int main() {
    long sum = 0;
    const std::string long_text(60, 'x');
    const std::vector<std::string> texts(300, "7");
    for (int round = 0; round < 3000; ++round) {
        auto filled = std::vector<long>();
        fill(filled, 300);
        sum += filled.back() + squares(300) + multiples(300).back() + sum_of_others() + parsed(texts, 300);
        sum += multiples_of(2, 600).back();
        for (int number = 0; number < 50; ++number) sum += shared(number) + near(20) + fifty(number) + single(number);
        sum += last_ones(20) + first_ones(20);
        for (int number = 0; number < 20; ++number) sum += static_cast<long>(length_of(long_text));
        for (int number = 0; number < 20; ++number) sum += static_cast<long>(size_of(long_text));
        for (int number = 0; number < 40; ++number) sum += static_cast<long>(given_away());
    }
    std::printf("%ld\\n", sum);
}
""",
}


def run(*arguments, cwd=ROOT, check=True):
    return subprocess.run(list(map(str, arguments)), cwd=cwd, check=check, capture_output=True, text=True,
                          timeout=HANG_S)


def git(*arguments, cwd=ROOT):
    return run("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always",
               *arguments, cwd=cwd).stdout


def configure(folder):
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    run("cmake", "-S", ".", "-B", "build", f"-DTARN_INCLUDE={include}", f"-DTARN_LIBRARY={PATHS.library}", cwd=folder)


def line_of(mark, name="program.cpp"):
    return next(number for number, line in enumerate(SOURCES[name].splitlines(), 1) if f"// {mark}" in line)


def setUpModule():
    ROOT.mkdir()
    for name, text in SOURCES.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    part = pathlib.Path(SHARED.name).resolve() / "part"
    part.mkdir()
    git("init", "--quiet", cwd=part)
    (part / "count.hpp").write_text("inline constexpr int count = 300;\n", encoding="utf-8")
    git("add", "--all", cwd=part)
    git("commit", "--quiet", "--message", "Begin", cwd=part)
    git("init", "--quiet")
    git("submodule", "--quiet", "add", part)
    git("add", "--all")
    git("commit", "--quiet", "--message", "Begin")
    configure(ROOT)
    run("cmake", "--build", "build")
    run(PATHS.tarn, "record", "--heap", "--full", "-o", f"{SHARED.name}/rec", "--", "build/program")
    prices.simplify(prices.measure(PATHS.tarn, SHARED.name))


class FixTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-fix-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def fix(self, *arguments, code=0, cwd=ROOT, recording=f"{SHARED.name}/rec", build="build", applies=False):
        """Runs `tarn fix`, which must change nothing unless it `applies`, and returns what it printed."""
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        before = self.state()
        result = subprocess.run(
            [PATHS.tarn, "fix", recording, "-p", build, "--quick", *map(str, arguments)],
            capture_output=True, text=True, timeout=HANG_S, check=False, cwd=cwd,
            env={**os.environ, "XDG_CACHE_HOME": SHARED.name, "TMPDIR": str(scratch)})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        if not applies:
            self.assertEqual(self.state(), before)
        self.assertEqual(list(scratch.iterdir()), [])
        if code != 0:
            self.assertEqual((result.stdout != "", result.stderr.count("\n")), (code == NOISY, 1), result.stderr)
            self.assertTrue(result.stderr.startswith("tarn: "), result.stderr)
        return result.stderr + result.stdout if code != 0 else result.stdout

    @staticmethod
    def state():
        """What a user sees of the repository: files, commits, branches, worktrees and loose objects."""
        files = {str(path): path.read_bytes() for path in sorted(ROOT.rglob("*")) if path.is_file() and
                 path.name not in ("index", ".ninja_log")}
        return files, git("worktree", "list"), git("for-each-ref")

    def sites(self, *arguments):
        return {(pathlib.Path(site["file"]).name, site["line"], site["remedy"]): site
                for site in json.loads(self.fix("--json", *arguments))["sites"]}


class Proposals(FixTest):
    def test_each_site_has_a_patch_or_a_reason(self):
        sites = self.sites()
        loop = sites["program.cpp", line_of("loop"), "reserve"]
        self.assertEqual((loop["edit"], loop["problem"], loop["check"]), ("safe", "", "tarn-reserve"))
        self.assertIn("+    if (count > 0)\n+        values.reserve(static_cast<std::size_t>(count));\n", loop["patch"])
        self.assertGreater(loop["saved_share"][1], 0)
        pointer = sites["program.cpp", line_of("pointer"), "make_shared"]
        self.assertEqual((pointer["edit"], pointer["problem"]), ("safe", ""))
        self.assertIn("+    std::shared_ptr<token> one(std::make_shared<token>(number));", pointer["patch"])
        refused = sites["program.cpp", line_of("refused"), "reserve"]
        self.assertEqual((refused["edit"], refused["patch"]), ("no edit", ""))
        self.assertEqual(refused["problem"], "'target' may have elements before the loop")
        header = sites["shared.hpp", line_of("header", "shared.hpp"), "reserve"]
        self.assertEqual((header["edit"], header["problem"], header["patch"].count("\n+")), ("safe", "", 3))
        # The code may refuse a text before it has read so many: what was recorded is more certain.
        rejecting = sites["program.cpp", line_of("rejecting"), "reserve"]
        self.assertEqual(rejecting["edit"], "safe")
        self.assertRegex(rejecting["patch"], r"\+    if \(count > 0\)\n\+        numbers.reserve\(\d+\);")
        # A recording has no trace of calls that add nothing.
        conditional = sites["program.cpp", line_of("conditional"), "reserve"]
        self.assertEqual((conditional["edit"], conditional["patch"]), ("review", ""))
        self.assertRegex(conditional["problem"], r"^to review: 'result' grows .*: reserve\(\d+\), from the recording.*"
                                                 r"; but a call that adds nothing leaves no trace in it, and would "
                                                 r"then allocate, too$")
        # Git cannot merge edits of neighbouring lines.
        nearby_sites = [sites["program.cpp", line_of("near pointer"), "make_shared"],
                        sites["program.cpp", line_of("near loop"), "reserve"]]
        self.assertEqual([(site["edit"], site["problem"]) for site in nearby_sites], [("safe", "")] * 2)
        hoisted = sites["program.cpp", line_of("hoisted"), "hoist"]
        self.assertEqual((hoisted["edit"], hoisted["problem"]), ("safe", ""))
        self.assertIn("+    std::vector<long> values;\n", hoisted["patch"])
        self.assertIn("+        values.assign(50, i);  // hoisted\n", hoisted["patch"])
        # The line that allocates fills a container of its caller, which has the edit.
        filled = sites["program.cpp", line_of("caller"), "hoist"]
        self.assertEqual((filled["edit"], filled["problem"]), ("safe", ""))
        self.assertIn("+    std::vector<long> numbers;\n", filled["patch"])
        self.assertNotIn(("program.cpp", line_of("filled"), "hoist"), sites)
        # No loop of the function has the vector: the thread keeps it.
        recycled = sites["program.cpp", line_of("recycled"), "recycle"]
        self.assertEqual((recycled["edit"], recycled["problem"]), ("safe", ""))
        self.assertIn("+    auto kept_values = tarn::recycle<std::vector<long>>();\n", recycled["patch"])
        self.assertIn("+#include <tarn/recycle.hpp>\n", recycled["patch"])
        # To keep the memory of the copy would save less than to make none.
        moved = sites["program.cpp", line_of("moved"), "move"]
        self.assertEqual((moved["edit"], moved["problem"]), ("safe", ""))
        self.assertIn("+    std::string changed = std::move(text);  // moved\n", moved["patch"])
        copied = sites["program.cpp", line_of("copied"), "copy"]
        self.assertEqual((copied["edit"], copied["problem"]), ("safe", ""))
        self.assertIn("+    const std::string& copy = text;  // copied\n", copied["patch"])
        # A text that gives its memory away has none that the thread could keep.
        away = [sites["program.cpp", line_of(mark), remedy] for mark, remedy in (("given", "move"), ("new", "recycle"))]
        self.assertEqual({site["edit"] for site in away}, {"safe"})
        self.assertRegex("".join(site["problem"] for site in away if not site["patch"]),
                         r"^'text' is the variable of the patch for program.cpp:\d+, which saves the same ")
        # Of several remedies the first one with an edit counts: no container keeps the object.
        pooled = sites["other.cpp", line_of("pooled", "other.cpp"), "pooled"]
        self.assertEqual((pooled["edit"], pooled["problem"]), ("safe", ""))
        self.assertIn("+struct node : public tarn::pooled<node> {\n", pooled["patch"])
        self.assertNotIn("\n-#include", pooled["patch"], "the order of includes is the project's own")
        refused = sites["program.cpp", line_of("pointer"), "pooled"]
        self.assertEqual((refused["edit"], refused["patch"]), ("no edit", ""))
        self.assertEqual(refused["problem"], "a shared_ptr takes it over: std::make_shared saves more")
        # The place in the list is that of the first remedy, which saves more than pooled.
        gains = [sum(site["saved_ns"]) for site in sites.values() if site["remedy"] != "pooled"]
        self.assertEqual(gains, sorted(gains, reverse=True))

    def test_the_series_applies_builds_and_computes_the_same(self):
        text = self.fix("-o", self.folder / "series")
        self.assertRegex(text, r"(^|\n)\d+\. program.cpp:\d+ reserve  (may )?saves? .*\n"
                               r"   patch \d: 'values' grows in this")
        self.assertIn("   no patch: 'target' may have elements before the loop\n", text)
        clone = self.folder / "clone"
        git("clone", "--quiet", "--recurse-submodules", ROOT, clone, cwd=self.folder)
        patches = sorted((self.folder / "series").iterdir())
        self.assertEqual(len(patches), PATCHES)
        git("am", *patches, cwd=clone)
        subjects = git("log", "--format=%s", f"HEAD~{PATCHES}..", cwd=clone).splitlines()
        self.assertCountEqual(subjects, ["program.cpp: Use std::make_shared", "program.cpp: Use std::make_shared",
                                         "program.cpp: Read the original in place of a copy",
                                         "program.cpp: Reserve before the loop",
                                         "program.cpp: Reserve before the loop", "program.cpp: Reserve before the loop",
                                         "program.cpp: Keep memory between the iterations of a loop",
                                         "program.cpp: Keep memory between the iterations of a loop",
                                         "program.cpp: Keep memory between the calls of a function",
                                         *["program.cpp: Move an object at its last use"] * 2,
                                         "other.cpp: Make objects on the heap of the thread",
                                         "shared.hpp: Reserve before the loop"])
        self.assertRegex(git("log", "-1", "--format=%b", cwd=clone), r"Predicted: (may )?saves? .* of program\.")
        self.assertEqual(git("diff", f"HEAD~{PATCHES}", "--stat", "--", ".", ":!*.cpp", ":!shared.hpp",
                             cwd=clone), "")
        configure(clone)
        run("cmake", "--build", "build", cwd=clone)
        self.assertEqual(run(clone / "build/program").stdout, run(ROOT / "build/program").stdout)

    def test_explain_says_which_condition_fails_in_which_line(self):
        line = line_of("refused")
        text = self.fix("--explain", f"program.cpp:{line}")
        self.assertRegex(text, rf"^1\. program.cpp:{line} reserve ")
        reason = "'target' may have elements before the loop"
        text = " ".join(text.split())
        self.assertRegex(text, rf" no patch: {ROOT}/program.cpp:\d+: {reason}$")
        self.assertEqual(text.count(reason), 1, "the reason is said once, with its line")
        self.assertIn("no such site", self.fix("--explain", "program.cpp:1", code=2))
        self.assertIn("no such site", self.fix("--explain", f"gram.cpp:{line}", code=2))

    def test_a_program_without_sites_has_nothing_to_fix(self):
        recording = f"{self.folder}/true.rec"
        run(PATHS.tarn, "record", "--heap", "-o", recording, "--", "true")
        self.assertRegex(self.fix(recording=recording), r"^Nothing to fix: .*\n$")
        self.assertEqual(json.loads(self.fix("--json", recording=recording)), {"version": 1, "sites": []})

    def test_it_runs_from_a_folder_within_the_repository(self):
        folder = ROOT / "build"
        self.assertIn(f"patch {PATCHES}:", self.fix(cwd=folder, build="."))

    def test_paths_from_the_folder_of_the_compiler(self):
        commands = json.loads((ROOT / "build/compile_commands.json").read_text(encoding="utf-8"))
        for entry in commands:
            entry["file"] = entry["file"].replace(f"{ROOT}/", "../")
            entry["command"] = entry["command"].replace(f" {ROOT}/", " ../")
        folder = self.folder / "relative"
        folder.mkdir()
        (folder / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
        text = self.fix(build=folder)
        self.assertIn("+++ b/shared.hpp\n", text)
        self.assertIn(f"patch {PATCHES}: ", text)

    def test_an_edit_to_review_is_named_and_not_made(self):
        fake = self.folder / "clang-tidy"
        fake.write_text(f"""#!/bin/sh
case $* in *--list-checks*) echo tarn-reserve; exit;; esac
echo "{ROOT}/program.cpp:3:1: warning: review: 'v' grows [tarn-hoist.0,tarn-reserve.0]"
echo "{ROOT}/program.cpp:4:1: note: an iteration may throw"
""", encoding="utf-8")
        fake.chmod(0o755)
        text = self.fix("--clang-tidy", fake, "--explain", f"program.cpp:{line_of('loop')}")
        self.assertIn(f"   no patch: to review: 'v' grows\n   {ROOT}/program.cpp:4: an iteration may throw\n", text)


class BadInput(FixTest):
    def changed(self, name, change):
        """Changes a file for the time of this test."""
        path = ROOT / name
        content, times = path.read_bytes(), path.stat()

        def restore():
            path.write_bytes(content)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

        self.addCleanup(restore)
        change(path)

    def test_no_compile_commands(self):
        self.assertIn(f"cannot read {self.folder}/compile_commands.json", self.fix(build=self.folder, code=10))
        for text in "[", "{}", "[]", '[{"file": 3}]':
            (self.folder / "compile_commands.json").write_text(text, encoding="utf-8")
            self.assertIn("compile_commands.json: names no source file", self.fix(build=self.folder, code=10))

    def test_another_build(self):
        self.changed("build/program", lambda path: shutil.copy(PATHS.tarn, path))
        self.assertRegex(self.fix(code=11), r"build/program has build id \w+, and the recording is of \w+: record this")

    def test_a_program_that_is_gone(self):
        program, other = ROOT / "build/program", ROOT / "build/renamed"
        program.rename(other)
        self.addCleanup(other.rename, program)
        self.assertIn("build/program has build id none", self.fix(code=11))

    def test_newer_sources(self):
        later = (ROOT / "build/program").stat().st_mtime + 10
        self.changed("program.cpp", lambda path: os.utime(path, (later, later)))
        self.assertIn("program.cpp is newer than", self.fix(code=12))

    def test_a_dirty_tree(self):
        self.changed("other.cpp", lambda path: path.write_text(SOURCES["other.cpp"] + "//\n", encoding="utf-8"))
        self.assertIn("has changes that are not committed, such as other.cpp", self.fix(code=13))

    def test_no_repository(self):
        self.assertIn("not a git repository", self.fix(cwd=self.folder, build=ROOT / "build", code=13))

    def test_a_plugin_that_clang_tidy_cannot_load(self):
        self.assertIn("is for LLVM 16", self.fix("--lib", PATHS.stub, code=14))

    def test_a_plugin_in_a_folder_with_a_space(self):
        folder = self.folder / "a folder"
        folder.mkdir()
        plugin = shutil.copy(pathlib.Path(PATHS.tarn).parent.parent / "lib/libtarn-tidy.so", folder)
        self.assertIn("patch 1: ", self.fix("--lib", plugin, "--explain", f"program.cpp:{line_of('loop')}"))

    def test_no_plugin(self):
        self.assertIn("No such file", self.fix("--lib", self.folder / "none.so", code=5))

    def test_no_clang_tidy(self):
        self.assertIn("there is no clang-tidy-99: install", self.fix("--clang-tidy", "clang-tidy-99", code=5))

    def test_no_recording(self):
        self.assertIn("none.rec", self.fix(recording="none.rec", code=3))

    def test_a_folder_that_has_files(self):
        (self.folder / "file").touch()
        self.assertIn("is not an empty folder", self.fix("-o", self.folder, code=2))

    def build_with(self, option):
        """A build folder whose commands have one more option."""
        commands = json.loads((ROOT / "build/compile_commands.json").read_text(encoding="utf-8"))
        for command in commands:
            command["command"] += " " + option
        (self.folder / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
        return self.folder

    def test_a_unit_that_clang_cannot_compile(self):
        sites = json.loads(self.fix("--json", build=self.build_with("-Dtoken=3")))["sites"]
        self.assertTrue(all(site["patch"] == "" for site in sites if not site["file"].endswith("other.cpp")))
        problem = next(site["problem"] for site in sites if site["line"] == line_of("loop"))
        self.assertRegex(problem, r"^clang-tidy cannot compile it: \S+/program.cpp:\d+: declaration of anonymous")

    def test_an_option_that_only_gcc_knows_is_no_obstacle(self):
        # clang-scan-deps ends at it: the patch for tarn-pooled, which asks other units, is one to review.
        self.assertIn(f"patch {PATCHES - 1}: ", self.fix(build=self.build_with("-fconserve-stack")))


class Trials(FixTest):
    def burn(self, script):
        """A command that takes some CPU time: the number of units that a script of the shell prints."""
        return f"n=$({script}); awk -v n=$n 'BEGIN {{ for (i = 0; i < n * 500000; ++i) s += i; print s }}'"

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
        self.assertEqual(len(re.findall(r"Predicted: saves (?:at least )?about", messages)), PATCHES)
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
        self.assertEqual(len(lost), PATCHES - 1)
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
    main("tarn", "stub", "library")
