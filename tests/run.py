#!/usr/bin/env python3
"""Runs ctest and says at the end what a list of 3,000 results hides: what was skipped and why, and what is unsteady.

    run.py BUILD JOBS [CTEST-ARGUMENT...]

A test that fails runs once more when the others have ended. If it passes then, it depends on luck or on how busy the
machine is. That is a defect of the test or of the code, so it is named, and its first output stands above; but it does
not hide what the other tests found, and the exit code is 0. A test that fails twice fails the run. So does a run in
which more than `MOST_UNSTEADY` tests fail, because so many do not fail by luck.
"""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree

MOST_UNSTEADY = 5
UNCHANGED = "unchanged since it passed"  # what unchanged.py prints
CTEST_TESTS_FAILED = 8  # the exit code of ctest when it ran, and tests failed


def ctest(build, results, arguments):
    return subprocess.run(
        ["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=error", "--output-junit", str(results),
         *arguments],
        check=False).returncode


def cases(results):
    """The test cases of one run, as ctest wrote them; none if it ended before it wrote them."""
    return list(xml.etree.ElementTree.parse(results).getroot().iter("testcase")) if results.is_file() else []


def failed(results):
    return [case.get("name") for case in cases(results) if case.find("failure") is not None]


def reason(case):
    """Why a test was skipped: the last line that it printed which is no line of the test framework's own."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines()]
    spoken = [line for line in lines if line and not line.startswith("[") and not line.startswith("Note:")]
    return spoken[-1] if spoken else "it does not say why"


def has_same_inputs(case):
    """Whether unchanged.py passed the test without running it."""
    return (case.findtext("system-out") or "").strip() == UNCHANGED


def say(title, lines):
    if lines:
        print(f"\n{title}")
        for line in lines:
            print(f"  {line}")


def main(build, jobs, *arguments):
    build = pathlib.Path(build)
    first, second = build / "results.xml", build / "results-again.xml"
    for results in (first, second):
        results.unlink(missing_ok=True)
    status = ctest(build, first, ["--parallel", jobs, *arguments])
    names = failed(first)
    unsteady = []
    if status == CTEST_TESTS_FAILED and 0 < len(names) <= MOST_UNSTEADY:
        print(f"\n{len(names)} failed. Each runs once more, alone.", flush=True)
        status = ctest(build, second, ["--parallel", "1", "--rerun-failed"])
        unsteady = sorted(set(names) - set(failed(second))) if cases(second) else []
    if number := sum(map(has_same_inputs, cases(first))):
        say("Not run again:", [f"{number} tests have the inputs with which they passed (-R NAME or --all runs them)"])
    say("Skipped, and why:",
        [f"{case.get('name')}: {reason(case)}" for case in cases(first) if case.find("skipped") is not None])
    say("UNSTEADY: failed beside the others and passed alone. Each is a defect, of the test or of the code:", unsteady)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
