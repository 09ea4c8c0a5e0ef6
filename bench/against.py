#!/usr/bin/env python3
"""Compares two builds of bench-sync or bench-io, row by row, in runs that alternate.

against.py [--runs N] [--limit PERCENT] OLD NEW [ARGUMENT...]
OLD and NEW are the two programs; both get the arguments. Prints, for each figure, the median of the runs' ratios and
their range. Ends with 1 if a median is above the limit (3 % by default)."""
import argparse
import re
import statistics
import subprocess
import sys

FIGURE = re.compile(r"(\d[\d,]*(?:\.\d+)?) \([\d.,]+\)")


def figures(output):
    """Returns {(table, row, column number): the least of the rounds}."""
    least_times = {}
    table = ""
    for line in output.splitlines():
        cells = list(FIGURE.finditer(line))
        if not cells:
            table = line.strip() or table
            continue
        row = line[:cells[0].start()].strip()
        for column, cell in enumerate(cells, 1):
            least_times[table, row, column] = float(cell[1].replace(",", ""))
    return least_times


def run(program, arguments):
    try:
        result = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    except (OSError, subprocess.CalledProcessError) as failed:
        sys.exit(f"against.py: {program} does not run: {failed}")
    measured = figures(result.stdout)
    if not measured:
        sys.exit(f"against.py: {program} prints no figure: give a bench-sync or a bench-io")
    return measured


def compare(old, new, arguments, runs):
    """Returns {(table, row, column number): the ratios of new to old}, and what only one of the two measures."""
    ratios, lonely = {}, set()
    for number in range(runs):
        pair = [run(program, arguments) for program in ((old, new) if number % 2 == 0 else (new, old))]
        before, after = pair if number % 2 == 0 else reversed(pair)
        lonely |= before.keys() ^ after.keys()
        for key in before.keys() & after.keys():
            if before[key] > 0:
                ratios.setdefault(key, []).append(after[key] / before[key])
    return ratios, lonely


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--limit", type=float, default=3)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error(f"--runs is {options.runs}: at least one run is needed")
    ratios, lonely = compare(options.old, options.new, options.arguments, options.runs)
    worse = 0
    for (table, row, column), values in sorted(ratios.items(), key=lambda item: -statistics.median(item[1])):
        median = statistics.median(values)
        is_worse = median > 1 + options.limit / 100
        worse += is_worse
        print(f"{'WORSE ' if is_worse else '      '}{median:6.3f} ({min(values):.3f}–{max(values):.3f})  "
              f"{table}: {row}, figure {column}")
    for table, row, column in sorted(lonely):
        print(f"      only one build measures it: {table}: {row}, figure {column}")
    print(f"{worse} of {len(ratios)} figures are worse by more than {options.limit:g} %, "
          f"by the median of {options.runs} runs")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
