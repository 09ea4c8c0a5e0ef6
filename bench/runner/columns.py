"""The columns of the tables: who is measured, and how its program is started."""

import json
import os
import subprocess
from dataclasses import dataclass, replace

from . import peers
from .process import Failed

INLINE_FORMS = ["pooled", "allocator", "heap"]


@dataclass(frozen=True)
class Column:
    """One allocator in one form. The drop-in and the peers differ in the preloaded file only."""

    name: str
    command: tuple
    preload: str = ""
    family: str = ""  # of --pools: which table it is in

    @property
    def is_inline(self):
        return len(self.command) > 1

    def run(self, *arguments, timeout=600, prefix=()):
        """Runs the program and returns the JSON lines it prints. Each run takes seconds; the longest, for
        ThreadSanitizer on a busy machine, a few minutes."""
        environment = peers.neutral_environment("TARN_")
        if self.preload:
            environment["LD_PRELOAD"] = self.preload
        command = [*self.command, *map(str, arguments)]
        if prefix:  # the tool in front must not run on the allocator
            command = [*prefix, "-E", f"LD_PRELOAD={self.preload}", *command] if self.preload else [*prefix, *command]
            environment.pop("LD_PRELOAD", None)
        label = f"{self.name}: {' '.join(command[-len(arguments):])}"
        try:
            result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout,
                                    check=False)
        except subprocess.TimeoutExpired as slow:
            raise Failed(f"{label}: no end after {timeout} s") from slow
        if result.returncode != 0:
            raise Failed(f"{label}: exit {result.returncode}: {result.stderr.strip()[-500:]}")
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        for answer in answers:
            self._check_provider(answer)
        return answers

    def _check_provider(self, answer):
        # The loader only warns of a preload that it cannot do, and the C library would be measured instead.
        provider = answer.get("malloc")
        if self.preload and provider and os.path.realpath(provider) != os.path.realpath(self.preload):
            raise Failed(f"{self.name}: malloc comes from {provider}, not from {self.preload}")


# Forms of bench-pools that need a package, and how the peer is named.
POOL_PEERS = {
    "boost-pool": ("Boost.Pool", "libboost1.81-dev"),
    "boost-free": ("Boost.Lockfree", "libboost1.81-dev"),
    "foonathan-pool": ("foonathan/memory", "libfoonathan-memory-dev"),
    "foonathan-stack": ("foonathan/memory", "libfoonathan-memory-dev"),
    "tbb-pool": ("oneTBB", "libtbb-dev"),
    "tbb-fixed": ("oneTBB", "libtbb-dev"),
    "tbb-recycle": ("oneTBB", "libtbb-dev"),
}


NOTHING = "nothing"  # the form of bench-pools that allocates nothing


def find_nothing(build):
    return Column(NOTHING, (os.path.join(build, "bin", "bench-pools"), NOTHING))


def find_mallocs(program):
    """glibc and the packaged peers that are there, and one line for each that is missing."""
    present, missing = peers.find_packaged()
    return ([Column("glibc", (program,)), *(Column(name, (program,), path) for name, path in present)],
            [f"{name} is skipped: no {soname} (package {package})" for name, soname, package in missing])


def find_pools(build):
    """The mallocs, this library's heaps, and every pool and arena that was compiled in; and what is missing."""
    programs = {name: os.path.join(build, "bin", name) for name in ("bench-malloc", "bench-inline", "bench-pools")}
    for program in programs.values():
        if not os.path.exists(program):
            raise Failed(f"{program} is not there: ./dev build release")
    columns, missing = find_mallocs(programs["bench-malloc"])
    columns = [replace(column, family="malloc") for column in columns]
    columns += [Column(form, (programs["bench-inline"], form), family="heap") for form in ("pooled", "heap")]
    for answer in Column("forms", (programs["bench-pools"],)).run("forms"):
        if answer["form"] != NOTHING:
            columns.append(Column(answer["form"], (programs["bench-pools"], answer["form"]), family=answer["family"]))
    names = {column.name for column in columns}
    missing += [f"{name} is skipped: no {peer} (package {package})" for name, (peer, package) in POOL_PEERS.items()
                if name not in names]
    return columns, missing


def find_columns(build, extra_peers):
    """All columns of a build, and one line for each that is missing."""
    program = os.path.join(build, "bin", "bench-malloc")
    inline = os.path.join(build, "bin", "bench-inline")
    drop_in = os.path.join(build, "lib", "libtarn-malloc.so")
    if not os.path.exists(program):
        raise Failed(f"{program} is not there: ./dev build release")
    columns, missing = find_mallocs(program)
    for name, path in extra_peers:
        if not os.path.exists(path):
            raise Failed(f"--peer {name}: {path} is not there")
        columns.append(Column(name, (program,), os.path.abspath(path)))
    if os.path.exists(drop_in):
        columns.append(Column("tarn", (program,), drop_in))
    else:
        missing.append(f"tarn is skipped: no {drop_in}")
    if os.path.exists(inline):
        columns += [Column(form, (inline, form)) for form in INLINE_FORMS]
    else:
        missing.append(f"the inline forms are skipped: no {inline}")
    return columns, missing
