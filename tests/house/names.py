"""Names in C and C++: a name is a noun, a verb or a predicate; a preposition, a pronoun or a participle alone is none.

Clang parses each file by itself, without its includes: declarations need no more, and that is fast.
"""

import pathlib

from clang import cindex

import tree

FOLDERS = ["include", "src", "profiler", "bench", "demo", "lab", "examples", "tests"]
REFUSED = frozenset(
    "all any as at both by each else few found from here how in into is it its known made many more most much none of "
    "on one other over own rest same some that then there these thing this those to upto what when where whether who "
    "whom whose with".split())
SINGLE_FILE = 0x400  # CXTranslationUnit_SingleFileParse
INCOMPLETE = 0x2  # CXTranslationUnit_Incomplete
# Declarations of data, functions, types and their parts. Numbers, because the binding lacks names for newer kinds.
FIRST_DECLARATION, LAST_DECLARATION = 1, 39


LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/libclang*.so.1"))
if LIBRARIES:
    cindex.Config.set_library_file(str(LIBRARIES[-1]))


def declared(root, path, index):
    """Line and name of each declaration in a file."""
    unit = index.parse(str(pathlib.Path(root) / path), args=["-xc++", "-std=c++20"], options=SINGLE_FILE | INCOMPLETE)
    waiting = [unit.cursor]
    while waiting:
        for cursor in waiting.pop().get_children():
            if cursor.location.file is not None and cursor.location.file.name != unit.spelling:
                continue
            if FIRST_DECLARATION <= cursor._kind_id <= LAST_DECLARATION:  # pylint: disable=protected-access
                yield cursor.location.line, cursor.spelling.rstrip("_")
            waiting.append(cursor)


def check(root):
    index = cindex.Index.create()
    findings = []
    for path in tree.files(root, tree.CODE, [name for name in FOLDERS if (pathlib.Path(root) / name).is_dir()]):
        for line, name in sorted(set(declared(root, path, index))):
            if name in REFUSED:
                findings.append(tree.Finding(path, line, f'declares "{name}"', "name what it is or does"))
    return findings
