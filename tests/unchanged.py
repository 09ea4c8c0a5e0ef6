#!/usr/bin/env python3
"""Runs a test, unless its inputs are the same as when it last passed and UNCHANGED_TESTS is `skip`.

    unchanged.py STAMP INPUT... -- COMMAND...

INPUTs are files and folders. They and the files that the COMMAND names, such as compilers and plugins, are compared by
size and time. STAMP is written when the test passes and removed before it runs. This is for tests that do the same work
each time, whose result depends on nothing but these files and the system's packages."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys


def digest(inputs, command):
    """One hash of the command, of the files it names, and of all inputs."""
    files = [pathlib.Path(shutil.which(word) or word) for word in command]
    for path in map(pathlib.Path, inputs):
        files += sorted(path.rglob("*")) if path.is_dir() else [path]
    total = hashlib.sha256(repr(command).encode())
    for file in filter(pathlib.Path.is_file, files):
        facts = file.stat()
        total.update(f"{file} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return total.hexdigest()


def main(stamp, *arguments):
    border = arguments.index("--")
    inputs, command = arguments[:border], arguments[border + 1:]
    stamp = pathlib.Path(stamp)
    content = digest(inputs, command)
    if os.environ.pop("UNCHANGED_TESTS", "") == "skip" and stamp.is_file() and stamp.read_text() == content:
        print("unchanged since it passed")
        return 0
    stamp.unlink(missing_ok=True)
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(content)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 4 or "--" not in sys.argv:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
