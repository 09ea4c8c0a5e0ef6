#!/usr/bin/env python3
"""The prose of the documents: prose.py [ROOT] fails, naming file, line and cure, where a document is hard to read.

A Markdown parser tells prose from code, tables and headings. The limits are those of the models in CONTRIBUTING.md:
a sentence of at most 40 words, a line of at most 100 columns, a paragraph of at most six lines, and no retired word.
"""

import re
import sys

import markdown_it

import tree

LONGEST_SENTENCE = 40  # words
LONGEST_LINE = 100  # columns
LONGEST_PARAGRAPH = 6  # lines

# Retired words, and what the field says. A row of ARCHITECTURE.md's glossary for each.
RETIRED = {
    r"parcels?": "remote-free batch",
    r"outbox(es)?": "outgoing batches",
    r"set[- ]aside|sets? .{1,20} aside": "reclaim on the owner's behalf",
    r"ms/s": "% of the processor's time",
    r"noises?": "violations",
    r"forgotten events?": "dropped events",
    r"excerpts of": "trace excerpts of",
    r"price list|prices": "cost model, or costs",
    r"the house": "the layering rules",
}
# The end of a sentence: a full stop, question or exclamation mark before white space and the start of another sentence.
END = re.compile(r"(?<=[.?!])[\"')\]]*\s+(?=[A-Z0-9`*\[(\"'])")
# Inline code and the target of a link are one word each.
WORD = re.compile(r"[^\s]+")


def prose(text):
    """Each paragraph of a document: its first line's number, its source lines, and its text without markup."""
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    depth_of_table = 0
    for index, token in enumerate(tokens):
        depth_of_table += (token.type == "table_open") - (token.type == "table_close")
        if token.type != "inline" or depth_of_table or tokens[index - 1].type != "paragraph_open":
            continue
        plain = "".join(
            "`code`" if child.type == "code_inline" else " " if child.type in ("softbreak", "hardbreak")
            else child.content if child.type == "text" else ""
            for child in token.children)
        first, last = token.map
        yield first + 1, text.splitlines()[first:last], plain


def check_document(root, path):
    text = tree.read(root, path)
    for first, lines, plain in prose(text):
        if len(lines) > LONGEST_PARAGRAPH:
            yield tree.Finding(path, first, f"a paragraph of {len(lines)} lines, more than {LONGEST_PARAGRAPH}",
                               "divide it, or make it a list or a table")
        for offset, line in enumerate(lines):
            # A single link may be as long as its target is.
            if len(line) > LONGEST_LINE and " " in line.strip().lstrip("-*0123456789. "):
                yield tree.Finding(path, first + offset, f"a line of {len(line)} columns, more than {LONGEST_LINE}",
                                   "wrap it")
        for sentence in END.split(plain):
            count = len(WORD.findall(sentence))
            if count > LONGEST_SENTENCE:
                yield tree.Finding(path, first, f"a sentence of {count} words, more than {LONGEST_SENTENCE}: "
                                   f"\"{' '.join(sentence.split()[:6])} …\"", "make it two")
        for pattern, cure in RETIRED.items():
            match = re.search(rf"(?<![\w/-])({pattern})(?![\w-])", plain)
            if match:
                yield tree.Finding(path, first, f"says \"{match[0]}\"", f"the field's word is: {cure}")


def check(root):
    findings = []
    for path in tree.files(root, {".md"}):
        findings += check_document(root, path)
    return findings


if __name__ == "__main__":
    sys.exit(tree.report(check(sys.argv[1] if len(sys.argv) > 1 else ".")))
