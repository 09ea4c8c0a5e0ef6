#!/usr/bin/env python3
"""The levels of the design, kept: levels.py [ROOT] fails, naming file, line and cure, when a file includes upwards.

    include/tarn/detail  <  include/tarn                          what is promised, and its inline fast paths
    base < platform < pages < heap < thread < guard < pools < front < override    the engine, under src/
    base < platform < io                                          beside it: knows nothing of heaps, and they not of it
    base < platform < thread < sync                               the same: locking categories
    tools                                                         uses all of it but override
"""

import pathlib
import re
import sys

import tree

LEVELS = ["base", "platform", "pages", "heap", "thread", "guard", "pools", "front", "override"]
# A component that stands beside the others: the levels it may use. No level includes from it.
BESIDE = {"io": ["base", "platform"], "sync": ["base", "platform", "thread"]}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<rest>.*)$', re.MULTILINE)
NAME = re.compile(r'(?P<open>[<"])(?P<name>[^>"]+)[>"]')


def level_of(path):
    """detail, public, tools, a level of the engine; None for what stands in no level."""
    parts = path.parts
    if parts[:2] == ("include", "tarn"):
        return "detail" if parts[2] == "detail" else "public"
    if parts[0] == "src" and len(parts) > 2 and (parts[1] in LEVELS or parts[1] in BESIDE):
        return parts[1]
    return "tools" if parts[0] == "tools" else None


def target_of(root, path, bracket, name):
    """The project's file that an include names; None for the system's, False for a name that leads nowhere."""
    if bracket == "<":
        candidate = pathlib.Path("include") / name
        if name.startswith("tarn/"):
            return candidate if (root / candidate).is_file() else False
        return None
    if ".." in pathlib.PurePath(name).parts:
        return False
    roots = ["src", "tools"] if path.parts[0] == "tools" else ["src"]
    for start in roots:
        candidate = pathlib.Path(start) / name
        if (root / candidate).is_file():
            return candidate
    return False


def forbidden(source, target):
    """Why a file of level `source` may not include one of level `target`, with the cure; None when it may."""
    if target == "override" and source != "override":
        return "nothing links the drop-in", "move what you need to front/ or lower"
    if source == "detail" and target != "detail":
        return "detail/ holds inline fast paths only", "move the declaration into include/tarn/detail/"
    if source == "public" and target not in ("public", "detail"):
        return "a public header must stand alone when installed", "declare what it needs under include/tarn/detail/"
    engine = [*LEVELS, *BESIDE]
    if source in engine and target == "tools":
        return "the engine never depends on the tools", "move what both need into src/"
    if source != target and (target in BESIDE and source in engine or
                             source in BESIDE and target in LEVELS and target not in BESIDE[source]):
        return (f"{source}/ and {target}/ stand beside each other",
                "move what both need to base/ or platform/, or let the caller of both pass it in")
    if source in LEVELS and target in LEVELS and LEVELS.index(target) > LEVELS.index(source):
        return (f"{target}/ is above {source}/",
                f"move what both need to {source}/ or lower, or let {target}/ pass it in")
    return None


def includes(root, path):
    """(line, bracket, name) of every #include of a file; the name is None where a macro stands for it."""
    text = tree.without_block_comments(tree.read(root, path))
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        name = NAME.match(match["rest"])
        yield (line, name["open"], name["name"]) if name else (line, None, None)


def cycles(graph):
    """Each cycle of the include graph once, as a list of (file, line of the include of the next)."""
    state, stack, found = {}, [], []

    def visit(path):
        state[path] = "open"
        for line, target in graph.get(path, []):
            stack.append((path, line))
            if state.get(target) == "open":
                start = next(i for i, (file, _) in enumerate(stack) if file == target)
                found.append(stack[start:])
            elif target not in state:
                visit(target)
            stack.pop()
        state[path] = "done"

    for path in graph:
        if path not in state:
            visit(path)
    return found


def check(root):
    root = pathlib.Path(root)
    findings, graph = [], {}
    for path in tree.files(root, tree.CODE, ["include", "src", "tools"]):
        source = level_of(path)
        if source is None:
            findings.append(tree.Finding(path, 1, "stands in no level",
                                         f"move it into one of src/{{{','.join([*LEVELS, *BESIDE])}}}/, include/tarn/, tools/"))
            continue
        graph[path] = []
        for line, bracket, name in includes(root, path):
            if name is None:
                findings.append(tree.Finding(path, line, "an include that names no file",
                                             "write the name, so that the levels can be read"))
                continue
            target = target_of(root, path, bracket, name)
            if target is None:
                continue
            if target is False:
                findings.append(tree.Finding(
                    path, line, f"includes {name}, which is no file of the project",
                    'write "level/file.hpp" from src/ on, <tarn/file.hpp> for a public header'))
                continue
            graph[path].append((line, target))
            reason = forbidden(source, level_of(target))
            if reason:
                findings.append(tree.Finding(path, line, f"includes {target}, but {reason[0]}", reason[1]))
    for cycle in cycles(graph):
        path, line = cycle[0]
        round_trip = " -> ".join(str(file) for file, _ in cycle + cycle[:1])
        findings.append(tree.Finding(path, line, f"includes itself: {round_trip}",
                                     "move what both need into a header of its own"))
    return findings


if __name__ == "__main__":
    sys.exit(tree.report(check(sys.argv[1] if len(sys.argv) > 1 else ".")))
