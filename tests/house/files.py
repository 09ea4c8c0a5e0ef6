#!/usr/bin/env python3
"""What every file keeps to: files.py [ROOT] fails, naming file, line and cure."""

import collections
import pathlib
import re
import sys

import tree

LONGEST_FILE = 600
MAX_SOURCES = 30  # in one folder; headers beside their sources do not count
LONGEST_LINE = 120  # columns of Python; clang-format keeps C and C++
# Spelt in halves, so that this file keeps its own rule.
MARKS = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|X" + r"XX)\b")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# language: kinds of files that have it
QUOTED = {"cpp": {".cpp", ".c"}, "cmake": {".txt"}, "dockerfile": {".Dockerfile"}, "ini": {".service", ".socket"},
          "rust": {".rs"}, "yaml": {".yaml"}}
COMMAND = re.compile(r"`\./dev ([a-z]+)")


def check_text(root, path):
    text = tree.read(root, path)
    if text and not text.endswith("\n"):
        yield tree.Finding(path, text.count("\n") + 1, "the last line does not end with a newline", "add one")
    lines = text.splitlines()
    if path.suffix != ".md" and path.name != "package-lock.json" and len(lines) > LONGEST_FILE:
        yield tree.Finding(path, len(lines), f"{len(lines)} lines, more than {LONGEST_FILE}",
                           "split it: one idea a file")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield tree.Finding(path, number, "white space at the end of the line", "remove it")
        if path.suffix == ".py" and len(line) > LONGEST_LINE:
            yield tree.Finding(path, number, f"a line of {len(line)} columns, more than {LONGEST_LINE}", "break it")
        if "\t" in line:
            yield tree.Finding(path, number, "a tab", "use spaces, or \\t in a string")
        mark = MARKS.search(line)
        if mark:
            yield tree.Finding(path, number, f"says {mark[1]}", "do it now, or open an issue and remove the note")


def check_header(root, path):
    text = tree.without_block_comments(tree.read(root, path))
    code = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//")]
    if code and code[0] == "#pragma once":
        return
    if path.suffix == ".h":
        # A C header may keep to the standard, which has no #pragma once.
        guard = "_".join(re.findall(r"\w+", str(path).split("/", 1)[1])).upper()
        if code[:2] != [f"#ifndef {guard}", f"#define {guard}"]:
            yield tree.Finding(path, 1, "has no include guard",
                               f"put #pragma once, or the guard {guard}, before all code")
    else:
        yield tree.Finding(path, 1, "#pragma once is not its first line of code", "move it before all other code")


def check_built(root):
    """Every source file of the engine and the tools is named in its CMakeLists.txt, and every name is a file."""
    for folder in ["src", "profiler"]:
        lists = pathlib.Path(folder) / "CMakeLists.txt"
        if not (pathlib.Path(root) / lists).is_file():
            continue
        code = re.sub(r"#.*", "", tree.read(root, lists))
        names = set(re.findall(r"[\w./-]+\.(?:cpp|c)\b", code))
        for path in tree.files(root, {".cpp", ".c"}, [folder]):
            if str(path.relative_to(folder)) not in names:
                yield tree.Finding(path, 1, "is not built", f"name it in {lists}, in the list of its level")


def check_folders(root):
    """No folder is a hall. The public headers stay where users include them from."""
    sources = collections.Counter(path.parent for path in tree.files(root, {".c", ".cpp", ".py", ".ts"}))
    for folder, count in sorted(sources.items()):
        if count > MAX_SOURCES:
            yield tree.Finding(folder, 1, f"{count} sources in one folder, more than {MAX_SOURCES}",
                               "put those of one subject into a folder of their own")


def check_document(root, path):
    commands = re.findall(r"^command_(\w+)\(\)", tree.read(root, "dev"), re.MULTILINE) + ["help"]
    for number, line in enumerate(tree.read(root, path).splitlines(), 1):
        for link in LINK.findall(line):
            if re.match(r"[a-z]+:", link):
                continue
            if not (pathlib.Path(root) / path.parent / link).exists():
                yield tree.Finding(path, number, f"links to {link}, which is not there", "name a file that is")
        for command in COMMAND.findall(line):
            if command not in commands:
                yield tree.Finding(path, number, f"names ./dev {command}, which is no command",
                                   f"one of: {', '.join(sorted(commands))}")


def paragraphs(lines):
    """Returns the paragraphs of `lines`: the number of the first line, and the text without indentation."""
    result, start = [], None
    for number, line in enumerate([*lines, ""], 1):
        if line.strip() and start is None:
            start = number
        elif not line.strip() and start is not None:
            result.append((start, "\n".join(part.strip() for part in lines[start - 1:number - 1])))
            start = None
    return result


def check_quotes(root, path, examples):
    """Code and configuration in a document stand in an example, which the tests run; paragraph by paragraph."""
    lines = tree.read(root, path).splitlines()
    begin, language = None, None
    for number, line in enumerate(lines, 1):
        if begin is None and line.strip().removeprefix("```") in examples and line.strip().startswith("```"):
            begin, language = number, line.strip().removeprefix("```")
        elif begin is not None and line.strip() == "```":
            for start, text in paragraphs(lines[begin:number - 1]):
                if not any(text in example for example in examples[language]):
                    yield tree.Finding(path, begin + start, "shows code that no example has",
                                       "quote a file of examples/ line by line")
            begin = None


def check(root):
    examples = {language: ["\n".join(line.strip() for line in tree.read(root, path).splitlines())
                           for path in tree.files(root, kinds, ["examples", "rust/examples"])]
                for language, kinds in QUOTED.items()}
    findings = []
    for path in tree.files(root, tree.TEXT):
        findings += check_text(root, path)
        if path.suffix == ".md":
            findings += check_document(root, path)
            findings += check_quotes(root, path, examples)
    for path in tree.files(root, {".h", ".hpp"}, ["include", "src", "profiler"]):
        findings += check_header(root, path)
    findings += check_built(root)
    findings += check_folders(root)
    return findings


if __name__ == "__main__":
    sys.exit(tree.report(check(sys.argv[1] if len(sys.argv) > 1 else ".")))
