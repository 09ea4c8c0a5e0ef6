#!/usr/bin/env python3
"""Compares what a check says of a page of cases with its comments: tidy_test.py PLUGIN CLANG-TIDY PAGE.cpp LIBTARN

The first line of a page names the check: `// check: tarn-reserve`, with more options of the compiler behind it. Then

    // proven: WORDS            the check proposes an edit of the next line of code, and its message has these words
    // review: WORDS            the same, but not proven
    // no edit: WORDS           there are sites, and the check refuses the site on the next line
    // inserts: CODE            the edit puts this line before the next line of code
    // becomes: CODE            the edit makes this line of the next line of code
    // site: BYTES              the recording names the next line of code, with so many bytes

Several comments speak of one line. A page with a site runs with a file of sites, any other without. What no comment
expects must not appear. The edited page must compile without a warning, and get no more edits. A page with a function
main() is run, and must print the same before and after the edits.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTATION = re.compile(r"\s*// (proven|review|no edit|inserts|becomes|site): (.*)$")
DIAGNOSTIC = re.compile(r"^(.*?):(\d+):\d+: (warning|error): (.*?)(?: \[([\w.,-]+)\])?$")
PREFIXES = {"review": "review: ", "no edit": "no edit: ", "proven": ""}


def read(page):
    """The options, the expectations by line, the sites by line, and the lines that are expected after the edits."""
    lines = page.read_text(encoding="utf-8").splitlines()
    check, *options = lines[0].removeprefix("// check: ").split()
    messages, sites, edited, waiting = {}, {}, [], []
    for number, line in enumerate(lines, 1):
        match = EXPECTATION.match(line)
        if match:
            waiting.append((match[1], match[2]))
            edited.append(line)
            continue
        replacements = [text for kind, text in waiting if kind == "becomes"]
        edited += [text for kind, text in waiting if kind == "inserts"]
        edited += replacements or [line]
        messages[number] = [(kind, text) for kind, text in waiting if kind in PREFIXES]
        for kind, text in waiting:
            if kind == "site":
                sites[number] = int(text)
        waiting = []
    return check, options, messages, sites, edited


def run(command, page, check, options, sites, fix):
    arguments = [*command, f"--checks=-*,clang-diagnostic-*,{check}", "--quiet"]
    if sites:
        places = page.with_suffix(".json")
        places.write_text(json.dumps({"sites": [
            {"file": str(page), "line": line, "check": check, "bytes": count} for line, count in sites.items()]}),
            encoding="utf-8")
        settings = {"CheckOptions": [{"key": f"{check}.Sites", "value": str(places)}]}
        arguments.append(f"--config={json.dumps(settings)}")
    else:
        arguments.append("--config={}")
    if fix:
        arguments.append("--fix")
    options = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", *options]
    result = subprocess.run([*arguments, str(page), "--", *options], capture_output=True, text=True, check=False)
    diagnostics = {}
    for line in result.stdout.splitlines():
        match = DIAGNOSTIC.match(line)
        if match:
            diagnostics.setdefault(int(match[2]), []).append((match[5] or match[3], match[4]))
    return diagnostics, result


def differences(check, messages, diagnostics):
    """What was expected and is not there, and the other way round, as texts."""
    wrong = []
    for line in sorted({*messages, *diagnostics}):
        left = [(name, text) for name, text in diagnostics.get(line, [])]
        for kind, message in messages.get(line, []):
            match = next((entry for entry in left if entry[0] == check and message in entry[1] and
                          next(name for name, prefix in PREFIXES.items() if entry[1].startswith(prefix)) == kind), None)
            if match is None:
                wrong.append(f"{line}: does not say \"{kind}: {message}\"")
            else:
                left.remove(match)
        wrong += [f"{line}: says \"{text}\" [{name}]" for name, text in left]
    return wrong


def printed(page, options, library):
    """What the program of a page prints."""
    program = page.with_suffix("")
    subprocess.run(["c++", "-std=c++20", "-w", "-D_GLIBCXX_ASSERTIONS", *options, "-o", program, page, library,
                    "-pthread"], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def main(plugin, clang_tidy, original, library):
    original = pathlib.Path(original)
    check, options, messages, sites, edited = read(original)
    options = [*options, f"-I{original.parent}", f"-I{original.parents[2]}/include"]
    command = [clang_tidy, f"--load={plugin}"]
    with tempfile.TemporaryDirectory(prefix="tarn-tidy-") as folder:
        page = pathlib.Path(folder).resolve() / original.name
        page.write_text(original.read_text(encoding="utf-8"), encoding="utf-8")
        is_program = "\nint main() {" in original.read_text(encoding="utf-8")
        before = printed(page, options, library) if is_program else ""
        diagnostics, result = run(command, page, check, options, sites, fix=True)
        wrong = differences(check, messages, diagnostics)
        actual_lines = page.read_text(encoding="utf-8").splitlines()
        for number, (line, expected) in enumerate(zip(actual_lines + [""] * len(edited), edited)):
            if line.strip() != expected.strip():
                wrong.append(f"line {number + 1} of the edited page is\n    {line}\nnot\n    {expected}")
                break
        if len(actual_lines) != len(edited):
            wrong.append(f"the edited page has {len(actual_lines)} lines, not {len(edited)}")
        first, second = run(command, page, check, options, {}, fix=False)
        left = [f"the edited page: line {line}: {text}" for line, texts in first.items() for name, text in texts
                if name != check or not (sites or text.startswith("review: "))]  # the lines of sites have moved
        if left and not wrong:
            wrong, result = left, second
        if is_program and not wrong and (not before.strip() or printed(page, options, library) != before):
            wrong = [f"the edited page prints\n{printed(page, options, library)}\nnot\n{before}"]
    for line in wrong:
        print(f"{original}:{line}")
    if wrong:
        print(result.stdout, result.stderr, sep="\n")
        return 1
    print(f"{sum(map(len, messages.values()))} messages are as they should be")
    return 0 if any(messages.values()) else 1


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
