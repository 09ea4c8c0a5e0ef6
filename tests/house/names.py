"""Names in C, C++ and Python: a name is a noun, a verb or a predicate; a preposition, a pronoun or a participle is none.

Clang parses each file by itself, without its includes: declarations need no more, and that is fast.
"""

import ast
import pathlib

from clang import cindex

import tree

FOLDERS = ["include", "src", "profiler", "bench", "demo", "lab", "examples", "tests"]
PYTHON_FOLDERS = [*FOLDERS, "docs", "web"]
REFUSED = frozenset(
    "all any as at both by each else few found from here how in into is it its known made many more most much none of "
    "on one other over own rest same some that then there these thing this those to upto what when where whether who "
    "whom whose with".split())
SINGLE_FILE = 0x400  # CXTranslationUnit_SingleFileParse
INCOMPLETE = 0x2  # CXTranslationUnit_Incomplete
# Declarations of data, functions, types and their parts. Numbers, because the binding lacks names for newer kinds.
FIRST_DECLARATION, LAST_DECLARATION = 1, 39
METHOD = 21
DATA = frozenset((6, 7, 9, 10))  # members, enumerators, variables and parameters
PYTHON_REFUSED = REFUSED - {"other"}  # Python's own name for the right operand
# Programs call these functions by names that are the interface.
INTERFACE = frozenset((("include/tarn/with.hpp", "with"),))

LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/libclang*.so.1"))
if LIBRARIES:
    cindex.Config.set_library_file(str(LIBRARIES[-1]))


def declared(root, path, index):
    """The declarations in a file."""
    unit = index.parse(str(pathlib.Path(root) / path), args=["-xc++", "-std=c++20"], options=SINGLE_FILE | INCOMPLETE)
    waiting = [unit.cursor]
    while waiting:
        for cursor in waiting.pop().get_children():
            if cursor.location.file is not None and cursor.location.file.name != unit.spelling:
                continue
            if FIRST_DECLARATION <= cursor._kind_id <= LAST_DECLARATION:  # pylint: disable=protected-access
                yield cursor
            waiting.append(cursor)


def is_given(path, cursor):
    """Whether the name is not free to choose: a base class or the interface gives it."""
    kind = cursor._kind_id  # pylint: disable=protected-access
    if kind == METHOD:
        return any(token.spelling == "override" for token in cursor.get_tokens())
    return kind not in DATA and (path.as_posix(), cursor.spelling) in INTERFACE


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
    index = cindex.Index.create()
    findings = list(check_python(root))
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        refused = {(cursor.location.line, cursor.spelling.rstrip("_")) for cursor in declared(root, path, index)
                   if cursor.spelling.rstrip("_") in REFUSED and not is_given(path, cursor)}
        for line, name in sorted(refused):
            findings.append(tree.Finding(path, line, f'declares "{name}"', "name what it is or does"))
    return findings
