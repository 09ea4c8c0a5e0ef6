#!/usr/bin/env python3
"""Looks for the functions that README.md says the models stand for: a name that is gone is a model that is old."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENTRY = re.compile(r"`(src/[\w/]+\.[ch]pp)`((?:,? `[\w:]+`)+)")


def main():
    problems, reference_count = [], 0
    for file, names in ENTRY.findall((HERE / "README.md").read_text(encoding="utf-8")):
        path = ROOT / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for name in re.findall(r"[\w:]+", names):
            reference_count += 1
            # In a header a member stands without the name of its class.
            short = name.rpartition("::")[2]
            if not re.search(rf"\b{name if path.suffix == '.cpp' else short}\b[^;]*\{{", text):
                problems.append(f"tests/models/README.md: {file} has no {name}: read the model again, then correct it")
    print("\n".join(problems))
    return 1 if problems or reference_count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
