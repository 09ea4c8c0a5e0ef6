#!/usr/bin/env python3
"""The comments of the public interface: documented.py [ROOT] fails, naming file, line and cure, where a public name
says nothing, or a number has no unit.

Clang reads the headers (docs/site/api.py). An overload shares the comment of the one directly above it. Members whose
meaning the C++ standard fixes, and those that the compiler could write, need no comment.
"""

import pathlib
import re
import sys

import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
import api  # pylint: disable=wrong-import-position

# Members of the standard's own requirements: containers, allocators, exceptions, Lockable.
STANDARD = frozenset(
    "value_type size_type difference_type const_iterator iterator reference propagate_on_container_swap "
    "propagate_on_container_move_assignment propagate_on_container_copy_assignment is_always_equal "
    "select_on_container_copy_construction what lock try_lock unlock begin end data size empty".split())
# A number is a quantity of one of these; the name or the comment says of which.
UNIT = re.compile(
    r"\b([KMG]iB|kilobytes?|(milli|micro|nano)?seconds?|[mnu]s|times|numbers?|count(s|ed)?|how (many|often)|most"
    r"|per cent|percent|%|powers? of two|mode|umask|flags|index|position|offset|descriptors?|level|signal|status|errno"
    r"|port|identifier|"
    r"(bytes?|bits?|blocks?|objects?|entries|entry|threads?|lines?|chunks?|slabs?|calls?|workers?|processes|process"
    r"|heaps?|elements?|characters?|letters|versions?|snapshots?|files?|operations?|pages?|frees?|units?|tokens?|words?"
    r"|frames?"
    r"|violations?|noises?|keys?|questions?|loads?|hits?|restarts?|attempts?|retries))\b", re.IGNORECASE)
UNIT_NAME = re.compile(UNIT.pattern.replace(r"\b", r"(?:\b|(?<=_)|(?=_))"), re.IGNORECASE)
NUMBER = re.compile(r"^(const )?(unsigned|int|long|unsigned long|long long|unsigned long long|unsigned int|short|"
                    r"unsigned short|float|double)$")


def is_number(type_):
    return NUMBER.match(type_.spelling) is not None


def has_unit(name, comment):
    return bool(UNIT_NAME.search(name) or UNIT.search(comment))


def findings_of(entity, above, is_inherited=False):
    """The findings of a declaration and of its members. `above` is the one before it in the same scope."""
    comment = entity.comment
    if not comment and above is not None and above.name == entity.name and entity.first <= above.last + 1:
        comment = entity.comment = above.comment
    if not comment and entity.name not in STANDARD and not entity.is_special() and not is_inherited:
        yield tree.Finding(entity.header, entity.line, f"{entity.qualified()} has no comment",
                           "say what it does, its units, which threads may use it, its errors and its cost")
    outer = entity.parent.comment if entity.parent else ""
    if entity.is_field and is_number(entity.type) and not has_unit(entity.name, comment + " " + outer):
        yield tree.Finding(entity.header, entity.line, f"{entity.qualified()} is a number without a unit",
                           "name its unit in the comment: bytes, milliseconds, blocks, …")
    if entity.is_function:
        for name, type_ in entity.parameters:
            if name and is_number(type_) and not has_unit(name, comment + " " + outer):
                yield tree.Finding(entity.header, entity.line,
                                   f"{entity.qualified()}: {name} is a number without a unit",
                                   "name its unit in the comment: bytes, milliseconds, blocks, …")
    above = None
    for member in entity.members:
        yield from findings_of(member, above)
        above = member


def check(root):
    findings = []
    if not (pathlib.Path(root) / "include/tarn").is_dir():
        return findings
    for entities in api.read(root).values():
        above = None
        for entity in entities:
            findings += findings_of(entity, above)
            above = entity
    return findings


if __name__ == "__main__":
    sys.exit(tree.report(check(sys.argv[1] if len(sys.argv) > 1 else ".")))
