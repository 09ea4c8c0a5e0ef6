#!/usr/bin/env python3
"""Prose of documents and comments, read by proselint and by our own style: lint.py [ROOT] prints what to mend.

./dev check runs it with the Python of the site's tools (docs/site/requirements.txt), which have proselint. The house's
parsers give it sentences alone: without code, tables, headings and links (prose.py), and of comments their text.
"""

import pathlib
import re
import sys

from proselint.checks import __register__ as PUBLISHED
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, types
from proselint.tools import LintFile

import comments
import prose
import tree

FOLDERS = ["include", "src", "profiler", "bench", "examples", "tests"]
# Typography is left out: the documents are plain text, with straight quotes.
PUBLISHED_CHECKS = dict.fromkeys(
    ["archaism", "cliches", "hedging", "industrial_language", "lexical_illusions", "malapropisms", "misc",
     "mixed_metaphors", "mondegreens", "needless_variants", "nonwords", "oxymorons", "redundancy", "skunked_terms",
     "spelling", "uncomparables", "weasel_words"], True)
# What the field, or everybody, says instead. The retired words of ARCHITECTURE.md's glossary come first.
PREFERRED = {
    "parcel": "remote-free batch",
    "parcels": "remote-free batches",
    "outbox": "outgoing batches",
    "set aside": "reclaim on the owner's behalf",
    "price list": "cost model",
    "forgotten events": "dropped events",
    "in order to": "to",
    "utilize": "use",
    "utilise": "use",
    "leverage": "use",
    "upon": "on",
    "whilst": "while",
    "amongst": "among",
    "thereof": "of it",
    "therein": "in it",
    "thereby": "so",
    "hereby": "by this",
    "herein": "here",
    "aforementioned": "this",
    "prior to": "before",
    "subsequent to": "after",
    "due to the fact that": "because",
    "in the event that": "if",
    "at this point in time": "now",
    "as of yet": "yet",
    "nobodys": "unowned",
}
NEEDLESS = ("obviously", "of course", "needless to say", "please note", "it should be noted", "basically",
            "essentially",
            "simply put", "and so on and so forth", "state of the art", "cutting-edge", "blazing")
STYLE = (
    Check(check_type=types.PreferredFormsSimple(items=PREFERRED), path="tarn.preferred",
          message="Use '{}' instead of '{}'."),
    Check(check_type=types.Existence(items=NEEDLESS), path="tarn.needless", message="Leave out '{}'."),
)
NO_PROSE = ("namespace", "- ")  # the end of a namespace; in tests/compile, what a compiler says
SEPARATOR = "\n\n§\n\n"  # between paragraphs, so that no check sees two as one


def register():
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(PUBLISHED + STYLE)


def findings_in(path, parts):
    """The findings in the texts of a file: pairs of a line number and a text, which has no line break."""
    file = LintFile(str(path), SEPARATOR.join(text for _, text in parts)) if parts else None
    if file is None or not file.content:
        return
    step = SEPARATOR.count("\n")
    for result in file.lint({"max_errors": 1000, "checks": {**PUBLISHED_CHECKS, "tarn": True}}):
        start, end = result.check_result.span
        index = file.content.count("\n", 0, start + 1) - 1
        line = parts[min(max(index, 0) // step, len(parts) - 1)][0]
        output = " ".join(file.content[start:end].split())
        yield tree.Finding(path, line, f'says "{output}"', result.check_result.message)


def sentence(text):
    """A comment without its code. One with columns is a drawing or a table, and has no sentences."""
    if re.search(r"\S {3,}\S", text):
        return ""
    return re.sub(r"`[^`]*`|\S*(->|::)\S*", "`code`", " ".join(text.split()))


def check(root):
    register()
    for path in tree.files(root, {".md"}):
        parts = [(first, " ".join(text.split())) for first, _, text in prose.prose(tree.read(root, path))]
        yield from findings_in(path, [part for part in parts if part[1]])
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        parts = [(line, sentence(text)) for line, text in comments.comments(tree.read(root, path))]
        yield from findings_in(path, [part for part in parts if part[1] and not part[1].startswith(NO_PROSE)])


if __name__ == "__main__":
    sys.exit(tree.report(list(check(sys.argv[1] if len(sys.argv) > 1 else "."))))
