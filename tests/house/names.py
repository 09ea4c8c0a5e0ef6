"""Names in C, C++ and Python: a name is a noun, a verb or a predicate; a preposition, a pronoun or a participle is none.

C and C++ are read as tokens. A parser sees no declaration whose type it does not know, and resolving the includes of
all files takes minutes.
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
PYTHON_REFUSED = REFUSED - {"other"}  # Python's own name for the right operand
# Programs call these functions by names that are the interface.
INTERFACE = frozenset((f"include/tarn/{name}.hpp", "with") for name in ("async_shared", "reloadable", "reloadable_map", "shared", "with"))
# Comments, texts, directives with words of their own, names, numbers, and the rest.
TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
    | \#[ ]*(?:include|error|warning|pragma)[^\n]* | (?P<name>[A-Za-z_]\w*) | \.?\d(?:[\w.]|'\w|[eEpP][+-])*
    | (?P<member>::|->|\.(?!\.)) | (?P<space>\s+) | (?P<sign>.)""", re.DOTALL | re.VERBOSE)
OVERRIDES = re.compile(r"\([^;{]*\boverride\b")


def refused_in(path, text):
    """The refused names in a file, each with its line. What follows `.`, `->` or `::` is declared elsewhere."""
    line, is_member = 1, False
    for token in TOKEN.finditer(text):
        name = token["name"]
        if name and not is_member and name.rstrip("_") in REFUSED - KEYWORDS:
            after = text[token.end():]
            is_interface = (path.as_posix(), name) in INTERFACE and after.startswith("(")
            if not is_interface and not OVERRIDES.match(after):
                yield line, name.rstrip("_")
        line += token[0].count("\n")
        if name or token["member"] or token["sign"]:
            is_member = bool(token["member"])


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
                   if name.strip("_") in PYTHON_REFUSED}
        for line, name in sorted(refused):
            yield tree.Finding(path, line, f'binds "{name}"', "name what it is or does")


def check(root):
    findings = list(check_python(root))
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        for line, name in sorted(set(refused_in(path, tree.read(root, path)))):
            findings.append(tree.Finding(path, line, f'has the name "{name}"', "name what it is or does"))
    return findings
