"""Pools and arenas: their tables, their instructions, and what they must reach."""

import re
import shutil
import tempfile

from . import text
from .process import Failed
from .measure import Samples
from .summary import Goal, queue_alone, value_of

FAMILIES = {
    "private": "pools of one thread",
    "shared": "pools for all threads",
    "arena": "arenas",
}
LINKED = ("list", "boost-pool", "foonathan-pool")  # free lists through the blocks
ALSO = ("reply-double",)  # how a program without an arena builds a reply best
REPETITIONS = (20_000, 60_000)


def is_wanted(rows, row):
    """Whether some pool or arena has this row. known: column -> names of its rows."""
    return row.name in ALSO or any(row.name in names for column, names in rows.items() if column.family in FAMILIES)


# --- Instructions -------------------------------------------------------------------------------------------------

def executed(column, row, repetitions):
    """Instructions of a whole run, counted by valgrind."""
    with tempfile.NamedTemporaryFile("r", suffix=".callgrind") as file:
        column.run("row", row, repetitions, prefix=("valgrind", "--tool=callgrind", "-q",
                                                    f"--callgrind-out-file={file.name}"), timeout=300)
        match = re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE)
    if not match:
        raise Failed(f"{column.name}: callgrind wrote no total")
    return int(match[1])


def instructions(columns, nothing, row="pair-64"):
    """Instructions of one pair by column, the row's own taken off. None without valgrind."""
    if not shutil.which("valgrind"):
        return None

    def of_one(column):
        short, long = (executed(column, row, repetitions) for repetitions in REPETITIONS)
        return (long - short) / (REPETITIONS[1] - REPETITIONS[0]) * 16 / 17  # the warm-up is a sixteenth

    overhead = of_one(nothing)
    return {column.name: of_one(column) - overhead for column in columns}


# --- Goals --------------------------------------------------------------------------------------------------------

def goals(rows, columns, instructions=None):
    """Each goal that the measured rows can decide. counted: instructions of a pair by column. The least CPU time
    of threads that share something is that of a round in which they did not meet: it decides nothing."""
    if Samples.is_busy:
        rows = [row for row in rows if row.threads == 1]
    by_name = {row.name: row for row in rows}
    family = {column.name: column.family for column in columns}
    mallocs = [name for name, kind in family.items() if kind == "malloc"]
    lines = []

    def ns(row, column):
        return value_of(by_name.get(row), column)

    def best(row, names):
        """The fastest of some columns in a row: (ns, name), or None."""
        return min(((ns(row, name), name) for name in names if ns(row, name) is not None), default=None)

    def at_most(text_, limit, ratios):
        """ratios: name of what is compared -> ratio. The worst decides, and each other that misses is told."""
        ratios = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        for rank, name in enumerate(sorted(ratios, key=ratios.get, reverse=True)):
            if rank == 0 or ratios[name] > limit:
                lines.append(Goal(f"{text_} ({name})", ratios[name], limit, False))

    def at_least(text_, limit, ratios):
        ratios = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        for rank, name in enumerate(sorted(ratios, key=ratios.get)):
            if rank == 0 or ratios[name] < limit:
                lines.append(Goal(f"{text_} ({name})", ratios[name], limit, True))

    def ratio(a, b):
        return a / b if a is not None and b is not None else None

    at_most("pool: time over that of a list written by hand", 1.1,
            {row.name: ratio(ns(row.name, "pool"), ns(row.name, "list")) for row in rows})
    linked = best("scatter-10000", LINKED)
    if linked:
        at_least("pool: times faster than the best linked list, random-order frees", 2,
                 {linked[1]: ratio(linked[0], ns("scatter-10000", "pool"))})

    pairs = [name for name in ("pair-16", "pair-64", "pair-256", "pair-1024") if name in by_name]
    at_most("heap as memory_resource: ns a pair", 3, {name: ns(name, "heap-pmr") for name in pairs})
    if instructions:
        at_most("heap as memory_resource: instructions a pair", 25, {"valgrind": instructions.get("heap-pmr")})

    other = best("pair-64-2t", mallocs)
    if other:
        at_least("shared_pool, 2 threads: times faster than the best malloc", 3,
                 {other[1]: ratio(other[0], ns("pair-64-2t", "shared"))})
    at_least("shared_pool, 2 threads: times faster than a mutex around a pool", 50,
             {"pair-64-2t": ratio(ns("pair-64-2t", "pool-mutex"), ns("pair-64-2t", "shared"))})
    at_most("shared_pool: producer → consumer, time over that of the queue alone", 1.3,
            {name: ratio(ns(name, "shared"), queue_alone(rows)) for name in ("handoff-64", "handoff-1024")})

    for threads in ("", "-2t", "-4t", "-8t"):
        name = f"pair-64{threads}"
        at_least("lock_free_pool: times faster than Boost.Lockfree's list", 1,
                 {name: ratio(ns(name, "boost-free"), ns(name, "lock-free"))})
        at_most("lock_free_pool: time over that of a mutex around a pool", 1,
                {name: ratio(ns(name, "lock-free"), ns(name, "pool-mutex"))})

    for arena in ("arena", "arena-reset"):
        for floor in ("bump", "bump-end"):
            at_most(f"{arena}: 200 blocks, time over that of a pointer by hand", 1.15,
                    {floor: ratio(ns("drop-200", arena), ns("drop-200", floor))})
    replies = [(row, name) for row in ("reply-string", "reply-double")
               for name in [*mallocs, "monotonic", "monotonic-new"]]
    reply = min(((ns(*reply), reply) for reply in replies if ns(*reply) is not None), default=None)
    if reply:
        at_most("arena: 64 KiB reply, time over that of the best other", 1,
                {f"{reply[1][1]}, {reply[1][0]}": ratio(ns("reply-string", "arena"), reply[0])})

    for form in ("pool", "pooled"):
        for suffix, limit in (("", 8), ("-alone", 3.5)):
            lists = [f"list-{nodes}{suffix}" for nodes in (100, 1000, 10000)]
            process_kind = "a process of one thread" if suffix else "a process of two threads"
            at_least(f"{form}: list in {process_kind}, times faster than glibc", limit,
                     {name: ratio(ns(name, "glibc"), ns(name, form)) for name in lists})
            ratios = {}
            for name in lists:
                other = best(name, mallocs)
                if other:
                    ratios[f"{name}, {other[1]}"] = ratio(other[0], ns(name, form))
            at_least(f"{form}: list in {process_kind}, times faster than the best malloc", 1, ratios)
    return lines


