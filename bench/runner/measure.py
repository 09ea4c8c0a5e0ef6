"""Interleaved rounds: in each, every column runs every row once; the number of repetitions of a row is the same
for all columns and found once, with glibc."""

import os
import resource
import statistics
import sys
import time
from dataclasses import dataclass, field

from .averages import ratio_by_round
from .process import Failed


@dataclass
class Row:
    name: str
    threads: int
    units: int
    budget: float
    baseline: bool
    pools: bool = False  # measured by --pools only
    repetitions: int = 1
    results: dict = field(default_factory=dict)  # column name -> Samples


@dataclass
class Samples:
    is_busy = False  # for all samples of a run: the least CPU time stands for them

    ns: list = field(default_factory=list)
    processor_ns: list = field(default_factory=list)
    peak_kib: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    @property
    def value(self):
        return min(self.processor_ns) if Samples.is_busy else statistics.median(self.ns)

    def ratio_to(self, other):
        """This time over the other's."""
        if Samples.is_busy or len(self.ns) != len(other.ns):
            return self.value / other.value
        return ratio_by_round(self.ns, other.ns)

    @property
    def spread(self):
        """Interquartile range over median."""
        if len(self.ns) < 3:
            return 0.0
        measured = self.processor_ns if Samples.is_busy else self.ns
        low, middle, high = statistics.quantiles(measured, n=4, method="inclusive")
        return (high - low) / middle

    @property
    def peak(self):
        return statistics.median(self.peak_kib)

    def peak_over(self, other):
        return self.peak / other.peak


def rows_of(column):
    """Names of the rows that a column has, and what they are."""
    answers = column.run("rows")
    return {a["row"]: Row(a["row"], a["threads"], a["units"], a["budget"], a["baseline"],
                          a.get("pools", False)) for a in answers}


def processor_share(rows):
    """How much of the processors the programs got, as a text: below about 95 % the machine did other work, too."""
    shares = [cpu / wall for row in rows if row.threads == 1
              for samples in row.results.values() for cpu, wall in zip(samples.processor_ns, samples.ns)]
    return f"{100 * statistics.median(shares):.0f} % of the wall time (median over the rows of one thread)" \
        if shares else "unknown"


def round_to_two_digits(number):
    scale = 1
    while number >= 100:
        number, scale = number / 10, scale * 10
    return max(1, round(number)) * scale


def calibrate(row, glibc, target_ms):
    """Sets the repetitions so that glibc needs about target_ms (times the row's budget)."""
    budget_ns = target_ms * 1e6 * row.budget
    row.repetitions = 16  # fewer are mostly the row's own beginning
    for _ in range(12):
        wall = glibc.run("row", row.name, row.repetitions)[0]["wall_ns"]
        if budget_ns / 1.5 <= wall <= budget_ns * 1.5:
            return
        # In steps: what is short is not exact yet.
        row.repetitions = round_to_two_digits(row.repetitions * min(100, budget_ns / wall))


class Patience:
    """Repeats what other work of the machine disturbed, as long as its seconds last."""

    DISTURBED = 0.1  # of the processors' time
    LOOK = 0.5  # seconds

    def __init__(self, seconds):
        self.left, self.disturbed, self.total = seconds, 0, 0
        self.times, self.sleep = self.clock, time.sleep

    @staticmethod
    def clock():
        """Seconds: the clock, the processors' in all, those of our children."""
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        idle = fields[3] + fields[4]
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (time.monotonic(), (sum(fields) - idle) / os.sysconf("SC_CLK_TCK"),
                children.ru_utime + children.ru_stime)

    def others_share(self, before, after):
        wall, busy, children = (end - start for start, end in zip(before, after))
        return max(0.0, busy - children) / (wall * os.cpu_count())

    def run(self, measurement):
        """The answer of the first undisturbed call, or of the last that there was time for."""
        self.total += 1
        while True:
            before = self.times()
            answer = measurement()
            after = self.times()
            if self.others_share(before, after) <= self.DISTURBED:
                return answer
            self.left -= after[0] - before[0]
            self.wait()
            if self.left <= 0:
                self.disturbed += 1
                return answer

    def wait(self):
        """Until others leave the processors alone."""
        while self.left > 0:
            before = self.times()
            self.sleep(self.LOOK)
            after = self.times()
            self.left -= after[0] - before[0]
            if self.others_share(before, after) <= self.DISTURBED:
                return


class Progress:
    """One line on stderr, rewritten on a terminal."""

    def __init__(self, steps):
        self.steps, self.finished_steps, self.printed_percent = steps, 0, -1

    def step(self, text):
        self.finished_steps += 1
        percent = 100 * self.finished_steps // self.steps
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K   {percent:3d} %  {text}")
        elif percent // 10 != self.printed_percent // 10:
            sys.stderr.write(f"   {percent:3d} %  {text}\n")
        self.printed_percent = percent
        sys.stderr.flush()

    def end(self):
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


def measure(columns, is_chosen, rounds, target_ms, patience=None):
    """Measures all rows for which wanted(row) holds. Raises Failed when two checksums of a row differ."""
    column_rows = {column.name: rows_of(column) for column in columns}
    glibc = columns[0]
    patience = patience or Patience(0)
    rows = [row for row in column_rows[glibc.name].values() if is_chosen(row)]
    progress = Progress(len(rows) * (rounds + 1))
    for row in rows:
        progress.step(f"calibrating {row.name}")
        calibrate(row, glibc, target_ms)
    checksums = {}
    for turn in range(rounds):
        for number, row in enumerate(rows):
            progress.step(f"round {turn + 1} of {rounds}: {row.name}")
            having = [column for column in columns if row.name in column_rows[column.name]]
            first = (turn + number) % len(having)
            for column in having[first:] + having[:first]:
                answer = patience.run(lambda: column.run("row", row.name, row.repetitions)[0])
                sums = checksums.setdefault(row.name, (answer["checksum"], column.name))
                if sums[0] != answer["checksum"]:
                    raise Failed(f"{row.name}: checksum {answer['checksum']} of {column.name} is not "
                                 f"{sums[0]} of {sums[1]}")
                samples = row.results.setdefault(column.name, Samples())
                samples.ns.append(answer["ns"])
                samples.processor_ns.append(answer["processor_ns"])
                samples.peak_kib.append(answer["peak_kib"])
                samples.faults.append(answer["faults"])
    progress.end()
    return rows, {name: sums[0] for name, sums in checksums.items()}
