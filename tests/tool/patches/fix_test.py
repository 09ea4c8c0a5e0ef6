#!/usr/bin/env python3
"""`tarn fix`: what it proposes for a recorded program, that it changes nothing, and what it says of bad input."""

import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from fixing import PATCHES, ROOT, SHARED, SOURCES, FixTest, configure, git, line_of, run
from fixing import setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import PATHS, main


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
        self.assertAlmostEqual(*pointer["saved_share"], msg="the share depends on counts, and on no time")
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
        # The list grows in this line, and gets a copy of a text.
        grown, added = (sites["program.cpp", line_of("gathered"), remedy] for remedy in ("reserve", "move"))
        self.assertEqual((grown["edit"], grown["problem"]), ("safe", ""))
        self.assertIn("list.reserve(", grown["patch"])
        # A loop that keeps the memory of the text saves as much, and its line comes first.
        self.assertEqual((added["edit"], added["patch"]), ("safe", ""))
        self.assertTrue(added["problem"].startswith("'text' is the variable of the patch for program.cpp:"), added)
        self.assertEqual([site["remedy"] for site in sites.values() if site["line"] == line_of("gathered")],
                         ["move", "reserve"])
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
                                         *["program.cpp: Reserve before the loop"] * 4,
                                         *["program.cpp: Keep memory between the iterations of a loop"] * 3,
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

    def test_a_site_at_which_clang_tidy_crashes(self):
        fake = self.folder / "clang-tidy"
        fake.write_text(f"""#!/bin/sh
sites=$(printf %s "$*" | sed -n 's/.*"Sites","value":"\\([^"]*\\)".*/\\1/p')
test -n "$sites" && grep -q '"line":{line_of("loop")}[,}}]' "$sites" && kill -SEGV $$
exec clang-tidy-16 "$@"
""", encoding="utf-8")
        fake.chmod(0o755)
        sites = json.loads(self.fix("--json", "--clang-tidy", fake))["sites"]
        crashed = [site for site in sites if site["problem"] == "clang-tidy crashed, exit code 139"]
        self.assertEqual([site["line"] for site in crashed], [line_of("loop")])
        self.assertEqual(sum(bool(site["patch"]) for site in sites), PATCHES - 1)

    def test_an_option_that_only_gcc_knows_is_no_obstacle(self):
        # clang-scan-deps ends at it: the patch for tarn-pooled, which asks other units, is one to review.
        self.assertIn(f"patch {PATCHES - 1}: ", self.fix(build=self.build_with("-fconserve-stack")))


if __name__ == "__main__":
    main("tarn", "stub", "library")