# --- Tables -------------------------------------------------------------------------------------------------------

def table(title, rows, names, instructions):
    heads = [title, *names, "spread"]
    lines = []
    for row in rows:
        spreads = [row.results[name].spread for name in names if name in row.results]
        lines.append([row.name, *(text.number(value_of(row, name)) for name in names),
                      f"{100 * max(spreads):.0f} %" + ("~" if max(spreads) > text.NOISY else "")])
    if any(name in instructions for name in names):
        cells = (f"{instructions[name]:.0f}" if name in instructions else "-" for name in names)
        lines.append(["instructions, pair-64", *cells, ""])
    return text.lay_out(heads, lines)


def report(rows, columns, facts, rounds, statistic, instructions):
    parts = ["\n".join(f"{key}: {value}" for key, value in facts.items()),
             f"ns, {statistic} of {rounds} interleaved rounds; spread: the widest interquartile range over the median "
             f"(~ above {100 * text.NOISY:.0f} %)"]
    for family, title in FAMILIES.items():
        names = [column.name for column in columns if column.family == family]
        having = [row for row in rows if any(name in row.results for name in names)]
        if family == "shared":  # what one thread does is no reason to share
            having = [row for row in having if row.threads > 1 or row.name in ("pair-64", "list-1000", "scatter-10000")]
        if family == "arena":
            having += [row for row in rows if row.name in ALSO]
        other_names = [column.name for column in columns if column.family in ("malloc", "heap")
                       and any(column.name in row.results for row in having)]
        if names and having:
            parts.append(table(title, having, [*names, *other_names], instructions or {}))
    reached = goals(rows, columns, instructions)
    if reached:
        description = "rows measured, of one thread" if Samples.is_busy else "rows measured"
        parts.append(f"goals (of the {description})\n" + "\n".join(goal.line() for goal in reached))
    return "\n\n".join(parts)
