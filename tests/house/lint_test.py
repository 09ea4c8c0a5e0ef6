#!/usr/bin/env python3
"""The prose linter finds what it names, in documents and in comments, and passes over code: each once.

Needs proselint; ./dev check runs it with the Python of the site's tools, before the linter itself.
"""

import pathlib
import shutil
import tempfile
import unittest

import lint


class Lint(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tarn prose "))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "src").mkdir()

    def expect(self, path, text, *parts):
        (self.root / path).write_text(text, encoding="utf-8")
        findings = [str(finding) for finding in lint.check(self.root)]
        self.assertEqual(len(findings), len(parts), findings)
        for part, finding in zip(parts, findings):
            self.assertIn(part, finding)

    def test_plain_prose_passes(self):
        self.expect("a.md", "# Parcels\n\nA short sentence.\n\nA short sentence.\n")

    def test_a_replaced_word_is_a_finding(self):
        self.expect("a.md", "A line.\n\nSent in a parcel.\n", "a.md:3: says \"parcel\": Use 'remote-free batch'")

    def test_needless_words_are_findings(self):
        self.expect("a.md", "Of course it works.\n", "a.md:1: says \"Of course\": Leave out")

    def test_published_checks_find_cliches_and_repeated_words(self):
        self.expect("a.md", "It waits\nfor ever.\n", "a.md:1: says \"for ever\"")
        self.expect("a.md", "It is the the end.\n", "lexical illusion")

    def test_code_is_no_prose(self):
        self.expect("a.md", "The option `parcel`:\n```\nparcel parcel\n```\n")

    def test_comments_are_checked_too(self):
        self.expect("src/a.cpp", "int a;\n\n// Used in order to wait.\nint b;  // the the end\n",
                    "src/a.cpp:3: says \"in order to\"", "src/a.cpp:4: says")

    def test_code_in_a_comment_is_no_prose(self):
        self.expect("src/a.cpp", "// Calls `the the`, or other->other other::other.\n//   a   |   a\nnamespace a {}  "
                                 "// namespace a\n")


if __name__ == "__main__":
    unittest.main()
