#!/usr/bin/env python3
"""What must not compile: compile.py PAGE.cpp COMPILER...

A page is C++ in parts. What stands before the first is for all of them. `//- good` begins a part that must compile,
without a warning; `//- bad: WORDS` one that must not, and the error must have the WORDS (`//- clang: WORDS`: for Clang
alone, `//- gcc: WORDS` for GCC alone). Each bad part follows the good form of the same thing."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DTARN_CHECKS=0", "-DTARN_SMALL=0",
         "-DTARN_GUARD=0", f"-I{ROOT / 'include'}"]
PART = re.compile(r"^//- (good|bad|clang|gcc)(?:: (.*))?$", re.MULTILINE)


def parts(text):
    """(kind, words, first line, code) of each part."""
    parts = list(PART.finditer(text))
    for number, part in enumerate(parts):
        end = parts[number + 1].start() if number + 1 < len(parts) else len(text)
        line = text.count("\n", 0, part.start()) + 1
        yield part[1], part[2], line, f"#line {line}\n{text[part.start():end]}"


def flags_of(compiler):
    return [*FLAGS, *(["-Wthread-safety", "-Wthread-safety-beta"] if "clang" in os.path.basename(compiler) else [])]


def precompile(compiler, head, folder):
    """The options with which a part sees the head, compiled once."""
    header = folder / f"{os.path.basename(compiler)}.hpp"
    header.write_text(head, encoding="utf-8")
    flags = [flag for flag in flags_of(compiler) if flag != "-fsyntax-only"]
    subprocess.run([compiler, *flags, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return ["-include", str(header)]


def problem(compiler, head, kind, message, code):
    """What is wrong with a part, as a text; None when it is as it should be."""
    is_clang = "clang" in os.path.basename(compiler)
    if (kind == "clang" and not is_clang) or (kind == "gcc" and is_clang):
        return None
    result = subprocess.run([compiler, *flags_of(compiler), *head, "-x", "c++", "-"], input=code, capture_output=True,
                            text=True, check=False)
    if kind == "good":
        return f"must compile:\n{result.stderr}" if result.returncode else None
    if result.returncode == 0:
        return "must not compile, and does"
    return None if message in result.stderr else f'does not say "{message}":\n{result.stderr}'


def main(page, compilers):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    all_parts = list(parts(text))
    if len(all_parts) < 2 or all_parts[0][0] != "good":
        return f"{page}: begins with a good part, and a bad one follows"
    head = text[:PART.search(text).start()]
    with tempfile.TemporaryDirectory(prefix="tarn-compile-") as folder, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        heads = {compiler: precompile(compiler, head, pathlib.Path(folder)) for compiler in compilers}
        jobs = [(compiler, line, pool.submit(problem, compiler, heads[compiler], kind, message, code))
                for compiler in compilers for kind, message, line, code in all_parts]
        wrong = [f"{page}:{line}: {os.path.basename(compiler)}: {job.result()}" for compiler, line, job in jobs
                 if job.result()]
    print("\n".join(wrong) or f"{len(jobs)} parts are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
