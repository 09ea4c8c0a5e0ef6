"""The programs that the demo runs, one a file.

A workload has
    name, title         for --only and for the table
    programs            {executable: Debian package} that must be installed
    metrics             the figures it gives, in the order of the table
    prepare(context)    once, before the rounds; makes what every run shares
    probes()            [(name, argv)] of each program that is put on an allocator, in a form that ends at once:
                        with these it is checked that malloc is bound to that allocator
    run(context, allocator)   one run: an Outcome; raises runner.process.Failed
"""

import shutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    supervisor: object  # runner.process.Supervisor
    folder: str  # scratch of the demo, removed at its end


@dataclass(frozen=True)
class Outcome:
    figures: dict  # metric name → raw value
    result: str  # what the program computed; must be the same on every allocator


def missing_programs(workload):
    """Lines naming what is not installed."""
    return [f"{program} is not installed (Debian package {package})"
            for program, package in workload.programs.items() if shutil.which(program) is None]


def all_workloads():
    from workloads import compiler, python, redis, rocksdb
    return [redis.Redis(), rocksdb.RocksDB(), compiler.Compiler(), python.Python()]
