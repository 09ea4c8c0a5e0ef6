"""The public interface, read from Clang's syntax tree: what include/tarn declares, and what its comments say.

One translation unit includes all public headers. A declaration is public unless it is private, protected, or in a
namespace or a file called `detail`.
"""

import pathlib
import re
import sys

from clang import cindex

Kind = cindex.CursorKind
LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/libclang*.so.1"))
if LIBRARIES and not cindex.Config.loaded:
    cindex.Config.set_library_file(str(LIBRARIES[-1]))



def numbers(*kinds):
    """The binding raises for kinds that it does not name, so kinds are compared by number."""
    return frozenset(kind.value for kind in kinds)


TYPES = numbers(Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.UNION_DECL, Kind.CLASS_TEMPLATE,
                Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION)
PARTIAL = Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION.value
FUNCTIONS = numbers(Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.CONVERSION_FUNCTION,
                    Kind.FUNCTION_TEMPLATE)
ALIASES = numbers(Kind.TYPEDEF_DECL, Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL)
CONCEPTS = frozenset({604})  # CXCursor_ConceptDecl, which the binding of version 16 does not name
FIELDS = numbers(Kind.FIELD_DECL, Kind.VAR_DECL)
ENUMERATIONS = numbers(Kind.ENUM_DECL)
CONSTANTS = numbers(Kind.ENUM_CONSTANT_DECL)
PARAMETERS = numbers(Kind.PARM_DECL)
SCOPES = numbers(Kind.NAMESPACE, Kind.LINKAGE_SPEC, Kind.UNEXPOSED_DECL)
DECLARATIONS = TYPES | FUNCTIONS | ALIASES | CONCEPTS | FIELDS | ENUMERATIONS | CONSTANTS
HIDDEN = {cindex.AccessSpecifier.PRIVATE, cindex.AccessSpecifier.PROTECTED}


def kind_of(cursor):
    return cursor._kind_id  # pylint: disable=protected-access


class Entity:
    """A public declaration: its header, line, name, text without its body, comment, parameters and members."""

    def __init__(self, cursor, header, lines, parent):
        self.header, self.parent = header, parent
        self.line = cursor.location.line
        self.name = cursor.spelling
        self.is_type = kind_of(cursor) in TYPES
        self.is_function = kind_of(cursor) in FUNCTIONS
        self.is_enumeration = kind_of(cursor) in ENUMERATIONS
        self.is_alias = kind_of(cursor) in ALIASES
        self.is_field = kind_of(cursor) in FIELDS
        self.comment = plain(cursor.raw_comment)
        self.first = cursor.extent.start.line
        self.last = cursor.extent.end.line
        self.text = declaration(cursor, lines)
        self.type = cursor.type.get_canonical() if self.is_field else None
        self.parameters = [(child.spelling, child.type.get_canonical()) for child in cursor.get_children()
                           if kind_of(child) in PARAMETERS] if self.is_function else []
        self.members = []

    def qualified(self):
        return f"{self.parent.qualified()}::{self.name}" if self.parent else self.name

    def is_special(self):
        """True of members that a reader expects: what the compiler could write itself, and operators of access."""
        text = self.text
        constructor = self.parent is not None and self.name.split("<")[0].lstrip("~") == self.parent.name.split("<")[0]
        copies = constructor and len(self.parameters) == 1 and re.search(rf"\b{re.escape(self.parent.name)}\b[\w<> ]*&",
                                                                  text.partition("(")[2])
        empty = constructor and not self.parameters and "(" in text
        return (re.search(r"=\s*(default|delete)$", text) is not None or self.name.startswith(("operator", "~"))
                or bool(copies) or empty)


def plain(comment):
    """The text of a comment without its marks; lines are kept."""
    if not comment:
        return ""
    lines = []
    for line in comment.strip().splitlines():
        line = re.sub(r"^\s*(///?<?|//!<?|/\*[*!]?<?|\*(?!/))", "", line)
        lines.append(re.sub(r"\s*\*/\s*$", "", line).removeprefix(" ").rstrip())
    return "\n".join(lines).strip()


