#!/usr/bin/env python3
"""Draws the levels of the engine and of the profiler from the includes of the sources.

    structure.py            writes docs/pictures/engine.svg and docs/pictures/profiler.svg
    structure.py --check    fails where a picture is not what the sources say

A box is a folder, with its files. A line goes from a folder up to one that includes from it. A line that follows from
others is left out: if A includes from B and B from C, the line from A to C is not drawn.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/house"))
import levels  # noqa: E402  pylint: disable=wrong-import-position
import tree  # noqa: E402  pylint: disable=wrong-import-position

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 148, 40, 18, 34, 12
STYLE = """<style>
text { font: 13px system-ui, sans-serif; text-anchor: middle; fill: #1c2733 }
.small { font-size: 11px; fill: #5a6875 }
rect { fill: #eef3f7; stroke: #7d93a6 }
path { fill: none; stroke: #7d93a6; stroke-width: 1.4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9fb0bf } rect { fill: #22303c; stroke: #6f8698 } path { stroke: #6f8698 }
}
</style>"""


def folders(half):
    """The number of files of each folder of one half, and the folders that it includes from."""
    files, uses = {}, {}
    for path in tree.files(ROOT, tree.CODE, [half]):
        level = levels.level_of(path)
        if level is None:
            continue
        files[level] = files.get(level, 0) + 1
        for _, bracket, name in levels.includes(ROOT, path):
            target = levels.target_of(ROOT, bracket, name) if name else None
            target_level = levels.level_of(target) if target else None
            if target_level and target_level != level and target_level.startswith(half + "/"):
                uses.setdefault(level, set()).add(target_level)
    return files, uses


def all_uses(level, uses):
    """Every folder that one depends on, also through others."""
    reached, waiting = set(), [level]
    while waiting:
        for target in uses.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def rows(files, uses):
    """The folders from the lowest row up: each stands one row above the highest that it uses."""
    row = {}
    for level in sorted(files, key=lambda level: len(all_uses(level, uses))):
        row[level] = 1 + max((row[target] for target in all_uses(level, uses)), default=-1)
    return [sorted(level for level in files if row[level] == number) for number in range(max(row.values()) + 1)]


def lines(files, uses):
    """Pairs of a folder and one that it uses, without those that follow from others."""
    for level in sorted(files):
        for target in sorted(uses.get(level, ())):
            if not any(target in all_uses(other, uses) for other in uses[level] if other != target):
                yield level, target


def draw(half):
    files, uses = folders(half)
    ordered = rows(files, uses)
    columns = max(map(len, ordered))
    width = 2 * MARGIN + columns * WIDTH + (columns - 1) * GAP_X
    height = 2 * MARGIN + len(ordered) * HEIGHT + (len(ordered) - 1) * GAP_Y
    position = {}
    for number, row in enumerate(ordered):
        left = (width - len(row) * WIDTH - (len(row) - 1) * GAP_X) / 2
        for column, level in enumerate(row):
            position[level] = (left + column * (WIDTH + GAP_X), height - MARGIN - HEIGHT - number * (HEIGHT + GAP_Y))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" '
             f'role="img" aria-label="The folders of {half}/ by level">', STYLE]
    for level, target in lines(files, uses):
        (x, y), (to_x, to_y) = position[level], position[target]
        x, to_x, y = x + WIDTH / 2, to_x + WIDTH / 2, y + HEIGHT
        # A line over several rows bends around the boxes between.
        bend = 0 if to_y - y <= GAP_Y else (WIDTH / 2 + GAP_X) * (1 if to_x >= width / 2 else -1)
        middle = (y + to_y) / 2
        parts.append(f'<path d="M{x:g} {y:g} C{x + bend:g} {middle:g} {to_x + bend:g} {middle:g} {to_x:g} {to_y:g}"/>')
    for level, (x, y) in sorted(position.items()):
        count = files[level]
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
                     f'<text x="{x + WIDTH / 2:g}" y="{y + 17:g}">{level.split("/", 1)[1]}</text>'
                     f'<text class="small" x="{x + WIDTH / 2:g}" y="{y + 32:g}">{count} '
                     f'file{"s" if count > 1 else ""}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main(arguments):
    status = 0
    for name, half in (("engine", "src"), ("profiler", "profiler")):
        path = ROOT / f"docs/pictures/{name}.svg"
        picture = draw(half)
        if arguments != ["--check"]:
            path.write_text(picture, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != picture:
            print(f"{path.relative_to(ROOT)} is not what the sources say: run ./dev figures")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
