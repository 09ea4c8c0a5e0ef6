"""Is the allocator really the one that serves the process?

Two questions, since a library can be loaded and not used: /proc/PID/maps shows that it is loaded, and the dynamic
linker's own account (LD_DEBUG=bindings) shows to which library each call of malloc and free was bound.
"""

import os
import re
from pathlib import Path

MALLOC_FAMILY = ("malloc", "calloc", "realloc", "free")
BINDING = re.compile(r"binding file (\S.*?) \[\d+\] to (\S.*?) \[\d+\]: normal symbol `([^']+)'")
ALLOCATOR_FILE = re.compile(r"lib(jemalloc|mimalloc|tcmalloc|tbbmalloc|tarn-malloc)[^/]*$")


def mapped_files(maps_text):
    """The files named in the text of a /proc/PID/maps."""
    files = set()
    for line in maps_text.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith("/"):
            files.add(fields[5])
    return files


def session_members(leader):
    """The processes of the session that the process `leader` leads: itself first, then what it started."""
    yield leader
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != leader:
            try:
                # After the name in brackets, which may hold anything: state, parent, group, session.
                session = Path(f"/proc/{name}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[3]
            except OSError:  # it has ended since it was listed
                continue
            if int(session) == leader:
                yield int(name)


def has_loaded(leader, program, library):
    """True once a process of the leader's session runs the file `program` and has mapped the file `library`."""
    for member in session_members(leader):
        try:
            if os.readlink(f"/proc/{member}/exe") == program:
                if library in mapped_files(Path(f"/proc/{member}/maps").read_text()):
                    return True
        except OSError:  # ended, or not yet readable
            continue
    return False


def parse_bindings(lines, symbols=MALLOC_FAMILY):
    """The set of (from, to, symbol) in the lines that LD_DEBUG=bindings prints, for these symbols."""
    matches = (BINDING.search(line) for line in lines)
    return {match.groups() for match in matches if match and match.group(3) in symbols}


def wrong_bindings(bindings, library):
    """Bindings that lead elsewhere than to the file `library`.

    Two kinds are right although they name another file. An allocator's library may bind for itself as it likes:
    redis-server keeps its linked jemalloc loaded beside the one put in front, and tbbmalloc is two libraries. And a
    program that takes the address of free gives every library the address of its own stub, which is bound onwards.
    """
    reaches = {(source, symbol) for source, target, symbol in bindings if os.path.realpath(target) == library}
    return sorted(
        (source, target, symbol)
        for source, target, symbol in bindings
        if os.path.realpath(target) != library
        and (target, symbol) not in reaches
        and os.path.realpath(source) != library
        and not ALLOCATOR_FILE.search(source)
    )
