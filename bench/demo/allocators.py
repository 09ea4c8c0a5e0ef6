"""The allocators that are compared, and how a process gets them.

Every allocator, glibc's included, is put in front with LD_PRELOAD. For glibc that changes nothing in most
programs, but a program that links another allocator itself (Debian's redis-server links jemalloc) would otherwise
use that one, and the column would have the wrong name.
"""

import os
from dataclasses import dataclass

from runner import peers


@dataclass(frozen=True)
class Allocator:
    name: str
    path: str  # what LD_PRELOAD gets
    file: str  # the same file with every link resolved, as /proc/PID/maps shows it

    def environment(self, extra=None):
        """The environment of a child that runs on this allocator."""
        return neutral_environment() | {"LD_PRELOAD": self.path} | (extra or {})


def neutral_environment():
    """The environment of a child that runs on whatever it was linked with. Settings of Tarn are a wish of the user."""
    return peers.neutral_environment("LD_", "PYTHON") | {"LC_ALL": "C", "CCACHE_DISABLE": "1"}


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
    libc = peers.library_path("libc.so.6")
    if libc is None:
        raise FileNotFoundError("ldconfig -p names no libc.so.6")
    present, missing = peers.find_packaged()
    places = [("glibc", libc), *([("tarn", tarn_library)] if tarn_library else []), *present]
    return ([make_allocator(name, path, link_folder) for name, path in places],
            [f"{name}: {library} not found (Debian package {package}); skipped" for name, library, package in missing])
