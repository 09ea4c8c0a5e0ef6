#!/usr/bin/env python3
"""`tarn fix` for lines of programs that are written here: lines of output one by one, whose edit is to review and made
by `--review`, and lines that copy an object of a class."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import prices
from fixing import git, run
from paths import PATHS, FolderTest, main

SOURCE = """#include <iostream>
void show(std::ostream& output, int count) {
  for (int i = 0; i < count; ++i) {
    if (i % 4 == 0) output << "fourth line " << i << std::endl;
    output << "line " << i << std::endl;
  }
}
int main() { show(std::cout, 100000); }
"""
COPIES = """#include <string>
#include <vector>
struct entry {
  std::string name = "a name that is longer than a short one";
};
__attribute__((noinline)) std::size_t length_of(const entry& source) {
  entry copy = source;
  return copy.name.size();
}
int main() {
  entry source;
  std::size_t sum = 0;
  for (int i = 0; i < 300000; ++i) sum += length_of(source);
  return sum == 0;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(lines CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS "-g -O1 -Wl,--build-id")
add_executable(lines lines.cpp)
"""


def setUpModule():
    prices.use_simple()


class LinesTest(FolderTest):
    prefix = "tarn-fix-lines-"  # git, cmake and a shell see the path

    def recorded(self, source):
        """A project with one program, its recording, and what `tarn fix` prints with options."""
        root = pathlib.Path(self.folder).resolve() / "project"
        root.mkdir()
        for name, text in (("lines.cpp", source), ("CMakeLists.txt", CMAKE), (".gitignore", "/build/\n")):
            (root / name).write_text(text, encoding="utf-8")
        git("init", "--quiet", cwd=root)
        git("add", "--all", cwd=root)
        git("commit", "--quiet", "--message", "Begin", cwd=root)
        run("cmake", "-S", ".", "-B", "build", cwd=root)
        run("cmake", "--build", "build", cwd=root)
        recording = root.parent / "rec"
        run(PATHS.tarn, "record", "--full", "-o", recording, "--", "build/lines", cwd=root)
        return root, lambda *options: run(PATHS.tarn, "fix", recording, "-p", "build", "--quick", *options,
                                          cwd=root).stdout

    def test_a_line_that_copies_an_object_is_explained(self):
        _, fix = self.recorded(COPIES)
        listed = [(site["line"], site["remedy"]) for site in json.loads(fix("--json"))["sites"]]
        self.assertIn((7, "copy"), listed)
        explained = json.loads(fix("--json", "--explain", "lines.cpp:7"))["sites"]
        self.assertEqual([(site["line"], site["remedy"]) for site in explained], [(7, "copy")])

    def test_lines_that_are_written_one_by_one(self):
        root, fix = self.recorded(SOURCE)

        def sites(*options):
            found_sites = json.loads(fix("--json", *options))["sites"]
            return {site["line"]: site for site in found_sites if site["remedy"] == "buffered"}

        plain, reviewed = sites(), sites("--review")
        self.assertEqual(list(plain), [5, 4], "that of most calls comes first")
        for line, site in plain.items():
            self.assertEqual((site["edit"], site["patch"]), ("review", ""))
            self.assertTrue(site["problem"].startswith("to review: std::endl writes each line"), site["problem"])
            self.assertEqual((reviewed[line]["edit"], reviewed[line]["problem"]), ("review", ""))
            self.assertIn("<< i << '\\n';\n", reviewed[line]["patch"])
        fix("--review", "-o", root.parent / "series")
        git("am", *sorted((root.parent / "series").iterdir()), cwd=root)
        self.assertEqual((root / "lines.cpp").read_text(encoding="utf-8"), SOURCE.replace("std::endl", "'\\n'"))
        self.assertIn("to review: std::endl writes each line", git("log", "-1", "--format=%b", cwd=root))


if __name__ == "__main__":
    main("tarn")
