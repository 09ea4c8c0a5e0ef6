#!/usr/bin/env python3
"""The documents' tables of figures, each generated from the newest results of its kind.

    figures.py            writes them into the documents
    figures.py --check    fails where a document has others
"""

import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = [  # document, name of the table, folder whose figures.py makes it, its function
    ("README.md", "bench-summary", "bench", "short_table"),
    ("docs/reference/figures.md", "bench", "bench", "table"),
    ("docs/reference/figures.md", "lab", "bench/lab", "table"),
]


def generate(folder, function):
    spec = importlib.util.spec_from_file_location(f"{pathlib.Path(folder).name}_figures", ROOT / folder / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)()


def replace_table(document, text, name, table):
    begin, end = f"<!-- by ./dev figures: {name} -->", f"<!-- end of {name} -->"
    before, block, tail = text.partition(begin)
    _, end_mark, after = tail.partition(end)
    if not block or not end_mark:
        sys.exit(f"{document} has no {begin} … {end}")
    return f"{before}{begin}\n{table}\n{end}{after}"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    texts = {}
    for document, name, folder, function in TABLES:
        text = texts.get(document) or (ROOT / document).read_text(encoding="utf-8")
        texts[document] = replace_table(document, text, name, generate(folder, function))
    for document, text in texts.items():
        if not sys.argv[1:]:
            (ROOT / document).write_text(text, encoding="utf-8")
        elif text != (ROOT / document).read_text(encoding="utf-8"):
            sys.exit(f"{document} does not show the newest results: ./dev figures")


if __name__ == "__main__":
    main()