def declaration(cursor, lines):
    """The source of a declaration up to its body, on as many lines as it has, without its indentation."""
    start, end = cursor.extent.start, cursor.extent.end
    part = lines[start.line - 1:end.line]
    if not part:
        return cursor.spelling
    part = [*part]
    part[-1] = part[-1][:end.column - 1] if len(part) > 1 or start.line == end.line else part[-1]
    indentation = start.column - 1
    part[0] = part[0][indentation:]
    part[1:] = [line[min(indentation, len(line) - len(line.lstrip())):] for line in part[1:]]
    text = without_comments("\n".join(part))
    keep_body = kind_of(cursor) in FIELDS or kind_of(cursor) in ALIASES or kind_of(cursor) in CONCEPTS
    return (text if keep_body else without_body(text)).strip().rstrip(";").strip()


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"[ \t]*//[^\n]*", "", text)


def without_body(text):
    """Cuts at the brace that opens a body, or at the colon of an initialiser list; braces of defaults stay."""
    depth = 0
    for position, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif depth == 0 and letter == "{":
            return text[:position]
        elif depth == 0 and letter == ":" and text[position - 1] == " " and ")" in text[:position] and \
                text[position:position + 2] != "::":
            return text[:position]
    return text


def headers(root):
    folder = pathlib.Path(root) / "include/tarn"
    return sorted(path.relative_to(root) for path in folder.rglob("*.h*") if "detail" not in path.parts)


def is_documented(cursor):
    if kind_of(cursor) in SCOPES:
        return cursor.spelling != "detail"
    return kind_of(cursor) in DECLARATIONS


def read(root, arguments=(), names=None):
    """All public declarations of all headers: a list of entities for each header, in the order of the file. A header
    for users of a library that is not installed is left out."""
    root = pathlib.Path(root).resolve()
    names = headers(root) if names is None else names
    source = "".join(f"#include <{name.relative_to('include')}>\n" for name in names)
    unit = cindex.Index.create().parse(
        "public.cpp", unsaved_files=[("public.cpp", source)],
        args=["-xc++", "-std=c++20", f"-I{root / 'include'}", "-fparse-all-comments", "-DTARN_CHECKS=1",
              "-DTARN_SMALL=0", "-DTARN_GUARD=0",
              *arguments])
    lacking = {pathlib.Path(str(note.location.file)) for note in unit.diagnostics
               if re.search(r"'(?!tarn/).+' file not found", note.spelling)}
    present = [name for name in names if root / name not in lacking]
    if lacking and len(present) < len(names):
        for name in lacking:
            print(f"{name}: left out, as it includes a library that is not installed", file=sys.stderr)
        return read(root, arguments, present)
    errors = [str(note) for note in unit.diagnostics if note.severity >= cindex.Diagnostic.Error]
    if errors:
        raise SystemExit("the public headers do not compile:\n" + "\n".join(errors))
    texts = {str(root / name): (name, (root / name).read_text(encoding="utf-8").splitlines()) for name in names}
    entities = {name: [] for name in names}

    def visit(cursor, parent):
        for child in cursor.get_children():
            file = child.location.file
            if file is None or str(file) not in texts or not is_documented(child) or child.access_specifier in HIDDEN:
                continue
            if kind_of(child) in SCOPES:
                visit(child, parent)
                continue
            if "<" in child.spelling and kind_of(child) in TYPES or kind_of(child) == PARTIAL:
                continue  # a specialisation says nothing that its template does not
            name, lines = texts[str(file)]
            entity = Entity(child, name, lines, parent)
            if kind_of(child) in TYPES and not child.is_definition():
                continue
            if entity.is_alias and parent is None and any(entity_.name == entity.name for entity_ in entities[name]):
                continue  # in C, the second name of a struct
            if parent is not None:
                parent.members.append(entity)
            elif kind_of(child.semantic_parent) not in TYPES:
                entities[name].append(entity)
            if kind_of(child) in TYPES or kind_of(child) in ENUMERATIONS:
                visit(child, entity)

    visit(unit.cursor, None)
    return entities
