"""Names in C, C++, Python and JSON: a noun, a verb or a predicate is a name; a preposition, a pronoun or a participle
is none.

C and C++ are read as tokens. A parser sees no declaration whose type it does not know, and resolving the includes of
all files takes minutes. tests/web/names_test.mjs holds TypeScript to the same list.
"""

import ast
import pathlib
import re

import tree

FOLDERS = ["include", "src", "profiler", "bench", "examples", "tests"]
PYTHON_FOLDERS = [*FOLDERS, "docs", "web"]
REFUSED = frozenset(
    "all any as at both by each else few found from here how in into is it its known made many more most much none of "
    "on one other over own rest same some that then there these thing this those to upto what when where whether who "
    "whom whose with".split())
KEYWORDS = frozenset(("else", "this"))
# These words tell neither what a value holds (`held_locks`, `used_bytes`) nor what it is (`slot`, `text`).
VAGUE = frozenset(
    "above again alone apart around aside asked back below beside between beyond chosen counted done early ended fresh "
    "given gone got heard held inside kept late least mine near owned place said seen shown taken together told used "
    "wanted which words".split())
# A limit is `max_` or `min_`. `most_frequent` is no limit.
LIMIT = re.compile(r"\b(?:most|least)_(?!frequent)\w+")
PYTHON_REFUSED = REFUSED - {"other"} | {"said"}  # `other` is Python's own name for the right operand
# Programs call these functions by names that are the interface.
INTERFACE = frozenset((f"include/tarn/{name}.hpp", "with")
                      for name in ("async_shared", "reloadable", "reloadable_map", "shared", "with"))
# The report has these words, and the enumerators that stand for them have the same.
REPORT_WORDS = frozenset((("profiler/findings/heap/findings.hpp", "kept"),))
# Comments, texts, directives with words of their own, names, numbers, and the rest.
TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
    | \#[ ]*(?:include|error|warning|pragma)[^\n]* | (?P<name>[A-Za-z_]\w*) | \.?\d(?:[\w.]|'\w|[eEpP][+-])*
    | (?P<member>::|->|\.(?!\.)) | (?P<space>\s+) | (?P<sign>.)""", re.DOTALL | re.VERBOSE)
# A member of JSON: in a document each name in a table; in code the first text in braces that holds another value, an
# index, or a name in a text of JSON.
MEMBER_DOCUMENTS = ("docs/reference/report-json.md", "docs/reference/page-data.md", "docs/guide/lab.md")
MEMBER_FOLDERS = ("include", "src", "profiler", "bench")
MEMBER_REFUSED = REFUSED | {"not"}
FOREIGN_MEMBERS = frozenset(f"profiler/export/{name}.cpp" for name in ("firefox", "perfetto", "speedscope"))
OVERRIDES = re.compile(r"\([^;{]*\boverride\b")


def refused_in(path, text, refused):
    """Yields each name of `refused` in a file, and its line. What follows `.`, `->` or `::` is declared elsewhere."""
    line, is_member = 1, False
    for token in TOKEN.finditer(text):
        name = token["name"]
        if name and not is_member and name.rstrip("_") in refused:
            after = text[token.end():]
            declared = (path.as_posix(), name)
            is_interface = (declared in INTERFACE and after.startswith("(")) or (
                declared in REPORT_WORDS and after.startswith(","))
            if not is_interface and not OVERRIDES.match(after):
                yield line, name.rstrip("_")
        line += token[0].count("\n")
        if name or token["member"] or token["sign"]:
            is_member = bool(token["member"])


def members(text):
    """The members of JSON that a file in C++ writes, each with its line."""
    line, before = 1, ""
    for token in TOKEN.finditer(text):
        part = token[0]
        if part.startswith('"'):
            for name in re.findall(r'\\"(\w+)\\":', part):
                yield line, name
            after = text[token.end():].lstrip()[:1]
            if (before == "{" and after == ",") or (before == "[" and after == "]"):
                yield line, part.strip('"')
        line += part.count("\n")
        if not token["space"] and not part.startswith("//"):
            before = part


def check_members(root):
    for path in tree.files(root, tree.CODE, [name for name in MEMBER_FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        if path.as_posix() in FOREIGN_MEMBERS:
            continue
        for line, name in members(tree.read(root, path)):
            if name in MEMBER_REFUSED:
                yield tree.Finding(path, line, f'writes the JSON member "{name}"', "name what it holds")
    for document in MEMBER_DOCUMENTS:
        path = pathlib.Path(root) / document
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else [], 1):
            names = re.findall(r"`([^`]*)`", text) if text.startswith("|") else re.findall(r'"(\w+)"(?!\s*\|)', text)
            for name in sorted(MEMBER_REFUSED.intersection(re.split(r"\W+", " ".join(names)))):
                yield tree.Finding(document, number, f'documents the JSON member "{name}"', "name what it holds")


def bound(node):
    """The names that a node of Python binds."""
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        return [node.id if isinstance(node, ast.Name) else node.attr]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    return [node.arg] if isinstance(node, ast.arg) else []


def check_python(root):
    for path in tree.files(root, {".py"}, [name for name in PYTHON_FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        parsed = ast.parse((pathlib.Path(root) / path).read_text(encoding="utf-8"))
        refused = {(node.lineno, name) for node in ast.walk(parsed) for name in bound(node)
                   if name.strip("_") in PYTHON_REFUSED | VAGUE}
        for line, name in sorted(refused):
            yield tree.Finding(path, line, f'binds "{name}"', "name what it is or does")


def check(root):
    findings = [*check_python(root), *check_members(root)]
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        text = tree.read(root, path)
        for number, part in enumerate(text.split("\n"), 1):
            for name in set(LIMIT.findall(part)):
                findings.append(tree.Finding(path, number, f'has the name "{name}"', "write max_ or min_"))
        for line, name in sorted(set(refused_in(path, text, REFUSED - KEYWORDS))):
            findings.append(tree.Finding(path, line, f'has the name "{name}"', "name what it is or does"))
    return findings


def check_vague(root):
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        for line, name in sorted(set(refused_in(path, tree.read(root, path), VAGUE))):
            yield tree.Finding(path, line, f'has the name "{name}"', "name what it holds or is: held_locks, slot")


# A variable, parameter or member of type bool. Functions are verbs as well.
BOOL = re.compile(r"(?<![\w.])bool ((?!operator\b)[a-z]\w*(?: = [^,;()]+)?(?:, [a-z]\w*(?: = [^,;()]+)?)*)"
                  r"(?=\s*[;,={)])")
PREDICATE = re.compile(r"(?:is|are|was|were|has|have|had|can|could|may|must|should|will|would|does|did|[a-z]+s)_\w+")


def check_predicates(root):
    """A truth value is named by a predicate: is_open, has_room, keeps_order."""
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        for number, text in enumerate(tree.read(root, path).split("\n"), 1):
            for match in BOOL.finditer(text.split("//")[0]):
                for name in re.findall(r"(?:^|, )([a-z]\w*)", match[1]):
                    if name != "operator" and not PREDICATE.fullmatch(name):
                        yield tree.Finding(path, number, f'names a truth value "{name}"', "write a predicate: is_open")
