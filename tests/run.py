#!/usr/bin/env python3
"""Runs ctest and says at the end what a list of 3,000 results hides: what was skipped and why, and what is unsteady.

    run.py [--changed] BUILD JOBS [CTEST-ARGUMENT...]

With --changed, a test does not run again while its inputs are those with which it last passed: its command, the files
that the command names, the files and folders of its property REQUIRED_FILES, and the system's packages. Files are
compared by size and time. A test without that property always runs.

A test that fails runs once more when the others have ended. If it passes then, it depends on luck or on how busy the
machine is. That is a defect of the test or of the code, so it is named, and its first output stands above; but it does
not hide what the other tests found, and the exit code is 0. A test that fails twice fails the run. So does a run in
which more than `MOST_UNSTEADY` tests fail, because so many do not fail by luck.
"""

import functools
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

MOST_UNSTEADY = 5
PACKAGES = "/var/lib/dpkg/status"
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


def listed(build, *arguments):
    """The tests that ctest would run, in the order of their numbers."""
    result = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1", *arguments], capture_output=True,
                            text=True, check=False)
    return json.loads(result.stdout)["tests"] if result.returncode == 0 else []


@functools.cache
def facts_of(path):
    """The names, sizes and times of a file, or of all files in a folder."""
    path = pathlib.Path(path)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    facts = [(file, file.stat()) for file in files if file.is_file()]
    return "".join(f"{file} {status.st_size} {status.st_mtime_ns}\n" for file, status in facts)


def inputs_of(test):
    """A hash of all that decides how the test ends; None where that is not known."""
    properties = {entry["name"]: entry["value"] for entry in test["properties"]}
    if "REQUIRED_FILES" not in properties or "command" not in test:
        return None
    command = [shutil.which(word) or word for word in test["command"]]
    files = [word for word in command if pathlib.Path(word).is_file()] + [*properties["REQUIRED_FILES"], PACKAGES]
    facts = [repr(test["command"]), repr(properties), *map(facts_of, files)]
    return hashlib.sha256("".join(facts).encode()).hexdigest()


class Passed:
    """The inputs with which each test last passed, in a file of the build folder."""

    def __init__(self, build):
        self.file = build / "passed.json"
        self.inputs = json.loads(self.file.read_text(encoding="utf-8")) if self.file.is_file() else {}

    def has(self, test):
        return self.inputs.get(test["name"]) == (inputs_of(test) or "unknown")

    def update(self, tests, results, unsteady):
        """After a run: what failed or was skipped must run again, and so must what passed by luck."""
        inputs = {test["name"]: inputs_of(test) for test in tests}
        for case in results:
            name = case.get("name")
            self.inputs.pop(name, None)
            if case.get("status") == "run" and name not in unsteady and inputs.get(name):
                self.inputs[name] = inputs[name]
        self.file.write_text(json.dumps(self.inputs, indent=0), encoding="utf-8")


def say(title, lines):
    if lines:
        print(f"\n{title}")
        for line in lines:
            print(f"  {line}")


def main(*arguments):
    only_changed = arguments[0] == "--changed"
    build, jobs, *arguments = arguments[1:] if only_changed else arguments
    build = pathlib.Path(build)
    first, second = build / "results.xml", build / "results-again.xml"
    for results in (first, second):
        results.unlink(missing_ok=True)

    passed = Passed(build)
    tests = listed(build)
    unchanged = set()
    if only_changed:
        unchanged = {test["name"] for test in listed(build, *arguments) if passed.has(test)}
        numbers = [str(number) for number, test in enumerate(tests, 1) if test["name"] not in unchanged]
        if unchanged and not numbers:
            print("All tests have the inputs with which they passed.")
            return 0
        arguments = [*arguments, "-I", ",".join(["0,0,0", *numbers])]  # no range, then single numbers

    status = ctest(build, first, ["--parallel", jobs, *arguments])
    names = failed(first)
    unsteady = []
    if status == CTEST_TESTS_FAILED and 0 < len(names) <= MOST_UNSTEADY:
        print(f"\n{len(names)} failed. Each runs once more, alone.", flush=True)
        status = ctest(build, second, ["--parallel", "1", "--rerun-failed"])
        unsteady = sorted(set(names) - set(failed(second))) if cases(second) else []
    passed.update(tests, cases(first), unsteady)
    if unchanged:
        say("Not run again:", [f"{len(unchanged)} tests have the inputs with which they passed (-R NAME or --all runs "
                               "them)"])
    say("Skipped, and why:",
        [f"{case.get('name')}: {reason(case)}" for case in cases(first) if case.find("skipped") is not None])
    say("UNSTEADY: failed beside the others and passed alone. Each is a defect, of the test or of the code:", unsteady)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
