#!/usr/bin/env python3
"""The levels of the design, kept: levels.py [ROOT] fails, naming file, line and cure, when a file includes upwards.

    include/tarn/detail < include/tarn                            what is promised, and its inline fast paths
    src/base < platform < reclaim < memory/pages < memory/heap < memory/thread < memory/guard < memory/pools
        < memory/api < memory/drop_in                             the engine
    src/io, src/sync                                              beside memory/: they name the levels that they use
    src/platform/fake                                             beside them: the kernel that tests steer
    profiler/base < unwind < format < symbols < findings/heap < findings/waits < findings/time < findings < predict
        < advise < report < report/html < export < launch < cpu < collect < top < lab < fix < cli
                                                                  the profiler; it uses all of the engine but drop_in
    profiler/preload/base < preload/stacks < preload/records < preload < preload/functions
                                                                  beside them, inside the recorded program
    profiler/tidy                                                 beside them, inside clang-tidy
"""

import pathlib
import re
import sys

import tree

ENGINE = ["base", "platform", "reclaim", "memory/pages", "memory/heap", "memory/thread", "memory/guard", "memory/pools",
          "memory/api",
          "memory/drop_in"]
PROFILER = ["base", "unwind", "format", "symbols", "findings/heap", "findings/waits", "findings/time", "findings",
            "predict", "advise", "report", "report/html", "export", "launch", "cpu", "collect", "top", "lab", "fix",
            "cli"]
LEVELS = [*(f"src/{level}" for level in ENGINE), *(f"profiler/{level}" for level in PROFILER)]
RECORDER = [f"profiler/preload{level}" for level in ("/base", "/stacks", "/records", "")]
# A component that stands beside the others: the levels it may use. No level includes from it.
BESIDE = {
    "src/platform/fake": ["src/base", "src/platform"],
    "src/io": ["src/base", "src/platform", "src/reclaim"],
    "src/sync": ["src/base", "src/platform", "src/reclaim", "src/memory/thread"],
    "profiler/preload/base": ["src/base", "src/platform", "profiler/format"],
    "profiler/preload/stacks": ["src/base", "src/platform", "profiler/unwind", "profiler/format",
                                "profiler/preload/base"],
    "profiler/preload/records": ["src/base", "src/platform", "profiler/format", *RECORDER[:2]],
    "profiler/preload": ["src/base", "src/platform", "profiler/format", *RECORDER[:3]],
    "profiler/preload/functions": ["src/base", "src/platform", "profiler/format", *RECORDER],
    "profiler/tidy": [],
}
DROP_IN = "src/memory/drop_in"
PLACES = {*LEVELS, *BESIDE}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<rest>.*)$', re.MULTILINE)
NAME = re.compile(r'(?P<open>[<"])(?P<name>[^>"]+)[>"]')


def level_of(path):
    """detail, public, or the folder that is a level; None for what stands in no level."""
    if path.parts[:2] == ("include", "tarn"):
        return "detail" if path.parts[2] == "detail" else "public"
    folder = str(path.parent)
    return folder if folder in PLACES else None


def target_of(root, bracket, name):
    """The project's file that an include names; None for the system's, False for a name that leads nowhere."""
    if bracket == "<":
        candidate = pathlib.Path("include") / name
        if name.startswith("tarn/"):
            return candidate if (root / candidate).is_file() else False
        return None
    if ".." in pathlib.PurePath(name).parts:
        return False
    candidate = pathlib.Path(name) if name.startswith("profiler/") else pathlib.Path("src") / name
    return candidate if (root / candidate).is_file() else False


def forbidden(source, target):
    """Why a file of level `source` may not include one of level `target`, with the cure; None when it may."""
    if source == target:
        return None
    if target == DROP_IN:
        return "nothing links the drop-in", "move what you need to src/memory/api/ or lower"
    if source == "detail":
        return "detail/ holds inline fast paths only", "move the declaration into include/tarn/detail/"
    if source == "public":
        return None if target == "detail" else (
            "a public header must stand alone when installed", "declare what it needs under include/tarn/detail/")
    if target in ("public", "detail"):
        return None
    if source.startswith("src/") and target.startswith("profiler/"):
        return "the engine never depends on the profiler", "move what both need into src/"
    is_beside = source in BESIDE and target not in BESIDE[source]
    if is_beside or target in BESIDE and source not in BESIDE and source.split("/")[0] == target.split("/")[0]:
        return (f"{source}/ and {target}/ stand beside each other",
                "move what both need lower, or let the caller of both pass it in")
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
    state, stack, rings = {}, [], []

    def visit(path):
        state[path] = "open"
        for line, target in graph.get(path, []):
            stack.append((path, line))
            if state.get(target) == "open":
                start = next(number for number, (file, _) in enumerate(stack) if file == target)
                rings.append(stack[start:])
            elif target not in state:
                visit(target)
            stack.pop()
        state[path] = "done"

    for path in graph:
        if path not in state:
            visit(path)
    return rings


def check(root):
    root = pathlib.Path(root)
    findings, graph = [], {}
    for path in tree.files(root, tree.CODE, ["include", "src", "profiler"]):
        source = level_of(path)
        if source is None:
            findings.append(tree.Finding(path, 1, "stands in no level",
                                         f"move it into include/tarn/ or one of {', '.join(sorted(PLACES))}"))
            continue
        graph[path] = []
        for line, bracket, name in includes(root, path):
            if name is None:
                findings.append(tree.Finding(path, line, "an include that names no file",
                                             "write the name, so that the levels can be read"))
                continue
            target = target_of(root, bracket, name)
            if target is None:
                continue
            if target is False:
                findings.append(tree.Finding(
                    path, line, f"includes {name}, which is no file of the project",
                    'write "level/file.hpp" from src/ on, "profiler/level/file.hpp", or <tarn/file.hpp> for a public '
                    'header'))
                continue
            graph[path].append((line, target))
            reason = forbidden(source, level_of(target))
            if reason:
                findings.append(tree.Finding(path, line, f"includes {target}, but {reason[0]}", reason[1]))
    for ring in cycles(graph):
        path, line = ring[0]
        round_trip = " -> ".join(str(file) for file, _ in ring + ring[:1])
        findings.append(tree.Finding(path, line, f"includes itself: {round_trip}",
                                     "move what both need into a header of its own"))
    return findings


if __name__ == "__main__":
    sys.exit(tree.report(check(sys.argv[1] if len(sys.argv) > 1 else ".")))
