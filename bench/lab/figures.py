"""The table of the lab, made from the newest full run in bench/lab/record."""

import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from runner.averages import geometric_mean  # noqa: E402  pylint: disable=wrong-import-position

# What is compared, in times: experiment, words, sweep, dividend, divisor, measure; the original's figure; ours.
LINES = [
    ("list", "malloc over a pool of the class", "nodes", "glibc", "class pool", "ns", "3.8 to 8.4", "pooled"),
    ("heapdemo", "one locked heap over a private one, 16 bytes to 1 MiB", "size", "one lock", "tarn::heap", "ns",
     "9 to 43, up to 61,432 bytes",
     "tarn::heap"),
    ("heapdemo2", "one locked heap over a class on the thread's own, 1 to 64 threads", "threads", "one lock", "pooled",
     "ns", "–", "pooled"),
    ("lock-cost", "mutex over lock-free list, one core and two", "cores", "mutex", "lock-free", "ns", "3.6 on two",
     "tarn::shared_pool"),
    ("m-string", "calls to malloc without over with a cache of strings", "requests", "m_string", "m_string, cached",
     "allocations", "2.8", "recycle"),
    ("count-a", "a call for each byte over stdio", "threads", "read, a byte each", "fgetc", "ns", "12", "tarn reader"),
    ("categories", "a mutex round each object over categories, 1 to 16 threads", "threads", "a mutex each",
     "categories", "ns", "–", None),
    ("appserver", "a server's CPU time on glibc over that with arenas", "rows", "glibc", "tarn, arenas", "ns",
     "–", "tarn, arenas"),
    ("growth", "glibc over the drop-in, 1,000 to 4,000,000 live blocks", "live", "glibc", "tarn drop-in", "ns", "–",
     "tarn drop-in"),
    ("peers", "glibc over the drop-in, seven rows of the bench", "heap", "glibc", "tarn drop-in", "ns", "–",
     "tarn drop-in"),
]
WORDS = {"yes": "holds", "partly": "in part", "no": "does not hold", "unknown": "not judged"}


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def newest(folder):
    """The full run with the latest date."""
    runs = []
    for machine in sorted(folder.glob("*/*/machine.csv")):
        facts = {row["name"]: row["value"] for row in rows(machine)}
        if facts.get("kind of run") == "full":
            runs.append((facts["date"], machine.parent, facts))
    if not runs:
        sys.exit(f"no full run in {folder}: tarn lab --record bench/lab/record")
    return max(runs, key=lambda run: run[:2])[1:]


def digits(number):
    """Two digits that tell, as the command shows them."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}" if number >= 0.995 else f"{number:.2f}"


def times(ratios):
    if not ratios:
        return "–"
    low, high = digits(min(ratios)), digits(max(ratios))
    return low if low == high else f"{low} to {high}"


class Run:
    def __init__(self, folder):
        self.medians, self.others = {}, {}
        for row in rows(folder / "figures.csv"):
            key = (row["experiment"], row["sweep"], row["form"], row["measure"])
            self.medians.setdefault(key, {})[row["x"]] = float(row["median"])
            if row["role"] != "ours" and row["measure"] == "ns":
                self.others.setdefault(key[:2], {}).setdefault(row["x"], []).append(float(row["median"]))
        self.verdicts = {row["experiment"]: row["holds"] for row in rows(folder / "verdicts.csv")}

    def ratios(self, experiment, sweep, dividend, under, measure):
        divisors = self.medians.get((experiment, sweep, under, measure), {})
        return [value / divisors[x] for x, value in self.medians.get((experiment, sweep, dividend, measure), {}).items()
                if divisors.get(x)]

    def beside_best(self, experiment, sweep, form):
        best = self.others.get((experiment, sweep), {})
        return [value / min(best[x]) for x, value in self.medians.get((experiment, sweep, form, "ns"), {}).items()
                if x in best]


def table():
    folder, facts = newest(ROOT / "bench" / "lab" / "record")
    run = Run(folder)
    location = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    load = facts["load average at start"].split()[0]
    lines = ["The newest full run is in",
             f"[{location}](../../{location}).",
             f"Machine: {facts['cpu']}, {facts['cores']} cores, {facts['libc']}; load average {load}, from other work.",
             "Columns show ratios, from the least to the most over the values of each sweep.",
             "The last column is the time of Tarn's form over that of the fastest other form, as a geometric mean.", "",
             "| experiment | what is compared | the original | here | the claim | Tarn over the best |",
             "|---|---|--:|--:|---|--:|"]
    for experiment, title, sweep, dividend, under, measure, original, ours in LINES:
        if experiment not in run.verdicts:
            continue
        best_ratios = run.beside_best(experiment, sweep, ours) if ours else []
        mean = geometric_mean(best_ratios)
        lines.append(f"| {experiment} | {title} | {original} | "
                     f"{times(run.ratios(experiment, sweep, dividend, under, measure))} | "
                     f"{WORDS[run.verdicts[experiment]]} | {f'{digits(mean)} (`{ours}`)' if mean else '–'} |")
    return "\n".join(lines)
