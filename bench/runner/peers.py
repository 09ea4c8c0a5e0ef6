"""The peers: where they are, and what keeps their settings out of a child."""

import os
import subprocess

# What Debian 12 packages: name, file, package.
PACKAGED = (
    ("jemalloc", "libjemalloc.so.2", "libjemalloc2"),
    ("mimalloc", "libmimalloc.so.2", "libmimalloc2.0"),
    ("tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    ("tbbmalloc", "libtbbmalloc_proxy.so.2", "libtbbmalloc2"),
)

# Everybody runs with its defaults: what would change one allocator and not the others.
TUNING = ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_", "_RJEM_")


def neutral_environment(*foreign):
    """This process's environment without the settings of allocators and those that begin with `foreign`."""
    return {k: v for k, v in os.environ.items() if not k.startswith((*TUNING, *foreign))}


def library_path(soname):
    """Where the loader finds a library, or None."""
    for tool in ("ldconfig", "/sbin/ldconfig"):
        try:
            properties = subprocess.run([tool, "-p"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        for line in properties.splitlines():
            name, _, path = line.strip().partition(" => ")
            if name.split(" ")[0] == soname:
                return path
    return None


def find_packaged():
    """[(name, path)] of the peers that are there, and [(name, file, package)] of those that are missing."""
    paths = {name: library_path(soname) for name, soname, _ in PACKAGED}
    return [(name, path) for name, path in paths.items() if path], [entry for entry in PACKAGED if not paths[entry[0]]]
