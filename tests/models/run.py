#!/usr/bin/env python3
"""Checks a model: run.py MODEL.pml [MUTANT [WORDS]]

Without a mutant, spin must find no error in any state. With one, it must find an error, and say WORDS of it."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

DEEPEST = 100_000  # steps; more is a mistake in the model, and reported


def search(model, mutants, spin, cc):
    """What the verifier says of `model`, all of whose states it has seen unless it says otherwise."""
    with tempfile.TemporaryDirectory(prefix="tarn-model-") as folder:
        defines = [f"-D{name}" for name in mutants]
        subprocess.run([spin, *defines, "-a", model], cwd=folder, check=True)
        subprocess.run([cc, "-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c"], cwd=folder, check=True)
        search = subprocess.run(["./pan", f"-m{DEEPEST}"], cwd=folder, capture_output=True, text=True, check=False)
        trace = ""
        if list(pathlib.Path(folder).glob("*.trail")):
            trace = subprocess.run([spin, *defines, "-t", "-p", "-g", "-l", model], cwd=folder, capture_output=True,
                                   text=True, check=False).stdout
        return search.stdout + search.stderr, trace


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--define", action="append", default=[], help="a variant of the model")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("mutant", nargs="?")
    parser.add_argument("words", nargs="?", default="errors: 1")
    options = parser.parse_args()
    mutants = options.define + ([options.mutant] if options.mutant else [])
    output, trace = search(options.model.resolve(), mutants, options.spin, options.cc)
    if "errors: " not in output or "max search depth too small" in output or "out of memory" in output:
        print(output)
        return "the search did not come to an end"
    if options.mutant:
        if options.words in output and "errors: 0" not in output:
            return 0
        print(output)
        return f'the mutant {options.mutant} should fail with "{options.words}"'
    if "errors: 0" in output:
        return 0
    print(trace, output, sep="\n")
    return "the model fails: the steps that lead there stand above"


if __name__ == "__main__":
    sys.exit(main())
