"""db_bench of RocksDB: four threads that write, seek and read, with flushes and compactions behind them.

Small blocks over a small block cache: each read that misses allocates a block, and each insertion may evict one that
another thread allocated. README.md says why this program was chosen, with its counts.
"""

import hashlib
import os
import re
import shutil

from allocators import neutral_environment
from figures import CPU, PEAK, requests
from runner.process import Failed
from workloads import Outcome

THREADS = 4
KEYS = 100_000
READS = 75_000
TIMEOUT_S = 120

# fillrandom and the rest are measured; flush and compact bring every run to the same files before the reads.
STEPS = ("fillrandom", "flush", "compact", "seekrandom", "readrandom", "multireadrandom", "verifychecksum")
NAMES = {"fillrandom": "fill", "seekrandom": "seek", "readrandom": "read", "multireadrandom": "multiget"}

LINE = re.compile(r"^(\w+) +: +[\d.]+ micros/op (\d+) ops/sec [\d.]+ seconds (\d+) operations;(.*)$", re.MULTILINE)
FOUND = re.compile(r"\((\d+) of (\d+) found\)")


def parse_bench(output):
    """({metric name: operations per second}, [what each step counted]) from db_bench's report."""
    rates, counts = {}, []
    for step, rate, operations, tail in LINE.findall(output):
        if step in NAMES:
            rates[NAMES[step]] = float(rate)
            match = FOUND.search(tail)
            counts.append(f"{step} {operations}" + (f" found {match.group(1)}/{match.group(2)}" if match else ""))
    return rates, counts


def key_digest(lines):
    """(number of keys, digest of the keys) of the lines of `ldb --hex scan`.

    Only keys: where two threads wrote the same key, the last writer's value stands, and who was last is chance.
    """
    digest, number = hashlib.sha256(), 0
    for line in lines:
        key, separator, _ = line.partition(" : ")
        if separator and key.startswith("0x"):
            digest.update(key.encode() + b"\n")
            number += 1
    return number, digest.hexdigest()[:16]


class RocksDB:
    name = "rocksdb"
    title = f"RocksDB's db_bench: {THREADS} threads, 1 KiB blocks over a 4 MiB cache"
    programs = {"db_bench": "rocksdb-tools", "ldb": "rocksdb-tools"}
    metrics = (*map(requests, NAMES.values()), CPU, PEAK)

    def prepare(self, context):
        self._program = os.path.realpath(shutil.which("db_bench"))

    def probes(self):
        return [("db_bench", [self._program, "--version"])]

    def run(self, context, allocator):
        database = os.path.join(context.folder, "rocksdb")
        try:
            outcome = context.supervisor.run(f"db_bench on {allocator.name}", [
                self._program, "--benchmarks=" + ",".join(STEPS), f"--db={database}", f"--threads={THREADS}",
                f"--num={KEYS}", f"--reads={READS}", "--seed=7", "--block_size=1024", "--cache_size=4194304",
                "--write_buffer_size=4194304", "--batch_size=8", "--compression_type=none", "--disable_wal=1",
                "--progress_reports=0"],
                allocator.environment(), TIMEOUT_S, (self._program, allocator.file))
            rates, counts = parse_bench(outcome.output)
            missing = [name for name in NAMES.values() if name not in rates]
            if missing:
                raise Failed(f"db_bench on {allocator.name} gave no figure for {', '.join(missing)}:\n{outcome.output}")
            number, digest = context.supervisor.run(
                "ldb", ["ldb", f"--db={database}", "--hex", "scan"], neutral_environment(), TIMEOUT_S,
                read=key_digest).output
        finally:
            shutil.rmtree(database, ignore_errors=True)
        result = "; ".join([*counts, f"{number} keys, digest {digest}"])
        return Outcome({**rates, "cpu": outcome.cpu_s, "peak": outcome.peak_kib()}, result)
