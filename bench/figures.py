"""The tables of the bench, generated from the newest results in bench/results."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from runner import summary  # noqa: E402  pylint: disable=wrong-import-position
from runner.measure import Row, Samples  # noqa: E402  pylint: disable=wrong-import-position

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
COLUMNS = ["glibc", "jemalloc", "mimalloc", "tcmalloc", "tbbmalloc", "tarn"]
LINES = [
    ("pair-64", "alloc + free, 64 bytes"),
    ("pair-61432", "alloc + free, 61,432 bytes"),
    ("list-10000", "list of 10,000 nodes, built and deleted"),
    ("list-1000", "list of 1,000 nodes"),
    ("scatter-10000", "10,000 blocks freed in random order"),
    ("slots-random", "1,000 slots of random sizes"),
    ("server-2t", "server mix, a quarter freed by the other thread"),
    ("handoff-64", "producer → consumer, 64 bytes, with the queue"),
    ("thread", "a thread started and ended"),
    ("realloc-chain", "realloc, 16 bytes doubled to 64 KiB"),
    ("request-200", "a request of 200 blocks, freed at its end"),
]
SUMMARY_LINES = {
    "pair-64": "allocate and free 64 bytes",
    "slots-random": "replace random blocks of random sizes",
    "server-2t": "two threads, a quarter freed by the other one",
}
WORST = 1.1  # a row in which Tarn takes more than this of the best is named


def newest():
    """The results of all rows through malloc with the latest date."""
    runs = []
    for path in RESULTS.glob("*.json"):
        contents = json.loads(path.read_text(encoding="utf-8"))
        if any(row["row"] == "server-2t" for row in contents["rows"]):
            runs.append((contents["machine"]["date"], path, contents))
    if not runs:
        sys.exit(f"no results in {RESULTS}: ./dev bench --json FILE")
    return max(runs, key=lambda run: run[0])[1:]


def read(contents):
    return [Row(row["row"], row["threads"], row["units"], 1, row["baseline"],
                results={name: Samples(result["ns"], result["processor_ns"], [result["peak_kib"]], result["faults"])
                         for name, result in row["results"].items()})
            for row in contents["rows"]]


def digits(ns):
    return f"{ns:,.0f}" if ns >= 100 else f"{ns:.1f}"


def line(title, values, last):
    best = min(values.values())
    cells = [f"**{digits(values[name])}**" if values[name] == best else digits(values[name]) for name in COLUMNS]
    return f"| {title} | {' | '.join(cells)} | {last} |"


def inline(rows, by_name):
    """What the forms of the library do; of each kind of row, the slowest of the three forms."""
    ratios = {}
    for goal in summary.goals(rows, COLUMNS):
        if goal.text.startswith("inline"):
            kind = goal.text.split(": ")[1].split(",")[0]
            ratios[kind] = min(goal.reached, ratios.get(kind, goal.reached))
    pair = by_name["pair-64"].results
    ns = sorted({f"{pair[form].value:.1f}" for form in ("pooled", "allocator", "heap")}, key=float)
    gains = ", ".join(f"{gain:.1f} times as fast for {kind}" for kind, gain in ratios.items())
    return ["Inline, through `pooled<T>`, `allocator<T>` or a `heap`, a pair of 64 bytes takes "
            f"{' to '.join(ns[::len(ns) - 1] if len(ns) > 1 else ns)} ns.",
            "Compared with the fastest malloc, the slowest of the three forms is:",
            *(f"- {gain}" for gain in gains.split(", "))]


def lines_of_rows(rows, names):
    """A line for each of some rows: ns by allocator, and Tarn's ratio to the best of the others."""
    by_name = {row.name: row for row in rows}
    for name, title in names:
        row = by_name[name]
        values = {column: row.results[column].value for column in COLUMNS}
        yield line(f"{title}, ns", values, f"{summary.ratio_to_best(row):.2f}")


def lines_of_means(rows):
    """A line for time and one for peak memory: the geometric means over glibc's."""
    row_count = sum(not row.baseline for row in rows)
    for title, ratio in (("time", lambda result, other: result.ratio_to(other)),
                         ("peak memory", lambda result, other: result.peak_over(other))):
        means = {"glibc": 1.0} | summary.means_over_glibc(rows, COLUMNS, ratio)
        best = min(means.values())
        cells = [f"**{means[name]:.2f}**" if means[name] == best else f"{means[name]:.2f}" for name in COLUMNS]
        yield f"| {title} over glibc's: geometric mean of {row_count} rows | {' | '.join(cells)} | |"


def header():
    return [f"| through malloc | {' | '.join(COLUMNS[:-1])} | **Tarn** | Tarn / best peer |",
            f"|---|{'--:|' * (len(COLUMNS) + 1)}"]


def short_table():
    """The five lines that the README shows."""
    _, contents = newest()
    rows = read(contents)
    return "\n".join([*header(), *lines_of_rows(rows, SUMMARY_LINES.items()), *lines_of_means(rows)])


def table():
    path, contents = newest()
    facts, rows = contents["machine"], read(contents)
    by_name = {row.name: row for row in rows}
    results = f"../../bench/results/{path.name}"
    lines = [f"`./dev bench` on {facts['date'][:10]}: {facts['cores']} cores of an {facts['cpu'].split(' x86')[0]}, "
             f"{facts['libc']}, "
             f"{facts['compiler']},",
             "with Debian's packages of the peers.",
             f"Times are ns, the medians of the wall times of {contents['rounds']} interleaved rounds.",
             "Ratios are medians of the ratios of each round, because both sides of a round meet the same machine.",
             f"All figures are in [{path.name}]({results}).",
             "[bench/README.md](../../bench/README.md) describes each row.", "",
             *header(), *lines_of_rows(rows, LINES), *lines_of_means(rows)]
    worse = {row.name: summary.ratio_to_best(row) for row in rows
             if not row.baseline and "tarn" in row.results and summary.others(row)}
    worse = {name: ratio for name, ratio in sorted(worse.items(), key=lambda pair: -pair[1]) if ratio > WORST}
    row_count = sum(not row.baseline for row in rows)
    lines += ["", *inline(rows, by_name), "",
              f"In {len(worse)} of {row_count} rows Tarn takes more than {WORST} times the best peer's time:",
              *(f"- `{name}`: {ratio:.2f} times {summary.best_other(by_name[name])[0]}"
                for name, ratio in worse.items())]
    return "\n".join(lines)
