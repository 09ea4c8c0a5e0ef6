"""The demo's report: one block a workload, one line an allocator, then the means."""

from statistics import median

from figures import better_ratio, spread
from runner.averages import geometric_mean, ratio_by_round

NAME_WIDTH = 11
CELL_WIDTH = 17
LEGEND = ("Each cell: median of the rounds ± half their range, then the ratio to glibc (median of the ratios within "
          "each "
          "round).\nk/s: thousands of operations per second, more is better; s, MiB: less is better. cpu: user and "
          "system "
          "time;\npeak: the largest resident size.")


class Results:
    """What was measured: figures[workload][allocator] is a list with one entry a round, a dict or None (failed)."""

    def __init__(self, workloads, allocator_names):
        self.workloads, self.names = workloads, allocator_names
        self.figures = {w.name: {name: [] for name in allocator_names} for w in workloads}

    def add(self, workload, name, figures):
        self.figures[workload.name][name].append(figures)

    def values(self, workload, name, metric):
        """One raw value a round; None for a round that failed."""
        return [entry and entry[metric.name] for entry in self.figures[workload.name][name]]

    def ratio(self, workload, name, metric):
        """To the first allocator, raw (value / value); None when they share no good round."""
        return ratio_by_round(self.values(workload, name, metric), self.values(workload, self.names[0], metric))

    def means(self, name):
        """{heading: geometric mean over the workloads}, each turned so that above 1 is better than glibc, but for
        memory, which stays "times glibc's". A workload counts once, however many figures it has."""
        kinds = {"speed": [], "cpu": [], "memory": []}
        for workload in self.workloads:
            speeds = []
            for metric in workload.metrics:
                ratio = self.ratio(workload, name, metric)
                if ratio is None:
                    return None
                if metric.name == "peak":
                    kinds["memory"].append(ratio)
                elif metric.name == "cpu":
                    kinds["cpu"].append(better_ratio(metric, ratio))
                else:
                    speeds.append(better_ratio(metric, ratio))
            kinds["speed"].append(geometric_mean(speeds))
        return {kind: geometric_mean(values) for kind, values in kinds.items()}


def number(value):
    """Three digits that say something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(metric, values, ratio):
    """`values` are raw, None where a round failed; `ratio` None leaves the ratio out."""
    good = [value * metric.scale for value in values if value is not None]
    if not good:
        return "failed"
    text = f"{number(median(good))} ±{spread(good):.0%}"
    return text if ratio is None else f"{text} {ratio:.2f}x"


def block(results, workload):
    lines = [workload.title, " " * NAME_WIDTH + "".join(
        f"{metric.name + ' ' + metric.unit:>{CELL_WIDTH}}" for metric in workload.metrics)]
    for name in results.names:
        cells = [cell(metric, results.values(workload, name, metric), results.ratio(workload, name, metric))
                 for metric in workload.metrics]
        lines.append(f"{name:<{NAME_WIDTH}}" + "".join(f"{text:>{CELL_WIDTH}}" for text in cells))
    return "\n".join(lines)


def summary(results):
    lines = ["All together: geometric means over the workloads, against glibc",
             " " * NAME_WIDTH + f"{'speed':>{CELL_WIDTH}}{'cpu':>{CELL_WIDTH}}{'memory':>{CELL_WIDTH}}"]
    for name in results.names:
        means = results.means(name)
        if means is None:
            lines.append(f"{name:<{NAME_WIDTH}}{'failed':>{CELL_WIDTH}}")
            continue
        lines.append(f"{name:<{NAME_WIDTH}}" + "".join(f"{means[kind]:>{CELL_WIDTH - 1}.2f}x"
                                                       for kind in ("speed", "cpu", "memory")))
    lines.append("speed: of the throughputs and times, more is better; cpu: likewise, of the CPU time; "
                 "memory: peak, less is better.")
    return "\n".join(lines)


def report(results):
    return "\n\n".join([LEGEND, *(block(results, w) for w in results.workloads), summary(results)])
