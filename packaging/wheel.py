"""The wheel tarn-profiler: the command, its two libraries, and the shared libraries that the command needs."""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import zipfile

SCRIPTS = ["bin/tarn"]
DATA = ["lib/libtarn-malloc.so", "lib/libtarn-record.so", "lib/libtarn-record.so-gdb.gdb", "share/man/man1/tarn.1",
        "share/bash-completion/completions/tarn"]
FOLDER = "lib/tarn-profiler"  # of the shared libraries, below the prefix of the environment
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so")  # glibc is the system's


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(program):
    """The paths of the shared libraries that a program loads, without those of glibc."""
    paths = [pathlib.Path(path) for path in re.findall(r"=> (/\S+)", output_of("ldd", program))]
    return sorted(path for path in paths if not SYSTEM.match(path.name))


def package_of(library):
    """The Debian package of an installed library."""
    return output_of("dpkg-query", "--search", f"*/{library.parent.name}/{library.name}").split(":")[0]


def newest_glibc(files):
    """The newest version of glibc whose symbols some files need, such as (2, 35)."""
    return max(tuple(map(int, version.split(".")))
               for file in files for version in re.findall(r"\(GLIBC_([\d.]+)\)", output_of("objdump", "-T", file)))


def write(path, entries, seconds):
    """Writes a zip archive of (name, bytes, mode)."""
    date = time.gmtime(max(seconds, 315532800))[:6]  # a zip archive has no time before 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, mode in entries:
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)


def make(tarball, folder, version, seconds):
    """Makes the wheel of a tarball in a folder: its path, and the Debian packages of the libraries inside."""
    with tempfile.TemporaryDirectory() as work, tarfile.open(tarball) as tar:
        tar.extractall(work)
        prefix = next(pathlib.Path(work).iterdir())
        command = prefix / "bin/tarn"
        libraries = needed_libraries(command)
        packages = sorted({package_of(library) for library in libraries})
        bundled = prefix / FOLDER
        bundled.mkdir()
        for library in libraries:
            shutil.copyfile(library, bundled / library.name)
        # An rpath, not a runpath, so that the libraries find each other there, too.
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", f"$ORIGIN/../{FOLDER}", command], check=True)

        name = f"tarn_profiler-{version}"
        glibc = "_".join(map(str, newest_glibc([command, *bundled.iterdir(), *prefix.glob("lib/*.so")])))
        tag = f"py3-none-manylinux_{glibc}_{os.uname().machine}"
        entries = [(f"{name}.data/scripts/{pathlib.Path(file).name}", (prefix / file).read_bytes(), 0o755)
                   for file in SCRIPTS]
        data = [*DATA, *(f"{FOLDER}/{library.name}" for library in libraries),
                *(str(file.relative_to(prefix)) for pattern in ("libexec/tarn/fleet/*", "share/doc/tarn/*/**/*")
                  for file in sorted(prefix.glob(pattern)) if file.is_file())]
        entries += [(f"{name}.data/data/{file}", (prefix / file).read_bytes(), 0o644)
                    for file in data if (prefix / file).exists()]
        licences = {path.name: path for path in sorted((prefix / "share/doc/tarn").iterdir()) if path.is_file()}
        licences |= {f"{package}.txt": pathlib.Path("/usr/share/doc", package, "copyright") for package in packages}
        entries += [(f"{name}.dist-info/licenses/{file}", path.read_bytes(), 0o644) for file, path in licences.items()]
        metadata = {"METADATA": f"Metadata-Version: 2.1\nName: tarn-profiler\nVersion: {version}\n"
                                "Summary: Profiler of heap, locks, system calls and CPU time for C and C++ programs\n"
                                "License: MIT\nRequires-Python: >=3.8\n",
                    "WHEEL": f"Wheel-Version: 1.0\nGenerator: tarn\nRoot-Is-Purelib: false\nTag: {tag}\n"}
        entries += [(f"{name}.dist-info/{file}", text.encode(), 0o644) for file, text in metadata.items()]
        lines = [f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
                 f"{len(content)}\n" for file, content, _ in entries]
        record = f"{name}.dist-info/RECORD"
        wheel = folder / f"{name}-{tag}.whl"
        write(wheel, [*entries, (record, "".join([*lines, f"{record},,\n"]).encode(), 0o644)], seconds)
        return wheel, packages
