"""The facts of the machine that stand beside every figure."""

import datetime
import os
import platform


def first_of(path, key):
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return "unknown"


def whole(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def facts(program):
    """program: the glibc column, which knows the compiler and the C library."""
    told = program.run("facts")[0]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": first_of("/proc/cpuinfo", "model name") + " " + platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": first_of("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "libc": told["libc"],
        "compiler": told["compiler"],
        "transparent huge pages": whole("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load average at start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }
