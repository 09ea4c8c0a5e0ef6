"""What the demo measures, and how its figures are compared."""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Metric:
    """One measured figure of a workload. `scale` turns the raw figure into the printed unit."""

    name: str
    unit: str
    more_is_better: bool
    scale: float = 1.0


CPU = Metric("cpu", "s", more_is_better=False)
PEAK = Metric("peak", "MiB", more_is_better=False, scale=1 / 1024)
TIME = Metric("time", "s", more_is_better=False)


def requests(name):
    """A throughput metric: raw in operations per second, printed in thousands."""
    return Metric(name, "k/s", more_is_better=True, scale=1 / 1000)


def spread(values):
    """Half of the range over the median: 0.03 is printed as ±3%."""
    middle = median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def better_ratio(metric, ratio):
    """The ratio turned so that above 1 is better than the baseline."""
    return ratio if metric.more_is_better else 1 / ratio
