"""What the tests of the ports for other package managers share."""

import os
import pathlib
import shlex
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = PROJECT / "tests/install/consumer"
# The first example of the library in the README, and what it prints.
FIRST_EXAMPLE = PROJECT / "examples/pools.cpp"
FIRST_OUTPUT = "499500 8 54 35 5 5 14 6 66 1\n"


def run(*command, expect=0, folder=None, **settings):
    """Returns the output of a command that must exit as expected; settings are added to its environment."""
    result = subprocess.run([str(word) for word in command], check=False, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, "DESTDIR": "", **settings})
    if result.returncode != expect:
        raise AssertionError(f"exit {result.returncode}, not {expect}: {shlex.join(map(str, command))}\n"
                             f"{result.stdout}")
    return result.stdout
