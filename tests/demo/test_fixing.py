import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import folder  # noqa: F401
import fixing
import loop

SITE = {"file": "/src/pages.cpp", "line": 74, "remedy": "hoist", "saved_share": [0.03, 0.17], "measured_share": 0.081,
        "at_least": True, "problem": "", "patch": "--- a/pages.cpp\n+std::string line;\n"}
REFUSED = {**SITE, "line": 30, "measured_share": None, "problem": "this line fills no container", "patch": ""}


def printed(function, *arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        function(*arguments)
    return output.getvalue()


class FixingTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.programs = Path(self.folder.name) / "bin"
        (self.programs.parent / "lib").mkdir()

    def add(self, name, text=""):
        (self.programs.parent / name).write_text(text, encoding="utf-8")

    def test_what_is_missing_is_one_line_and_the_loop_goes_on(self):
        with mock.patch("shutil.which", return_value=None):
            self.assertEqual(fixing.missing(self.programs), "there is no git (Debian package git)")
            walked = loop.Loop(None, self.folder.name, str(self.programs / "tarn"), "")
            text = printed(walked.fix)
        self.assertEqual(text.splitlines()[-1], "   left out: there is no git (Debian package git)")
        with mock.patch("shutil.which", return_value="/bin/true"):
            self.assertIn("libtarn-tidy.so was not built", fixing.missing(self.programs))
            self.add("lib/libtarn-tidy.so")
            self.assertIn("compile_commands.json", fixing.missing(self.programs))
            self.add("compile_commands.json", "[]")
            self.assertIn("compile_commands.json", fixing.missing(self.programs))
            self.add("compile_commands.json", json.dumps([
                {"file": str(fixing.SOURCES / "pages.cpp"), "command": "c++ -o pages.cpp.o -c pages.cpp"}]))
            self.assertEqual(fixing.missing(self.programs), "")

    def test_the_compiler_has_the_options_of_the_build(self):
        self.add("compile_commands.json", json.dumps([
            {"file": "/src/main.cpp", "command": "c++ -O0 -o main.o -c /src/main.cpp"},
            {"file": str(fixing.SOURCES / "pages.cpp"),
             "command": f"c++ -DX='a b' -I{fixing.SOURCES} -I/include -O2 -o pages.cpp.o -c pages.cpp"}]))
        self.assertEqual(fixing.compiler_words(self.programs), ["c++", "-DX=a b", "-I/include", "-O2"])

    def test_the_files_of_the_repository_are_there(self):
        self.assertTrue((fixing.SOURCES / "pages.cpp").is_file())
        self.assertTrue(os.path.isfile(fixing.SOURCES / "pages.hpp"))

    def test_the_sites_have_their_gain_or_their_reason(self):
        lines = printed(fixing.print_sites, [SITE, REFUSED]).splitlines()
        self.assertEqual(" ".join(lines[0].split()),
                         "pages.cpp:74 hoist predicted 3.0 to 17.0 % in the allocator alone, measured 8.1 %")
        self.assertTrue(lines[1].endswith("17.0 % in the allocator alone, no patch: this line fills no container"))
        self.assertEqual(lines[-1], "   +std::string line;")


if __name__ == "__main__":
    unittest.main()
