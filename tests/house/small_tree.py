"""A small tree that keeps all rules, for tests that break one of them."""

import pathlib
import shutil
import tempfile
import unittest


class SmallTree(unittest.TestCase):
    """Writes the files of `good` before each test; `checks` are the rules, as functions from a root to findings."""

    good = {}
    checks = ()

    def setUp(self):
        # The space in the path breaks a rule that splits paths at spaces.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tarn tree "))
        self.addCleanup(shutil.rmtree, self.root)
        for path, text in self.good.items():
            self.write(path, text)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def findings(self):
        return [str(finding) for check in self.checks for finding in check(self.root)]

    def expect(self, start, *parts):
        """Expects exactly one finding, which starts with file and line and has the parts."""
        findings = self.findings()
        self.assertEqual(len(findings), 1, findings)
        self.assertTrue(findings[0].startswith(start), findings[0])
        for part in parts:
            self.assertIn(part, findings[0])
