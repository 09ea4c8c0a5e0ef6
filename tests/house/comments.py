"""Comments in C and C++ are sentences. One that opens as a fragment ("What …", "Whether …", "Of …") is none."""

import re

import tree

FOLDERS = ["include", "src", "profiler", "bench", "examples", "tests"]
# The parts of a file in which "//" begins no comment come first.
TOKEN = re.compile(
    r'R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'"
    r"|/\*.*?\*/"
    r"|(?P<line>//[^\n]*(?:\n[ \t]*//(?!/?<)[^\n]*)*)", re.DOTALL)
FRAGMENT = re.compile(r"(What|Whether|Of|Who|Whose|Whom|Which|Where|How|Why|The same|As|Not|But|By|From|So many)\b")
# A subordinate clause may open a sentence; a comma then separates it from the main clause.
FIRST_SENTENCE = re.compile(r"[^.:;?]*")


def comments(text):
    """Line and text of each comment; lines of one comment are joined."""
    for match in TOKEN.finditer(text):
        if match["line"] is None:
            continue
        first = text.count("\n", 0, match.start()) + 1
        yield first, " ".join(re.sub(r"^\s*//[/!]?<?\s?", "", line) for line in match["line"].split("\n")).strip()


def check(root):
    findings = []
    for path in tree.files(root, tree.CODE, FOLDERS):
        for line, text in comments(tree.read(root, path)):
            opening = FRAGMENT.match(text)
            if opening and "," not in FIRST_SENTENCE.match(text)[0]:
                findings.append(tree.Finding(path, line, f'a comment opens with "{opening[0]}"',
                                             "write a sentence with a subject and a verb"))
    return findings
