#!/usr/bin/env python3
"""Plain English, folder by folder: what is not plain yet may only become less.

    ratchet.py [ROOT]            fails, naming file, line and cure, where a folder has more than ratchet.json allows
    ratchet.py [ROOT] --write    writes what the folders have into ratchet.json
    ratchet.py [ROOT] --list RULE FOLDER    shows all findings of one rule in one folder
"""

import collections
import json
import pathlib
import sys

import comments
import names
import prose
import tree

RULES = {"prose": prose.check, "comments": comments.check, "names": names.check,
         "vague names": names.check_vague, "predicates": names.check_predicates}


def folder_of(path):
    """Two levels for the large folders, one for the others."""
    parts = path.parts
    depth = 2 if parts[0] in ("src", "profiler", "tests", "docs") and len(parts) > 2 else 1
    return "/".join(parts[:depth]) if len(parts) > 1 else "."


def by_folder(findings):
    grouped = collections.defaultdict(list)
    for finding in findings:
        grouped[folder_of(finding.path)].append(finding)
    return grouped


def main(arguments):
    root = arguments.pop(0) if arguments and not arguments[0].startswith("--") else "."
    record = pathlib.Path(root) / "tests/house/ratchet.json"
    if arguments[:1] == ["--list"]:
        for finding in by_folder(RULES[arguments[1]](root))[arguments[2]]:
            print(finding)
        return 0
    findings = {rule: by_folder(check(root)) for rule, check in RULES.items()}
    if arguments == ["--write"]:
        counts = {rule: {folder: len(group) for folder, group in sorted(groups.items())}
                  for rule, groups in findings.items()}
        record.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
        return 0
    allowed = json.loads(record.read_text(encoding="utf-8"))
    too_many = []
    for rule, groups in findings.items():
        for folder, group in sorted(groups.items()):
            limit = allowed[rule].get(folder, 0)
            if len(group) > limit:
                print(f"{folder}: {len(group)} findings of the rule \"{rule}\", {limit} allowed:")
                too_many += group
    return tree.report(too_many)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
