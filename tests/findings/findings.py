#!/usr/bin/env python3
"""What `tarn report` must find in real programs, and where it must say that there is nothing to gain.

golden/NAME.json holds for each recording of a program (its parts): `sites`, `locks` and `syscalls` that must be among
the first of the report, with the function that decides, category, the beginning of a remedy, and remedies that do not
fit because the block outlives its function (`not_offered`); `says`, of the text; and `never`, functions that only pass
on and must name no site. Never times or counts. --show prints what the reports have.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tool"))

import prices  # noqa: E402
import programs  # noqa: E402

TOP = 12


def deciding(stack, index=0):
    """The function at `index`, or the next one that has a name."""
    return next((frame["function"] for frame in stack[index:] if frame["function"]), "")


def is_called(function, name):
    """In whatever scope, with whatever arguments."""
    return re.search(rf"(^|\W){re.escape(name)}(\W|$)", function) is not None


def program_frames(stack):
    """Without the C library's frames."""
    return [frame for frame in stack if not frame["module"].endswith("/libc.so.6")]


def found_in(report):
    return {
        "sites": [{"function": deciding(site["stack"], site["frame_index"]), "category": site["category"],
                   "remedies": [remedy["name"] for remedy in site["predicted"]["remedies"]]}
                   for site in report["sites"]],
        "locks": [{"function": deciding(program_frames(lock["stack"])), "category": lock["category"],
                   "remedy": lock["remedy"]}
                  for lock in report["locks"] if lock["remedy"]],
        "syscalls": [{"name": call["name"], "function": deciding(program_frames(call["stack"])),
                      "category": call["category"],
                      "remedy": call["remedy"]} for call in report["syscalls"] if call["remedy"]],
    }


def is_as(expectation, site):
    for key, value in expectation.items():
        if key == "remedies":
            if not set(value) <= set(site["remedies"]):
                return False
        elif key == "not_offered":
            if set(value) & set(site["remedies"]):
                return False
        elif key == "remedy":
            if value not in site["remedy"]:
                return False
        elif key == "function":
            if not is_called(site["function"], value):
                return False
        elif value != site[key]:
            return False
    return True


def problems(golden, findings, text):
    for kind in "sites", "locks", "syscalls":
        for expectation in golden.get(kind, []):
            if not any(is_as(expectation, finding) for finding in findings[kind]):
                yield f"no {kind[:-1]} {json.dumps(expectation)}"
        if golden.get(kind) == [] and findings[kind]:
            yield f"{kind} where there should be none: {findings[kind]}"
    for sentence in golden.get("says", []):
        if sentence not in text:
            yield f"does not say \"{sentence}\""
    for name in golden.get("never", []):
        if any(is_called(site["function"], name) for site in findings["sites"]):
            yield f"{name} names a site, and only passes on"


def look_into(name, options, folder):
    recordings = getattr(programs.Programs(options.tarn, folder, options.appserver), name)()
    golden = json.loads((HERE / "golden" / f"{name}.json").read_text()) if not options.show else {}
    wrong = 0
    for part, file in recordings.items():
        report = json.loads(programs.run([options.tarn, "report", "--quick", "--json", "--top", str(TOP), str(file)]))
        text = programs.run([options.tarn, "report", "--quick", "--alternatives", str(file)])
        findings = found_in(report)
        if options.show:
            print(f"--- {part}\n{text}\n{json.dumps(findings, indent=1)}")
            continue
        for problem in problems(golden[part], findings, text):
            print(f"{part}: {problem}\nfound: {json.dumps(findings, indent=1)}\n{text}")
            wrong += 1
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tarn", required=True)
    parser.add_argument("--appserver", help="the server of examples/appserver")
    parser.add_argument("--show", action="store_true", help="print the reports and what is in them, and check nothing")
    parser.add_argument("names", nargs="*", help=f"of {' '.join(programs.SMALL + programs.SERVERS)}; or small")
    options = parser.parse_args()
    options.tarn = os.path.abspath(options.tarn)
    options.appserver = options.appserver and os.path.abspath(options.appserver)
    names = programs.SMALL if options.names == ["small"] else options.names or programs.SMALL + programs.SERVERS
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="tarn-findings-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        prices.simplify(prices.measure(options.tarn, cache))
        os.chmod(cache, 0o755)
        for name in names:
            begun = time.monotonic()
            try:
                with tempfile.TemporaryDirectory(prefix="tarn-findings-") as folder:
                    now = look_into(name, options, folder)
            except programs.Missing as what:
                print(f"{name}: skipped: {what} is not there")
                continue
            wrong += now
            print(f"{name}: {'as it should be' if now == 0 else f'{now} wrong'}, {time.monotonic() - begun:.1f} s",
                  flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
