#!/usr/bin/env python3
"""Runs the bench: all rows, over all allocators, interleaved. bench/README.md says what each row is."""

import argparse
import fnmatch
import json
import os
import sys

sys.dont_write_bytecode = True
from runner import footprint, machine, measure, pools, steady, text  # noqa: E402
from runner.columns import find_columns, find_nothing, find_pools  # noqa: E402
from runner.process import Failed  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUICK = (3, 5)  # rounds, milliseconds
FULL = (7, 80)


def peer(word):
    name, equals, path = word.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"{word}: not NAME=/path/to/library.so")
    return name, path


def positive(word):
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word}: not 1 or more")
    return number


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the build to measure")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE",
                        help="write everything as JSON to FILE; without FILE to the standard output, and no tables")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK[0]} rounds of {QUICK[1]} ms: for a first look")
    parser.add_argument("--rounds", type=positive, help=f"default {FULL[0]}")
    parser.add_argument("--ms", type=positive, help=f"work of one measurement under glibc, default {FULL[1]}")
    parser.add_argument("--busy", action="store_true",
                        help="on a machine that does other work, too: the least CPU time instead of the median "
                             "of the wall time")
    parser.add_argument("--patient", type=positive, default=0, metavar="SECONDS",
                        help="repeat measurements that other work disturbed, for so many seconds in all")
    parser.add_argument("--only", action="append", metavar="ROW", help="rows by name or pattern, may be repeated")
    parser.add_argument("--columns", metavar="A,B", help="only these columns (glibc is always measured)")
    parser.add_argument("--peer", type=peer, action="append", default=[], metavar="NAME=FILE.so",
                        help="one more allocator, may be repeated")
    parser.add_argument("--steady", action="store_true", help="page faults and system calls of the steady state only")
    parser.add_argument("--footprint", action="store_true", help="whether memory goes back, only")
    parser.add_argument("--pools", action="store_true", help="pools and arenas beside each other")
    parser.add_argument("--check", action="store_true", help="every row once and tiny: only compare the checksums")
    return parser.parse_args(arguments)


def chosen_columns(options):
    columns, missing = find_pools(options.build) if options.pools else find_columns(options.build, options.peer)
    for line in missing:
        print(f"bench: {line}", file=sys.stderr)
    if options.columns:
        names = options.columns.split(",")
        unknown = set(names) - {column.name for column in columns}
        if unknown:
            raise Failed(f"no column {', '.join(sorted(unknown))}")
        columns = [column for column in columns if column.name in names or column.name == "glibc"]
    return columns


def check(columns, is_chosen):
    """A handful of repetitions of every row in every form; the checksums must agree."""
    failures, checksums = 0, {}
    for column in columns:
        for name in filter(is_chosen, measure.rows_of(column)):
            checksum = column.run("row", name, 3)[0]["checksum"]
            expected = checksums.setdefault(name, checksum)
            if checksum != expected:
                failures += 1
                print(f"bench: {name}: checksum {checksum} of {column.name} is not {expected}", file=sys.stderr)
    print(f"{len(checksums)} rows, {len(columns)} columns ({', '.join(c.name for c in columns)}): "
          f"{failures} checksums differ")
    return 1 if failures or not checksums else 0


def as_json(facts, rounds, rows, checksums):
    statistic = "least CPU time" if measure.Samples.is_busy else "median wall time"
    return {"machine": facts, "rounds": rounds, "statistic": statistic, "rows": [
        {"row": row.name, "threads": row.threads, "units": row.units, "repetitions": row.repetitions,
         "baseline": row.baseline, "checksum": checksums[row.name],
         "results": {name: {"value_ns": samples.value, "spread": round(samples.spread, 4),
                            "peak_kib": samples.peak, "ns": samples.ns, "processor_ns": samples.processor_ns,
                            "faults": samples.faults}
                     for name, samples in row.results.items()}} for row in rows]}


def emit(options, answer, report):
    if options.json != "-":
        print(report)
    if options.json:
        with sys.stdout if options.json == "-" else open(options.json, "w", encoding="utf-8") as file:
            json.dump(answer, file, indent=1)
            file.write("\n")


def main():
    options = parse(sys.argv[1:])
    columns = chosen_columns(options)
    patterns = options.only or ["*"]

    def chooses(name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    if options.check:
        return check(columns, chooses)
    facts = machine.facts(columns[0])
    if options.steady or options.footprint:
        answer, reports = {"machine": facts}, []
        if options.steady:
            answer["steady"] = steady.measure(columns, options.quick)
            reports.append(steady.report(answer["steady"]))
        if options.footprint:
            answer["footprint"] = footprint.measure(columns)
            reports.append(footprint.report(answer["footprint"]))
        emit(options, answer, "\n\n".join(reports))
        return 0

    rounds, target_ms = QUICK if options.quick else FULL
    rounds, target_ms = options.rounds or rounds, options.ms or target_ms
    measure.Samples.is_busy = options.busy
    patience = measure.Patience(options.patient)
    if options.pools:
        column_rows = {column: measure.rows_of(column) for column in columns}
        rows, checksums = measure.measure(columns, lambda row: chooses(row.name) and pools.is_wanted(column_rows, row),
                                          rounds, target_ms, patience)
    else:
        rows, checksums = measure.measure(columns, lambda row: chooses(row.name) and not row.pools, rounds, target_ms,
                                          patience)
    if not rows:
        raise Failed(f"no row matches {' '.join(patterns)}")
    facts["processor share"] = measure.processor_share(rows)
    disturbed = f"{100 * patience.disturbed / patience.total:.0f} %"
    facts["disturbed by other work"] = f"{disturbed} of {patience.total} measurements"
    facts["load average at end"] = f"{os.getloadavg()[0]:.2f}"
    answer = as_json(facts, rounds, rows, checksums)
    if options.pools:
        having = [column for column in columns if "pair-64" in column_rows[column] and not column.preload]
        instructions = pools.instructions(having, find_nothing(options.build)) if chooses("pair-64") else None
        answer["instructions of a pair"] = instructions
        emit(options, answer, pools.report(rows, columns, facts, rounds, answer["statistic"], instructions))
    else:
        names = [column.name for column in columns if not column.is_inline]
        emit(options, answer, text.report(rows, names, facts, rounds, options.busy))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
