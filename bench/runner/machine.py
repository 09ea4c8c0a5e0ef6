"""The facts of the machine that a figure is worth nothing without."""

import datetime
import os
import platform
import re
from pathlib import Path


def value_of(path, pattern=r"(.*\S)", missing="unknown"):
    """The group of the first match in a file, or `missing`."""
    try:
        match = re.search(pattern, Path(path).read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else missing


def processor(missing="unknown"):
    return value_of("/proc/cpuinfo", r"^model name\s*: (.*)$", missing)


def facts(program):
    """program: the glibc column, which knows the compiler and the C library."""
    facts = program.run("facts")[0]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": processor() + " " + platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": value_of("/proc/meminfo", r"^MemTotal:\s*(.*)$"),
        "kernel": platform.release(),
        "libc": facts["libc"],
        "compiler": facts["compiler"],
        "transparent huge pages": value_of("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load average at start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def system_facts():
    """{name: value} of the machine and its system, strings and numbers only."""
    return {
        "processor": processor(platform.machine()),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(value_of("/proc/meminfo", r"^MemTotal:\s*(\d+) kB", 0)) / 2**20),
        "system": value_of("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)', platform.system()),
        "kernel": platform.release(),
        "huge_pages": value_of("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
        "load": round(os.getloadavg()[0], 1),
    }


def name():
    """For tables that need no more."""
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores"


def sentence(facts):
    return (f"{facts['processors']} x {facts['processor']}, {facts['memory_gib']} GiB, {facts['system']}, kernel "
            f"{facts['kernel']}, transparent huge pages: {facts['huge_pages']}, load before the start: {facts['load']}")


def warning(facts):
    """What to hold of the figures when others use the machine too; None when it was quiet."""
    if facts["load"] <= facts["processors"] / 4:
        return None
    return (f"the machine was not idle (load {facts['load']} on {facts['processors']} processors): times and "
            f"throughputs "
            "are of little worth, cpu and peak of more")
