"""Whether memory goes back: peaks, ended threads, destroyed heaps."""

from . import text
from .process import Failed

KINDS = {
    "peak": "1 GiB by one thread",
    "peak-ended": "1 GiB by 4 threads that have ended",
    "peak-sleeping": "1 GiB by 4 threads that sleep",
    "threads": "10,000 short threads",
    "destroyed": "a heap of 256 MiB destroyed",
}


def can(column, kind):
    if column.name == "pooled":
        return False
    if kind == "destroyed":
        return column.name == "heap"
    return column.name != "heap" or kind == "peak"


def measure(columns):
    sizes = {}
    for kind in KINDS:
        for column in columns:
            if can(column, kind):
                sizes.setdefault(kind, {})[column.name] = column.run("footprint", kind, timeout=300)[0]
    return sizes


def mib(kib):
    return text.number(kib / 1024)


def report(sizes):
    parts = []
    for kind, columns in sizes.items():
        lines = []
        for name, column in columns.items():
            if kind == "threads":
                lines.append([name, *(mib(kib) for kib in column["resident_kib"].values())])
            else:
                after = column["after_kib"]
                if len(after) < 3:
                    raise Failed(f"footprint {kind} of {name}: too few samples")
                lines.append([name, mib(column["peak_kib"]), mib(after[0]), mib(after[len(after) // 2]),
                              mib(after[-1])])
        heads = ["after 100", "1,000", "10,000"] if kind == "threads" else ["peak", "freed", "0.5 s later", "1 s later"]
        parts.append(text.lay_out([f"{KINDS[kind]}: resident MiB", *heads], lines))
    return "\n\n".join(parts)
