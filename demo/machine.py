"""The facts of the machine that a figure is worth nothing without."""

import os
import platform
import re
from pathlib import Path


def _read(path):
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def facts():
    """{name: value}, strings and numbers only."""
    model = re.search(r"^model name\s*: (.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', _read("/etc/os-release"), re.MULTILINE)
    pages = re.search(r"\[(\w+)\]", _read("/sys/kernel/mm/transparent_hugepage/enabled"))
    return {
        "processor": model.group(1) if model else platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory.group(1)) / 2**20) if memory else 0,
        "system": system.group(1) if system else platform.system(),
        "kernel": platform.release(),
        "huge_pages": pages.group(1) if pages else "unknown",
        "load": round(os.getloadavg()[0], 1),
    }


def sentence(facts):
    return (f"{facts['processors']} x {facts['processor']}, {facts['memory_gib']} GiB, {facts['system']}, kernel "
            f"{facts['kernel']}, transparent huge pages: {facts['huge_pages']}, load before the start: {facts['load']}")


def warning(facts):
    """What to hold of the figures when others use the machine too; None when it was quiet."""
    if facts["load"] <= facts["processors"] / 4:
        return None
    return (f"the machine was not idle (load {facts['load']} on {facts['processors']} processors): times and throughputs "
            "are of little worth, cpu and peak of more")
