#!/usr/bin/env python3
"""`tarn lab`: its experiments in small, its words, and what it refuses."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from paths import HANG_S, PATHS, main, run_program


def lab(*arguments, code=0, environment=None):
    result = run_program(PATHS.tarn, "lab", *arguments, code=code, stdin=subprocess.DEVNULL, env=environment)
    return result.stderr if code >= 2 else result.stdout


class Refused(unittest.TestCase):
    def refused(self, *arguments, code=2):
        errors = lab(*arguments, code=code)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertTrue(errors.startswith("tarn: "), errors)
        return errors

    def test_an_unknown_experiment_is_refused(self):
        self.assertIn("unknown experiment nothing; the experiments are list", self.refused("nothing"))

    def test_numbers_outside_of_their_range_are_refused(self):
        for word in ("nodes=-1", "nodes=0", "nodes=1000000000000000000", "nodes=many", "nodes=", "nodes"):
            self.assertIn(f"--set {word}: ", self.refused("list", "--set", word))
        self.assertIn("no chosen experiment has it", self.refused("list", "--set", "colour=1"))
        for rounds in ("0", "-1", "1000000000000000000", "many"):
            self.refused("list", "--rounds", rounds)

    def test_no_place_to_write(self):
        arguments = ["list", "--set", "nodes=1", "--set", "total=1", "--rounds", "1"]
        self.assertIn("No such file", self.refused(*arguments, "--json", "/nowhere/at/all", code=3))
        result = subprocess.run([PATHS.tarn, "lab", *arguments, "--html", "/nowhere/at/all"],
                                capture_output=True, text=True, timeout=HANG_S, check=False, stdin=subprocess.DEVNULL)
        why = {3: "No such file", 5: "cannot write HTML reports"}  # 5: built without npm
        self.assertIn(why[result.returncode], result.stderr)


class Listed(unittest.TestCase):
    def test_names_what_can_be_set(self):
        output = lab("--list")
        self.assertIn("\n    nodes=1,10,100,1000,10000,1000000 ", output)


class Small(unittest.TestCase):
    """Every experiment, as small as it can be: all forms do the same work, and the results are whole."""

    quick = ("--quick", "--rounds", "1")
    small = (*quick, "--set", "total=2000", "--set", "allocations=200", "--set", "pairs=1000", "--set",
             "operations=20000",
             "--set", "bytes=2000", "--set", "requests=500", "--set", "writes=20000", "--set", "steps=2000",
             "--set", "live=100,200,300", "--set", "replaced=5", "--set", "percent=1")

    def test_each_experiment_has_its_results_in_json(self):
        names = [line.split()[0] for line in lab("--list").splitlines() if not line.startswith(" ")]
        names.remove("appserver")  # takes seconds for each form: bench/lab/programs_test.py has it
        results = json.loads(lab(*names, *self.small, "--json", "-"))
        self.assertEqual([experiment["name"] for experiment in results["experiments"]], names)
        self.assertEqual(results["format"], 2)
        self.assertIn("cpu", results["machine"])
        for experiment in results["experiments"]:
            with self.subTest(experiment["name"]):
                self.assertNotIn("failure", experiment)
                if not experiment["forms"]:
                    self.assertIn("it is skipped: ", experiment["skipped"][0])
                    continue
                self.assertIn(experiment["verdict"]["holds"], ("yes", "partly", "no"))
                self.assertTrue(experiment["verdict"]["text"])
                forms = {form["name"] for form in experiment["forms"]}
                self.assertEqual({row["form"] for row in experiment["rows"]}, forms)
                self.check_counts(experiment)
                if experiment["name"] == "lock-cost":
                    self.check_aba(experiment)
                for row in experiment["rows"]:
                    self.assertGreater(row["ns"]["median"], 0)
                    self.assertLessEqual(row["ns"]["low"], row["ns"]["high"])

    def check_counts(self, results):
        """What strace and valgrind count, where they are: as the original's, each of its remedies makes fewer calls."""
        counts = {row["form"]: row["counts"] for row in results["rows"]
                  if (row["sweep"], row["x"]) in (("threads", 1), ("requests", 500))}
        if results["name"] == "count-a" and shutil.which("strace") and not results["skipped"]:
            self.assertGreater(counts["read, a byte each"]["system calls"], 2000)
            self.assertLess(counts["fgetc"]["system calls"], 300)
        if results["name"] == "m-string" and shutil.which("valgrind") and not results["skipped"]:
            self.assertLess(counts["m_string, cached"]["allocations"], counts["m_string"]["allocations"] / 2)

    def check_aba(self, results):
        """The list without a tag breaks, both as the text tells and when threads run; the others do not."""
        broken = {row["form"]: row["counts"] for row in results["rows"] if row["sweep"] == "operations"}
        untagged = broken.pop("untagged list")
        self.assertGreater(untagged["given twice"], 0)
        self.assertEqual(untagged["as told"], 1)
        self.assertIn("lock-free", broken)
        for counts in broken.values():
            self.assertEqual(counts["given twice"] + counts.get("as told", 0), 0)

    def test_on_one_core_sweeps_of_cores_have_one_position(self):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        self.addCleanup(os.sched_setaffinity, 0, before)
        experiment = json.loads(lab("lock-cost", *self.quick, "--set", "pairs=1000", "--json", "-"))["experiments"][0]
        self.assertIn("cores 2 is skipped: this process may use 1", experiment["skipped"])
        self.assertEqual({row["x"] for row in experiment["rows"] if row["sweep"] == "cores"}, {1})
        self.assertNotIn("failure", experiment)

    def test_text_is_narrow(self):
        for line in lab("list", "lock-cost", "growth", *self.quick, "--set", "total=2000", "--set", "pairs=1000",
                        "--set",
                        "operations=5000", "--set", "steps=2000", "--set", "replaced=5").splitlines():
            self.assertLessEqual(len(line), 100, line)


