"""The tables as text."""

from . import summary
from .measure import Samples

NOISY = 0.15


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.2f}"


def lay_out(heads, lines):
    """Left-aligned first column, the others right-aligned; a line may have fewer cells than there are heads."""
    lines = [[*line, *[""] * (len(heads) - len(line))] for line in lines]
    widths = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    parts = []
    for line in [heads, *lines]:
        cells = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        parts.append("  ".join(cells).rstrip())
    parts.insert(1, "-" * max(map(len, parts)))
    return "\n".join(parts)


def malloc_table(rows, columns):
    """One line a row: ns of each allocator, Tarn's ratios, the widest spread; ! flags a row where Tarn is slow."""
    heads = ["through malloc, ns", *columns, "tarn/best", "tarn/glibc", "peak tarn/glibc", "spread", ""]
    lines = []
    for row in rows:
        results = summary.through_malloc(row)
        best = summary.ratio_to_best(row)
        tarn, glibc = results.get("tarn"), results["glibc"]
        flag = "!" if best is not None and best > 1.1 and not row.baseline else ""
        spread = max(samples.spread for samples in results.values())
        lines.append([row.name, *(number(results[name].value) for name in columns), number(best),
                      number(tarn.ratio_to(glibc) if tarn else None),
                      number(tarn.peak / glibc.peak if tarn else None),
                      f"{100 * spread:.0f} %" + ("~" if spread > NOISY else ""), flag])
    return lay_out(heads, lines)


def inline_table(rows):
    """ns of the inline forms, and how many times faster each is than the best malloc that is not Tarn's."""
    forms = ["pooled", "allocator", "heap"]
    heads = ["inline, ns", *forms, "tarn", "best other malloc", *(f"x {form}" for form in forms), "spread"]
    lines = []
    for row in rows:
        results = {form: row.results[form] for form in forms if form in row.results}
        best = summary.best_other(row)
        if not results or best is None or row.baseline:
            continue
        spread = max(samples.spread for samples in results.values())
        lines.append([row.name, *(number(results[f].value if f in results else None) for f in forms),
                      number(row.results["tarn"].value if "tarn" in row.results else None),
                      f"{number(best[1])} {best[0]}",
                      *(number(1 / summary.ratio_to_best(row, f) if f in results else None) for f in forms),
                      f"{100 * spread:.0f} %" + ("~" if spread > NOISY else "")])
    return lay_out(heads, lines) if lines else ""


def handoff_table(rows, columns):
    net = summary.handoff_without_queue(rows)
    names = [*columns, "pooled", "allocator"]
    names = [name for name in names if any(name in line for line in net.values())]
    lines = [[row, *(number(line.get(name)) for name in names)] for row, line in net.items()]
    return lay_out(["without the queue, ns", *names], lines) if lines else ""


def memory_table(rows, columns):
    """Peak resident memory of each process, over glibc's."""
    lines = [[row.name, number(row.results["glibc"].peak),
              *(number(row.results[name].peak / row.results["glibc"].peak) for name in columns if name != "glibc")]
             for row in rows]
    return lay_out(["peak memory", "glibc, KiB", *(f"{name} x" for name in columns if name != "glibc")], lines)


def means_table(rows, columns):
    time = summary.means_over_glibc(rows, columns, Samples.ratio_to)
    peak = summary.means_over_glibc(rows, columns, Samples.peak_over)
    tarn = summary.time_means(rows, columns)
    names = [name for name in columns if name != "glibc"]
    lines = [["time over glibc's", *(number(time.get(name)) for name in names)],
             ["peak memory over glibc's", *(number(peak.get(name)) for name in names)]]
    if tarn:
        lines.append(["tarn's time over theirs", *(number(tarn.get(name)) for name in names)])
    return lay_out(["geometric means", *names], lines)


def report(rows, columns, machine, rounds, is_busy):
    """The whole report. columns: names of the malloc form."""
    parts = ["\n".join(f"{key}: {value}" for key, value in machine.items()),
             f"{'Least CPU time' if is_busy else 'Medians'} of {rounds} interleaved rounds; "
             f"spread: the widest interquartile range over the median (~ above {100 * NOISY:.0f} %); "
             "! tarn is more than 1.1 times the best other.",
             malloc_table(rows, columns), handoff_table(rows, columns), inline_table(rows),
             memory_table(rows, columns), means_table(rows, columns)]
    goals = summary.goals(rows, columns)
    if goals:
        parts.append("goals (of the rows measured)\n" + "\n".join(goal.line() for goal in goals))
    return "\n\n".join(part for part in parts if part)
