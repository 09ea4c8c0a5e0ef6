"""The facts of the machine that a figure is worth nothing without."""

import datetime
import os
import platform
import re
import time
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


def processors_in_use(seconds=0.5):
    """How many processors work now. The load average also counts programs that ended a minute ago."""
    def working():
        user, nice, system, _, _, interrupts, soft_interrupts, stolen = map(
            int, value_of("/proc/stat", r"^cpu +(.*)$", "0 0 0 0 0 0 0 0").split()[:8])
        return user + nice + system + interrupts + soft_interrupts + stolen
    before, begin = working(), time.monotonic()
    time.sleep(seconds)
    return (working() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begin)


def system_facts():
    """{name: value} of the machine and its system, strings and numbers only."""
    return {
        "processor": processor(platform.machine()),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(value_of("/proc/meminfo", r"^MemTotal:\s*(\d+) kB", 0)) / 2**20),
        "system": value_of("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)', platform.system()),
        "kernel": platform.release(),
        "huge_pages": value_of("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
        "in_use": round(processors_in_use(), 1),
    }


def name():
    """For tables that need no more."""
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores"


def sentence(facts):
    return (f"{facts['processors']} x {facts['processor']}, {facts['memory_gib']} GiB, {facts['system']}, kernel "
            f"{facts['kernel']}, transparent huge pages: {facts['huge_pages']}, processors in use before the start: "
            f"{facts['in_use']}")


def warning(facts):
    """What to hold of the figures when others use the machine too; None when it was quiet."""
    if facts["in_use"] <= facts["processors"] / 4:
        return None
    return (f"other programs used {facts['in_use']} of {facts['processors']} processors before the start: times and "
            "throughputs are of little worth, cpu and peak of more")
