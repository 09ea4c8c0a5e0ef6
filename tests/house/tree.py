"""The project's files as the house rules see them: found without git, which may be absent or refuse the folder."""

import pathlib
import re
import sys

CODE = {".c", ".h", ".cpp", ".hpp"}
TEXT = CODE | {".py", ".sh", ".cmake", ".md", ".txt", ".in", ".json"}
NAMED = {"dev", "run", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore"}
OUTSIDE = {".git", "build", "node_modules", "__pycache__", ".cache"}


class Finding:
    """One broken rule: where, what, and how to mend it."""

    def __init__(self, path, line, fault, cure):
        self.path, self.line, self.fault, self.cure = path, line, fault, cure

    def __str__(self):
        return f"{self.path}:{self.line}: {self.fault}: {self.cure}"


def files(root, kinds, folders=None):
    """Paths under root, relative to it and sorted, of the kinds asked for; whole tree when no folders are named."""
    root = pathlib.Path(root)
    paths = []
    for start in [root / folder for folder in folders] if folders else [root]:
        for path in start.rglob("*"):
            relative = path.relative_to(root)
            if OUTSIDE.intersection(relative.parts) or not path.is_file():
                continue
            if path.suffix in kinds or (kinds is TEXT and path.name in NAMED):
                paths.append(relative)
    return sorted(paths)


def read(root, path):
    return (pathlib.Path(root) / path).read_text(encoding="utf-8")


def without_block_comments(text):
    """The text with /* … */ blanked, its line numbers kept."""
    return re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.DOTALL)


def report(findings):
    """Prints the findings and gives the exit status."""
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} broken rule(s) of the house", file=sys.stderr)
    return 1 if findings else 0
