"""Tests of tests/run.py, which results fail a run and what it says at the end; and of tests/unchanged.py."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).parents[1] / "run.py"


class Run(unittest.TestCase):
    def run_tests(self, *tests, expect):
        """The output of a run of tests, which are pairs of a name and a shell command."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tarn-run-")))
        lines = []
        for name, command in tests:
            lines.append(f'add_test({name} "/bin/sh" "-c" "{command}")')
            lines.append(f'set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 WORKING_DIRECTORY "{folder}")')
        (folder / "CTestTestfile.cmake").write_text("\n".join(lines), encoding="utf-8")
        result = subprocess.run([sys.executable, "-B", str(RUNNER), str(folder), "2"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def test_run_in_which_all_pass(self):
        output = self.run_tests(("good", "true"), expect=0)
        self.assertIn("100% tests passed", output)
        self.assertNotIn("UNSTEADY", output)

    def test_test_that_fails_twice_fails_the_run(self):
        output = self.run_tests(("good", "true"), ("bad", "echo why; false"), expect=8)
        self.assertIn("1 failed. Each runs once more, alone.", output)
        self.assertIn("why", output)
        self.assertNotIn("UNSTEADY", output)

    def test_test_that_passes_alone_is_named(self):
        unsteady = "test -e again || { touch again; false; }"
        output = self.run_tests(("good", "true"), ("unsteady", unsteady), expect=0)
        self.assertIn("UNSTEADY: failed beside the others and passed alone. "
                      "Each is a defect, of the test or of the code:\n  unsteady\n", output)

    def test_unsteady_test_does_not_hide_a_bad_one(self):
        unsteady = "test -e again || { touch again; false; }"
        output = self.run_tests(("bad", "false"), ("unsteady", unsteady), expect=8)
        self.assertIn("the code:\n  unsteady\n", output)

    def test_many_failures_are_no_bad_luck(self):
        tests = [(f"unsteady{number}", f"test -e again{number} || {{ touch again{number}; false; }}")
                 for number in range(6)]
        self.assertNotIn("once more", self.run_tests(*tests, expect=8))

    def test_skipped_test_says_why(self):
        output = self.run_tests(("left_out", "echo needs a machine of its own; exit 77"), ("good", "true"), expect=0)
        self.assertIn("Skipped, and why:\n  left_out: needs a machine of its own\n", output)

    def test_run_without_tests_is_an_error(self):
        self.assertNotIn("Skipped", self.run_tests(expect=8))

    def test_tests_with_unchanged_inputs_are_counted(self):
        output = self.run_tests(("first", "echo unchanged since it passed"),
                                ("second", "echo unchanged since it passed; echo and more"), expect=0)
        self.assertIn("Not run again:\n  1 tests have the inputs", output)
        self.assertNotIn("Not run again", self.run_tests(("good", "true"), expect=0))


class Unchanged(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tarn-unchanged-")))
        self.input = self.folder / "input"
        (self.input / "inner").mkdir(parents=True)
        (self.input / "inner/page").write_text("one", encoding="utf-8")
        self.program = self.folder / "program"
        self.write_program("echo runs")

    def write_program(self, body):
        self.program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        self.program.chmod(0o755)

    def run_test(self, *arguments, expect=0, skip="skip"):
        command = ["unchanged.py", self.folder / "passed/test", self.input, "--", self.program, *arguments]
        result = subprocess.run([sys.executable, "-B", *map(str, command)], cwd=RUNNER.parent,
                                env={**os.environ, "UNCHANGED_TESTS": skip}, capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout

    def test_test_that_passed_does_not_run_again(self):
        self.assertEqual(self.run_test(), "runs\n")
        self.assertEqual(self.run_test(), "unchanged since it passed\n")
        self.assertEqual(self.run_test(skip=""), "runs\n")

    def test_each_change_runs_it_again(self):
        self.run_test()
        (self.input / "inner/page").write_text("two", encoding="utf-8")
        self.assertEqual(self.run_test(), "runs\n")
        (self.input / "inner/page").rename(self.input / "page")
        self.assertEqual(self.run_test(), "runs\n")
        self.assertEqual(self.run_test("other"), "runs\n")
        self.write_program("echo runs as well")
        self.assertEqual(self.run_test("other"), "runs as well\n")
        self.assertEqual(self.run_test("other"), "unchanged since it passed\n")

    def test_test_does_not_see_the_variable(self):
        self.write_program('test -z "${UNCHANGED_TESTS+set}"')
        self.run_test()

    def test_test_that_failed_runs_again(self):
        self.run_test()
        self.write_program("echo runs; exit 3")
        self.run_test(expect=3)
        self.assertEqual(self.run_test(expect=3), "runs\n")

    def test_failure_by_hand_is_not_hidden_by_an_earlier_pass(self):
        self.write_program(f"test ! -e {self.folder}/broken")
        self.run_test()
        (self.folder / "broken").touch()
        self.run_test(skip="", expect=1)
        self.run_test(expect=1)


if __name__ == "__main__":
    unittest.main()
