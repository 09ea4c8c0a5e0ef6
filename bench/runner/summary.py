"""What the samples say: ratios, means, and the goals that the project has set itself."""

import statistics
from dataclasses import dataclass

from .averages import geometric_mean
from .measure import Samples


def value_of(row, column):
    """The nanoseconds of a column in a row, or None."""
    return row.results[column].value if row is not None and column in row.results else None


def through_malloc(row):
    """Results of the malloc form by column; of others than Tarn."""
    return {name: samples for name, samples in row.results.items() if name not in ("pooled", "allocator", "heap")}


def others(row):
    return {name: samples for name, samples in through_malloc(row).items() if name != "tarn"}


def best_other(row):
    """Name and nanoseconds of the fastest allocator that is not Tarn's, or None."""
    peers = others(row)
    if not peers:
        return None
    name = min(peers, key=lambda name: peers[name].value)
    return name, peers[name].value


def ratio_to_best(row, column="tarn"):
    best = best_other(row)
    return row.results[column].ratio_to(row.results[best[0]]) if best and column in row.results else None


def time_means(rows, columns):
    """Geometric mean over the rows of Tarn's time over each other allocator's."""
    compared_rows = [row for row in rows if not row.baseline and "tarn" in row.results]
    return {name: geometric_mean(row.results["tarn"].ratio_to(row.results[name]) for row in compared_rows)
            for name in columns if name != "tarn"} if compared_rows else {}


def means_over_glibc(rows, columns, ratio):
    """Geometric mean over the rows of each allocator's ratio (of time or peak memory) to glibc."""
    compared_rows = [row for row in rows if not row.baseline]
    return {name: geometric_mean(ratio(row.results[name], row.results["glibc"]) for row in compared_rows)
            for name in columns if name != "glibc"} if compared_rows else {}


def queue_alone(rows):
    """ns of the queue alone, or None. It allocates nothing, so that its columns are measurements of one thing: their
    median."""
    queue = next((row for row in rows if row.name == "queue-alone"), None)
    return statistics.median(samples.value for samples in queue.results.values()) if queue else None


def handoff_without_queue(rows):
    """ns of the handoff rows less those of the queue alone, by row and column."""
    queue_ratio = queue_alone(rows)
    if queue_ratio is None:
        return {}
    net = {}
    for row in rows:
        if row.name.startswith("handoff"):
            net[row.name] = {name: samples.value - queue_ratio for name, samples in row.results.items()}
    return net


@dataclass
class Goal:
    text: str
    reached: float
    limit: float
    at_least: bool

    @property
    def met(self):
        return self.reached >= self.limit if self.at_least else self.reached <= self.limit

    def line(self):
        verdict = "reached" if self.met else "MISSED "
        relation = "at least" if self.at_least else "at most"
        return f"{verdict}  {self.reached:8.2f}  ({relation} {self.limit:g})  {self.text}"


def goals(rows, columns):
    """Each goal that the measured rows can decide."""
    lines = []
    by_name = {row.name: row for row in rows}

    def inline_goal(names, limit, text):
        for form in ("pooled", "allocator", "heap"):
            ratios = {name: 1 / ratio_to_best(by_name[name], form) for name in names
                      if name in by_name and form in by_name[name].results and others(by_name[name])}
            if ratios:
                worst = min(ratios, key=ratios.get)
                lines.append(Goal(f"inline, {form}: {text}, times faster than the best malloc (least: {worst})",
                                  ratios[worst], limit, True))

    small = [16, 64, 256, 1024]
    inline_goal([f"pair-{size}{t}" for size in small for t in ("", "-2t")], 3, "pairs to 1 KiB, 1 and 2 threads")
    inline_goal(["burst-fifo-64", "burst-lifo-64", "burst-fifo-64-2t", "burst-lifo-64-2t"], 2, "bursts of 64")
    inline_goal(["scatter-10000"], 1.5, "random-order frees")
    for name, mean in time_means(rows, columns).items():
        lines.append(Goal(f"drop-in: time over that of {name}, geometric mean", mean, 1, False))
    worst = max((row for row in rows if not row.baseline and "tarn" in row.results and others(row)),
                key=ratio_to_best, default=None)
    if worst:
        lines.append(Goal(f"drop-in: time over the best other's, worst row ({worst.name}, {best_other(worst)[0]})",
                          ratio_to_best(worst), 1.1, False))
    memory = means_over_glibc(rows, columns, Samples.peak_over).get("tarn")
    if memory:
        lines.append(Goal("drop-in: peak memory over glibc's, geometric mean", memory, 1.2, False))
    for name, net in handoff_without_queue(rows).items():
        best = min((ns for column, ns in net.items() if column in columns and column != "tarn"), default=None)
        if "tarn" in net and best:
            lines.append(Goal(f"drop-in: {name} without the queue, times faster than the best other",
                              best / max(net["tarn"], 0.1), 2, True))
    return lines
