"""The steady state: page faults and system calls of ten million warm operations."""

import os
import re
import shutil
import tempfile

from . import text
from .process import Failed

STEPS = 10_000_000
OWN_WAIT = "ppoll"  # how the bench itself waits in a traced run
BEGIN, END = "bench: steady begins", "bench: steady ends"


def calls_between_markers(trace):
    """Counts the system calls of a strace log between the two markers, by name."""
    counts, is_inside = {}, False
    for line in trace.splitlines():
        if BEGIN in line:
            is_inside = True
        elif END in line:
            return counts
        elif is_inside:
            match = re.match(r"(?:\d+\s+)?(\w+)\(", line)
            if match and match[1] != OWN_WAIT:
                counts[match[1]] = counts.get(match[1], 0) + 1
    raise Failed("the trace has no markers")


def traced_calls(column, steps):
    if not shutil.which("strace"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "trace")
        column.run("steady", steps, "traced", prefix=("strace", "-f", "-qq", "-o", log), timeout=600)
        with open(log, encoding="utf-8", errors="replace") as file:
            return calls_between_markers(file.read())


def measure(columns, quick):
    """One dictionary a column: faults, system calls by name (None without strace), ns for one step."""
    steps = STEPS // 50 if quick else STEPS
    results = {}
    for column in columns:
        if column.name in ("pooled", "heap"):  # they have no random sizes, or no second thread
            continue
        plain = column.run("steady", steps, "plain", timeout=600)[0]
        results[column.name] = {"steps": steps, "faults": plain["faults"], "system_calls": traced_calls(column, steps),
                              "ns": plain["wall_ns"] * 2 / steps, "grown_kib": plain["grown_kib"]}
    return results


def report(results):
    lines = []
    for name, result in results.items():
        calls = result["system_calls"]
        call_text = "no strace" if calls is None else str(sum(calls.values()))
        detail = " ".join(f"{call}:{count}" for call, count in sorted((calls or {}).items()))
        lines.append([name, f"{result['steps']:,}", str(result["faults"]), str(result["grown_kib"]), call_text,
                      text.number(result["ns"]), detail])
    heads = ["steady state", "operations", "page faults", "grown KiB", "system calls", "ns", "which"]
    return text.lay_out(heads, lines)