class Kept(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def keep(self):
        output = lab("list", *Small.quick, "--set", "total=2000", "--record", self.folder)
        return output.rpartition("stored in ")[2].strip()

    def test_two_runs_side_by_side(self):
        before, after = self.keep(), f"{self.folder}/after"
        shutil.copytree(before, after)
        figures = pathlib.Path(after, "figures.csv")
        lines = [line.split(",") for line in figures.read_text().splitlines()]
        for line in lines[1:]:
            if line[3] == "pooled":
                line[6:] = [str(float(number) * 1000) for number in line[6:]]
        figures.write_text("".join(",".join(line) + "\n" for line in lines))
        output = lab("compare", before, after)
        self.assertTrue(output.startswith("Slower: 1 rows slower, 0 faster, "), output)
        self.assertRegex(output, r"\n  pooled .* slower\n")
        self.assertEqual(output.count(" slower\n"), 1)

    def test_the_same_twice(self):
        folder = self.keep()
        output = lab("compare", folder, folder)
        self.assertTrue(output.startswith("No change: 0 rows slower, 0 faster, "), output)
        self.assertNotRegex(output, " slower\n| faster\n|→")

    def test_what_is_none(self):
        self.assertIn("machine.csv: No such file", lab("compare", self.folder, self.folder, code=3))
        self.assertEqual(lab("compare", self.folder, code=2).count("\n"), 1)


class Elsewhere(unittest.TestCase):
    """The command in a tree of its own, where something is missing."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-lab-"))
        self.addCleanup(shutil.rmtree, self.folder)
        built = pathlib.Path(PATHS.tarn).parent
        for name in ("bin", "lib"):
            (self.folder / name).mkdir()
        shutil.copy(built / "tarn", self.folder / "bin")
        shutil.copy(built.parent / "lib" / "libtarn-malloc.so", self.folder / "lib")
        self.built = built

    def run_here(self, *arguments, path=""):
        result = subprocess.run([self.folder / "bin" / "tarn", "lab", *arguments], capture_output=True, text=True,
                                timeout=HANG_S,
                                check=False, env={**os.environ, "PATH": path})
        return result

    def test_missing_programs_are_exit_code_5(self):
        result = self.run_here("list")
        self.assertEqual(result.returncode, 5)
        self.assertIn("cannot find lab-list in ", result.stderr)

    def test_without_peers_their_forms_are_left_out(self):
        """No ldconfig in PATH, nor a cache that it could read: what needs no library runs, and the rest is named."""
        shutil.copy(self.built / "lab-list", self.folder / "bin")
        program = self.folder / "bin" / "lab-list"
        program.rename(program.with_name("lab-list.all"))
        program.write_text('#!/bin/sh\n[ "$1" = --forms ] && { echo malloc; exit; }\nexec "$0.all" "$@"\n')
        program.chmod(0o755)
        result = self.run_here("list", *Small.quick, "--set", "total=2000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("pooled is skipped: this build has it not", result.stdout)
        self.assertIn("Boost.Pool is skipped: this build has it not (Debian package libboost1.81-dev)", result.stdout)

    def test_without_strace_nothing_is_counted(self):
        shutil.copy(self.built / "lab-count-a", self.folder / "bin")
        result = self.run_here("count-a", *Small.quick, "--set", "bytes=100")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no strace (Debian package strace): nothing is counted by it", result.stdout)
        self.assertIn("A call for each byte takes", result.stdout)

    def test_nobody_asks_the_server(self):
        for name in ("lab-appserver", "tarn-appserver"):
            if not (self.built / name).exists():
                self.skipTest(f"no {name}")
            shutil.copy(self.built / name, self.folder / "bin")
        result = self.run_here("appserver", "--quick")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("it is skipped: lab-appserver: no wrk (Debian package wrk)", result.stdout)

    def test_tracing_is_not_permitted(self):
        shutil.copy(self.built / "lab-count-a", self.folder / "bin")
        (self.folder / "strace").write_text("#!/bin/sh\necho strace: Operation not permitted >&2\nexit 1\n")
        (self.folder / "strace").chmod(0o755)
        result = self.run_here("count-a", *Small.quick, "--set", "bytes=100", path=f"{self.folder}:/usr/bin:/bin")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("strace counts nothing here: strace: Operation not permitted", result.stdout)

    def test_other_work_is_a_failure(self):
        program = self.folder / "bin" / "lab-list"
        program.write_text('#!/bin/sh\n[ "$1" = --forms ] && { printf "malloc\\npooled\\n"; exit; }\n'
                           'echo "{\\"units\\": 1, \\"ns\\": 1, \\"checksum\\": \\"$1\\"}"\n')
        program.chmod(0o755)
        result = self.run_here("list", *Small.quick, "--set", "total=2000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("did other work than", " ".join(result.stdout.split()))


if __name__ == "__main__":
    main("tarn")
