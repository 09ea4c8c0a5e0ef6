#!/usr/bin/python3
"""Checks that a commit can be released: release.py VERSION [--earlier TARBALL].

It names everything that is missing, changes nothing, and prints the commands that are left. With the tarball of an
earlier version, abidiff compares the symbols of libtarn-malloc.so: a version that removes or changes one must raise
the major number, before 1.0.0 the minor one (semantic versioning).
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

from package import PROJECT, output_of, project_version

LIBRARY = "lib/libtarn-malloc.so"  # the shared library with an interface for other programs
FAILED, IS_INCOMPATIBLE = 3, 8  # bits of abidiff's exit status


def wrong_texts(version):
    """What is missing in files of the checkout."""
    if project_version() != version:
        yield f"include/tarn/version.hpp says {project_version()}: make it {version}"
    changes = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        yield f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)': write it, with the day of the release"


def wrong_commit(version):
    """What is wrong with the commit."""
    if changed := output_of("git", "status", "--short"):
        yield f"the checkout has changes: commit or remove {changed.splitlines()[0].split()[-1]}, and the others"
    if output_of("git", "rev-parse", "--abbrev-ref", "HEAD") != "main":
        yield "this is not the branch main: release from there"
    if output_of("git", "tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists: choose another version"


def wrong_packages(folder):
    """What is wrong with the results of ./dev package."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        yield f"{manifest} is missing: run ./dev package"
        return
    packed = json.loads(manifest.read_text(encoding="utf-8"))
    if packed["commit"] != output_of("git", "rev-parse", "HEAD") or packed["has_changes"]:
        yield f"the packages are of commit {packed['commit']}, or of changed files: run ./dev package"


def is_compatible(earlier, version):
    """Whether a version may not change an interface of an earlier one."""
    before, after = (tuple(map(int, text.split("."))) for text in (earlier, version))
    return after[0] == before[0] and (after[0] > 0 or after[1] == before[1])


def changed_interfaces(earlier, current, version):
    """What a version changes although its number promises compatibility. Both are tarballs."""
    with tempfile.TemporaryDirectory() as work:
        prefixes = []
        for tarball in (earlier, current):
            with tarfile.open(tarball) as tar:
                prefixes.append(pathlib.Path(work, str(len(prefixes)), tar.getnames()[0].split("/")[0]))
                tar.extractall(prefixes[-1].parent)
        number = re.match(r"tarn-([\d.]+)", prefixes[0].name)[1]
        result = subprocess.run(["abidiff", *(prefix / LIBRARY for prefix in prefixes)], check=False, text=True,
                                capture_output=True)
        if result.returncode & FAILED:
            sys.exit(f"release.py: abidiff failed: {result.stderr or result.stdout}")
        if result.returncode & IS_INCOMPATIBLE and is_compatible(number, version):
            yield f"{LIBRARY} lacks a part of the interface of {number}, which {version} promises:\n" \
                  f"{result.stdout.rstrip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("version", metavar="VERSION", help="such as 0.2.0")
    parser.add_argument("--earlier", type=pathlib.Path, metavar="TARBALL", help="of the release before")
    parser.add_argument("--packages", type=pathlib.Path, default=PROJECT / "build/package", metavar="FOLDER",
                        help="results of ./dev package; default build/package")
    arguments = parser.parse_args()
    version = arguments.version
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"release.py: {version} is no version: write MAJOR.MINOR.PATCH")
    problems = [*wrong_texts(version), *wrong_commit(version), *wrong_packages(arguments.packages)]
    current = next(arguments.packages.glob("tarn-*.tar.gz"), None)
    if arguments.earlier and current:
        problems += changed_interfaces(arguments.earlier, current, version)
    if problems:
        sys.exit("\n".join(f"release.py: {problem}" for problem in problems))
    print(f"Ready. What is left:\n  ./dev test --all && ./dev check\n  git tag --sign v{version} "
          f"--message 'Tarn {version}'\n  ./dev package\n  git push origin v{version}")


if __name__ == "__main__":
    main()
