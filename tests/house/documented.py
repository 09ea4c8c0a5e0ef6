#!/usr/bin/env python3
"""The comments of the public interface: documented.py [ROOT] fails, naming file, line and cure, where a public name
says nothing, a number has no unit, or a class or free function does not say which threads may use it and what it throws
or returns on an error.

Clang reads the headers (docs/site/api.py). An overload shares the comment of the one directly above it. Members whose
meaning the C++ standard fixes, and those that the compiler could write, need no comment. Members may state the errors
of their class, and `noexcept` or `constexpr` states them for a function. The comment that opens a header may state
threads and errors for "each function" or "these functions".
"""

import pathlib
import re
import sys

import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
import api  # pylint: disable=wrong-import-position
import api_pages  # pylint: disable=wrong-import-position

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
# Sentences on threads, errors and cost name such words, too, and say nothing of a parameter.
BESIDE = re.compile(r"^(Threads|Errors|Cost|Source):|\bthreads? (may|at a time)\b|^Throws\b")
NUMBER = re.compile(r"^(const )?(unsigned|int|long|unsigned long|long long|unsigned long long|unsigned int|short|"
                    r"unsigned short|float|double)$")
THREADS = re.compile(r"\bthreads?\b|\bsignal handlers?\b", re.IGNORECASE)
ERRORS = re.compile(r"\b(throw(s|n|ing)?|exceptions?|errors?|errno|faults?|null|fails?|failure)\b", re.IGNORECASE)
THROWS_NOTHING = re.compile(r"\b(noexcept|constexpr|consteval)\b")
STATES_IT_FOR_ALL = re.compile(r"\b(each|every|these) functions?\b", re.IGNORECASE)


def is_number(type_):
    return NUMBER.match(type_.spelling) is not None


def has_unit(name, comment):
    sentences = re.split(r"(?<=[.:;]) +(?=[A-Z])", " ".join(comment.split()))
    return bool(UNIT_NAME.search(name) or any(UNIT.search(sentence) for sentence in sentences
                                              if not BESIDE.search(sentence)))


def findings_of(entity, previous, is_inherited=False):
    """The findings of a declaration and of its members. `previous` is the one before it in the same scope."""
    comment = entity.comment
    if not comment and previous is not None and previous.name == entity.name and entity.first <= previous.last + 1:
        comment = entity.comment = previous.comment
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
    previous = None
    for member in entity.members:
        yield from findings_of(member, previous)
        previous = member


def unstated(entity, opening):
    """The findings of a class or free function that leaves out threads or errors. Data and exceptions need neither."""
    functions = [entity] if entity.is_function else [member for member in entity.members if member.is_function]
    functions = [function for function in functions if not function.is_special() and function.name not in STANDARD]
    if not functions or any(member.name == "what" for member in entity.members):
        return
    stated = entity.comment + "\n" + (opening if STATES_IT_FOR_ALL.search(opening) else "")
    if not THREADS.search(stated):
        yield tree.Finding(entity.header, entity.line, f"{entity.qualified()} does not say which threads may use it",
                           'say it in its comment: "Threads: one at a time.", "Any thread may call it."')
    stated += "\n".join(member.comment for member in entity.members)
    if not ERRORS.search(stated) and not all(THROWS_NOTHING.search(function.text) for function in functions):
        yield tree.Finding(entity.header, entity.line,
                           f"{entity.qualified()} does not say what it throws or returns on an error",
                           'say it in its comment: "Throws std::bad_alloc.", "Returns null without memory."')


def check(root):
    findings = []
    if not (pathlib.Path(root) / "include/tarn").is_dir():
        return findings
    for header, entities in api.read(root).items():
        opening = api_pages.opening((pathlib.Path(root) / header).read_text(encoding="utf-8"))
        previous = None
        for entity in entities:
            findings += findings_of(entity, previous)
            findings += unstated(entity, opening)
            previous = entity
    return findings


if __name__ == "__main__":
    sys.exit(tree.report(check(sys.argv[1] if len(sys.argv) > 1 else ".")))
