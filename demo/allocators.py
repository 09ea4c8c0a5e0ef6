"""The allocators that are compared: where they are and how a process gets them.

Every allocator, glibc's included, is put in front with LD_PRELOAD. For glibc that changes nothing in most
programs, but a program that links another allocator itself (Debian's redis-server links jemalloc) would otherwise
use that one, and the column would have the wrong name.
"""

import ctypes.util
import glob
import os
from dataclasses import dataclass

LIBRARY_FOLDERS = ("/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib")

# name, library, Debian package
PEERS = (
    ("jemalloc", "libjemalloc.so.2", "libjemalloc2"),
    ("mimalloc", "libmimalloc.so.2", "libmimalloc2.0"),
    ("tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    ("tbbmalloc", "libtbbmalloc_proxy.so.2", "libtbbmalloc2"),
)

# Settings that would change one allocator and not the others; a child never inherits them.
FOREIGN_SETTINGS = ("LD_", "MALLOC_", "GLIBC_TUNABLES", "MIMALLOC_", "TCMALLOC_", "TBB_MALLOC_", "PYTHON")


@dataclass(frozen=True)
class Allocator:
    name: str
    path: str  # what LD_PRELOAD gets
    file: str  # the same file with every link resolved, as /proc/PID/maps shows it

    def environment(self, extra=None):
        """The environment of a child that runs on this allocator."""
        settings = neutral_environment()
        settings["LD_PRELOAD"] = self.path
        settings.update(extra or {})
        return settings


def neutral_environment():
    """The environment of a child that runs on whatever it was linked with."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN_SETTINGS)}
    settings["LC_ALL"] = "C"
    settings["CCACHE_DISABLE"] = "1"
    return settings


def find_library(file_name, folders=LIBRARY_FOLDERS):
    """The first file of that name in the system's library folders, or None."""
    for pattern in folders:
        for folder in sorted(glob.glob(pattern)):
            path = os.path.join(folder, file_name)
            if os.path.exists(path):
                return path
    return None


def make_allocator(name, path, link_folder):
    """An allocator whose path LD_PRELOAD can hold: it splits at spaces and colons, so such a path gets a link."""
    usable = os.path.abspath(path)
    if " " in usable or ":" in usable:
        link = os.path.join(link_folder, f"{name}.so")
        os.symlink(usable, link)
        usable = link
    return Allocator(name, usable, os.path.realpath(path))


def find_allocators(tarn_library, link_folder):
    """(allocators, notes): glibc first, then Tarn, then each installed peer; a note for each that is missing."""
    libc = find_library(ctypes.util.find_library("c") or "libc.so.6")
    if libc is None:
        raise FileNotFoundError("libc.so.6 is in none of " + ", ".join(LIBRARY_FOLDERS))
    allocators, notes = [make_allocator("glibc", libc, link_folder)], []
    if tarn_library:
        allocators.append(make_allocator("tarn", tarn_library, link_folder))
    for name, library, package in PEERS:
        path = find_library(library)
        if path:
            allocators.append(make_allocator(name, path, link_folder))
        else:
            notes.append(f"{name}: {library} not found (Debian package {package}); skipped")
    return allocators, notes
