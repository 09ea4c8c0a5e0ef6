#!/usr/bin/env python3
"""README's tables, each made from the newest results of its kind.

    figures.py            writes them into README.md
    figures.py --check    fails where README.md has others
"""

import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = "bench", "lab"  # each with its figures.py


def table(kind):
    spec = importlib.util.spec_from_file_location(f"{kind}_figures", ROOT / kind / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.table()


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    readme = ROOT / "README.md"
    made = text = readme.read_text(encoding="utf-8")
    for kind in KINDS:
        begin, end = f"<!-- by ./dev figures: {kind} -->", f"<!-- end of {kind} -->"
        before, found, rest = made.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            sys.exit(f"README.md has no {begin} … {end}")
        made = f"{before}{begin}\n{table(kind)}\n{end}{after}"
    if sys.argv[1:]:
        if made != text:
            sys.exit("README.md does not show the newest results: ./dev figures")
        return
    readme.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
