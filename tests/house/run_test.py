"""Tests of tests/run.py: which results fail a run, what it says at the end, and which tests it does not run again."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).parents[1] / "run.py"


class TestOfRuns(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tarn-run-")))

    def run_tests(self, *tests, expect, options=(), inputs=()):
        """The output of a run of tests, which are pairs of a name and a shell command; all have the inputs."""
        lines = []
        for name, command in tests:
            lines.append(f'add_test({name} "/bin/sh" "-c" "{command}")')
            lines.append(f'set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 WORKING_DIRECTORY '
                         f'"{self.folder}")')
            if inputs:
                lines.append(f'set_tests_properties({name} PROPERTIES REQUIRED_FILES "{";".join(map(str, inputs))}")')
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(lines), encoding="utf-8")
        result = subprocess.run([sys.executable, "-B", str(RUNNER), *options, str(self.folder), "2"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout


class Run(TestOfRuns):
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


class Changed(TestOfRuns):
    """What `--changed` runs of two tests: `first` has inputs, and `always` has none."""

    def setUp(self):
        super().setUp()
        self.input = self.folder / "input"
        (self.input / "inner").mkdir(parents=True)
        (self.input / "inner/page").write_text("one", encoding="utf-8")
        self.log = self.folder / "log"

    def ran(self, command="true", expect=0, options=("--changed",)):
        """How often the test with inputs has run in this run of all tests."""
        self.log.write_text("", encoding="utf-8")
        self.output = self.run_tests(("first", f"echo >> {self.log}; {command}"), expect=expect, options=options,
                                     inputs=[self.input])
        return self.log.read_text(encoding="utf-8").count("\n")

    def test_test_that_passed_does_not_run_again(self):
        self.assertEqual(self.ran(options=()), 1)
        self.assertEqual(self.ran(), 0)
        self.assertIn("All tests have the inputs with which they passed.", self.output)
        self.assertEqual(self.ran(options=()), 1)

    def test_each_change_runs_it_again(self):
        self.ran()
        (self.input / "inner/page").write_text("two", encoding="utf-8")
        self.assertEqual(self.ran(), 1)
        (self.input / "inner/page").rename(self.input / "page")
        self.assertEqual(self.ran(), 1)
        self.assertEqual(self.ran("true again"), 1)
        self.assertEqual(self.ran("true again"), 0)

    def test_command_is_an_input(self):
        program = self.folder / "program"
        for text in ("#!/bin/sh\n", "#!/bin/sh\ntrue\n"):
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)
            lines = [f'add_test(first "{program}")',
                     f'set_tests_properties(first PROPERTIES REQUIRED_FILES "{self.input}")']
            (self.folder / "CTestTestfile.cmake").write_text("\n".join(lines), encoding="utf-8")
            for expected in ("100% tests passed", "All tests have the inputs"):
                result = subprocess.run([sys.executable, "-B", str(RUNNER), "--changed", str(self.folder), "2"],
                                        capture_output=True, text=True, check=True)
                self.assertIn(expected, result.stdout)

    def test_test_that_failed_runs_again(self):
        self.ran()
        (self.folder / "broken").touch()
        command = f"test ! -e {self.folder}/broken"
        self.assertEqual(self.ran(command, expect=8), 2)
        self.assertEqual(self.ran(command, expect=8), 2)

    def test_failure_is_not_hidden_by_an_earlier_pass(self):
        command = f"test ! -e {self.folder}/broken"
        self.ran(command)
        (self.folder / "broken").touch()
        self.assertEqual(self.ran(command, options=(), expect=8), 2)
        self.assertEqual(self.ran(command, expect=8), 2)

    def test_test_that_passed_by_luck_runs_again(self):
        self.assertEqual(self.ran("test -e again || { touch again; false; }"), 2)
        self.assertEqual(self.ran("test -e again || { touch again; false; }"), 1)

    def test_skipped_test_runs_again(self):
        self.assertEqual(self.ran("exit 77"), 1)
        self.assertEqual(self.ran("exit 77"), 1)

    def test_tests_without_inputs_always_run(self):
        for _ in range(2):
            output = self.run_tests(("always", "true"), expect=0, options=["--changed"])
            self.assertIn("100% tests passed", output)
            self.assertNotIn("Not run again", output)

    def test_tests_that_do_not_run_again_are_counted(self):
        self.ran()
        lines = (self.folder / "CTestTestfile.cmake").read_text(encoding="utf-8")
        (self.folder / "CTestTestfile.cmake").write_text(f'add_test(always "/bin/true")\n{lines}', encoding="utf-8")
        result = subprocess.run([sys.executable, "-B", str(RUNNER), "--changed", str(self.folder), "2"],
                                capture_output=True, text=True, check=True)
        self.assertIn("Not run again:\n  1 tests have the inputs", result.stdout)
        self.assertIn("out of 1", result.stdout)


if __name__ == "__main__":
    unittest.main()
