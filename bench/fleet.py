#!/usr/bin/env python3
"""The time and memory of `tarn fleet` as a synthetic fleet grows by ten, twice (docs/guide/fleet.md):

  python3 bench/fleet.py --tarn build/release/bin/tarn --folder /var/tmp/fleet

Needs DuckDB for the python3 in PATH. The folder keeps the files for the next run: 50 million rows take 1 GB."""

import argparse
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/tool/exports"))
import fleet_data

QUERIES = ["versions", "sites", "regressions", "remedies", "outliers"]
ROWS = 25_000  # of a recording


def measured(command):
    """The seconds, the CPU time and the peak memory in MiB of a command."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tarn", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--recordings", type=int, nargs="+", default=[20, 200, 2000])
    options = parser.parse_args()
    import duckdb
    connection = duckdb.connect()
    connection.execute("set memory_limit = '1GB'")
    print("| recordings | rows | MB of files | query | seconds | CPU seconds | peak MiB |")
    print("|--:|--:|--:|---|--:|--:|--:|")
    for recordings in options.recordings:
        folder = options.folder / str(recordings)
        if not folder.exists():
            fleet_data.write_fleet(connection, folder, recordings, ROWS, min(1000, recordings // 2))
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        for query in QUERIES:
            wall, cpu, memory = measured([options.tarn, "fleet", str(folder), query, "--before", "1.3",
                                          "--after", "1.4", "--memory", options.memory])
            print(f"| {recordings:,} | {recordings * ROWS:,} | {size / 1e6:,.0f} | `{query}` | {wall:.1f} | "
                  f"{cpu:.1f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
