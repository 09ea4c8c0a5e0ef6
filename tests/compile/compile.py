#!/usr/bin/env python3
"""What must not compile: compile.py PAGE.cpp COMPILER...

A page is C++ in parts. What stands before the first is for all of them. `//- good` begins a part that must compile,
without a warning; `//- bad: WORDS` one that must not, and the error must have the WORDS (`//- clang: WORDS`: for Clang
alone, `//- gcc: WORDS` for GCC alone). Each bad part follows the good form of the same thing."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DTARN_CHECKS=0", "-DTARN_SMALL=0",
         "-DTARN_GUARD=0", f"-I{ROOT / 'include'}"]
PART = re.compile(r"^//- (good|bad|clang|gcc)(?:: (.*))?$", re.MULTILINE)
NAMED = re.compile(r"^<stdin>:(\d+):", re.MULTILINE)
LEADS = re.compile(r": In |: At |required (from|by)|recursively required")  # what GCC writes before an error


class Part(typing.NamedTuple):
    kind: str
    message: str | None
    line: int
    code: str

    @property
    def length(self):
        return self.code.count("\n")

    @property
    def fits_in_namespace(self):
        return not re.search(r"^\s*(#\s*include|namespace|template\s*<>)", self.code, re.MULTILINE)


def parts(text):
    starts = list(PART.finditer(text))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        line = text.count("\n", 0, start.start()) + 1
        yield Part(start[1], start[2], line, f"#line {line}\n{text[start.start():end]}")


def flags_of(compiler):
    is_clang = "clang" in os.path.basename(compiler)
    return FLAGS + (["-ferror-limit=0", "-Wthread-safety", "-Wthread-safety-beta"] if is_clang else [])


def precompile(compiler, head, folder):
    """The options with which a part sees the head, compiled once."""
    header = folder / f"{os.path.basename(compiler)}.hpp"
    header.write_text(head, encoding="utf-8")
    flags = [flag for flag in flags_of(compiler) if flag != "-fsyntax-only"]
    subprocess.run([compiler, *flags, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return ["-include", str(header)]


def diagnose(compiler, head, code):
    """The exit code and the diagnostics of a unit."""
    result = subprocess.run([compiler, *flags_of(compiler), *head, "-x", "c++", "-"], input=code, capture_output=True,
                            text=True, check=False)
    return result.returncode, result.stderr


def problem(compiler, head, part):
    """What is wrong with a part that is compiled alone, as a text; None when it is as it should be."""
    status, output = diagnose(compiler, head, part.code)
    if part.kind == "good":
        return f"must compile:\n{output}" if status else None
    if status == 0:
        return "must not compile, and does"
    return None if part.message in output else f'does not say "{part.message}":\n{output}'


def unit_of(page):
    """One unit of several parts, each in a namespace of its own."""
    return "\n".join(f"namespace part_{part.line} {{\n{part.code}\n}}" for part in page)


def errors(output):
    """The errors of a unit, each with the lines before it that lead there and the notes after it."""
    groups, has_error = [[]], False
    for line in output.splitlines():
        is_error = " error: " in line
        if has_error and (is_error or line.startswith("In file included from") or LEADS.search(line)):
            groups.append([])
            has_error = False
        has_error = has_error or is_error
        groups[-1].append(line)
    return ["\n".join(group) for group in groups]


def unproven(compiler, head, page):
    """The parts that a unit of many does not show to be right, which must be compiled alone.

    A good part is shown by a unit of good parts that compiles. A bad one is shown by an error with its words that names
    no other part. A compiler reports the same error of a template once, so some errors are missing."""
    good = [part for part in page if part.kind == "good" and part.fits_in_namespace]
    bad = [part for part in page if part.kind != "good" and part.fits_in_namespace]
    proven = set()
    if diagnose(compiler, head, unit_of(good))[0] == 0:
        proven.update(part.line for part in good)
    for error in errors(diagnose(compiler, head, unit_of(bad))[1]):
        lines = [int(line) for line in NAMED.findall(error)]
        named = [part for part in bad if any(part.line <= line < part.line + part.length for line in lines)]
        if len(named) == 1 and named[0].message in error:
            proven.add(named[0].line)
    return [part for part in page if part.line not in proven]


def check(compiler, head, page):
    """(line, problem) of each part that is not as it should be for one compiler."""
    problems = [(part.line, problem(compiler, head, part)) for part in unproven(compiler, head, page)]
    return [(line, text) for line, text in problems if text]


def main(page, compilers):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    all_parts = list(parts(text))
    if len(all_parts) < 2 or all_parts[0].kind != "good":
        return f"{page}: begins with a good part, and a bad one follows"
    head = text[:PART.search(text).start()]
    wrong, number = [], 0
    with tempfile.TemporaryDirectory(prefix="tarn-compile-") as folder:
        for compiler in compilers:
            name = os.path.basename(compiler)
            other = "gcc" if "clang" in name else "clang"
            its_parts = [part for part in all_parts if part.kind != other]
            number += len(its_parts)
            problems = check(compiler, precompile(compiler, head, pathlib.Path(folder)), its_parts)
            wrong += [f"{page}:{line}: {name}: {text}" for line, text in problems]
    print("\n".join(wrong) or f"{number} parts are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
