#!/usr/bin/env python3
"""`tarn fix` for lines that are written one by one: an edit to review, which `--review` makes."""

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
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(lines CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS "-g -O1 -Wl,--build-id")
add_executable(lines lines.cpp)
"""


class LinesTest(FolderTest):
    prefix = "tarn-fix-lines-"  # git, cmake and a shell see the path

    def test_lines_that_are_written_one_by_one(self):
        root = pathlib.Path(self.folder).resolve() / "project"
        root.mkdir()
        for name, text in (("lines.cpp", SOURCE), ("CMakeLists.txt", CMAKE), (".gitignore", "/build/\n")):
            (root / name).write_text(text, encoding="utf-8")
        git("init", "--quiet", cwd=root)
        git("add", "--all", cwd=root)
        git("commit", "--quiet", "--message", "Begin", cwd=root)
        run("cmake", "-S", ".", "-B", "build", cwd=root)
        run("cmake", "--build", "build", cwd=root)
        prices.use_simple()
        recording = root.parent / "rec"
        run(PATHS.tarn, "record", "--full", "-o", recording, "--", "build/lines", cwd=root)

        def sites(*options):
            found_sites = json.loads(run(PATHS.tarn, "fix", recording, "-p", "build", "--quick", "--json", *options,
                                         cwd=root).stdout)["sites"]
            return {site["line"]: site for site in found_sites if site["remedy"] == "buffered"}

        plain, reviewed = sites(), sites("--review")
        self.assertEqual(list(plain), [5, 4], "that of most calls comes first")
        for line, site in plain.items():
            self.assertEqual((site["edit"], site["patch"]), ("review", ""))
            self.assertTrue(site["problem"].startswith("to review: std::endl writes each line"), site["problem"])
            self.assertEqual((reviewed[line]["edit"], reviewed[line]["problem"]), ("review", ""))
            self.assertIn("<< i << '\\n';\n", reviewed[line]["patch"])
        run(PATHS.tarn, "fix", recording, "-p", "build", "--quick", "--review", "-o", root.parent / "series", cwd=root)
        git("am", *sorted((root.parent / "series").iterdir()), cwd=root)
        self.assertEqual((root / "lines.cpp").read_text(encoding="utf-8"), SOURCE.replace("std::endl", "'\\n'"))
        self.assertIn("to review: std::endl writes each line", git("log", "-1", "--format=%b", cwd=root))


if __name__ == "__main__":
    main("tarn")
