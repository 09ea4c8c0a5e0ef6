"""Comments in C, C++ and TypeScript are sentences. One that opens as a fragment ("What …", "Whether …", "Of …")
is none. A name in backticks is one that some code has: a name that was changed stays behind in comments
otherwise.
"""

import pathlib
import re

import names
import tree

SCRIPT = {".ts", ".tsx"}
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
BACKTICKED = re.compile(r"`~?(?:\w+::)*([A-Za-z_]\w+)(?:\(\))?`")
# Names of no code of ours: programs, an instruction, a variable of the environment, patterns of names.
FOREIGN = frozenset(("addr2line", "env", "int3", "sh", "call_N", "next_NAME", "NO_COLOR"))


def code_names(text):
    return {token["name"] for token in names.TOKEN.finditer(text) if token["name"]}


def comments(text):
    """Line and text of each comment; lines of one comment are joined."""
    for match in TOKEN.finditer(text):
        if match["line"] is None:
            continue
        first = text.count("\n", 0, match.start()) + 1
        yield first, " ".join(re.sub(r"^\s*//[/!]?<?\s?", "", line) for line in match["line"].split("\n")).strip()


def script_comments(text):
    """Line and text of each comment of TypeScript that has lines of its own."""
    for match in re.finditer(r"^[ \t]*//[^\n]*(?:\n[ \t]*//[^\n]*)*", text, re.MULTILINE):
        lines = match[0].split("\n")
        yield text.count("\n", 0, match.start()) + 1, " ".join(re.sub(r"^\s*//\s?", "", line) for line in lines)


def openings(path, line, text):
    opening = FRAGMENT.match(text)
    if opening and "," not in FIRST_SENTENCE.match(text)[0]:
        yield tree.Finding(path, line, f'a comment opens with "{opening[0]}"',
                           "write a sentence with a subject and a verb")


def check(root):
    findings = []
    texts = {path: tree.read(root, path) for path in tree.files(root, tree.CODE, FOLDERS)}
    in_code = FOREIGN.union(*map(code_names, texts.values()))
    for path, code in texts.items():
        for line, text in comments(code):
            for name in BACKTICKED.findall(text):
                if name not in in_code:
                    findings.append(tree.Finding(path, line, f"a comment names `{name}`, which no code has",
                                                 "write the name that it has now"))
            findings.extend(openings(path, line, text))
    for path in tree.files(root, SCRIPT, ["web"]) if (pathlib.Path(root) / "web").is_dir() else []:
        for line, text in script_comments((pathlib.Path(root) / path).read_text(encoding="utf-8")):
            findings.extend(openings(path, line, text))
    return findings
