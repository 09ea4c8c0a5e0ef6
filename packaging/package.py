#!/usr/bin/python3
"""Packs builds of Tarn: package.py --to FOLDER BUILD...

FOLDER gets a tarball that works under any prefix, the Debian packages, a wheel, an SBOM (SPDX 2.3), a manifest of all
files with their checksums, and SHA256SUMS. The builds are flavours (cmake/install.cmake) of one commit. The same builds
give the same bytes: all times are SOURCE_DATE_EPOCH, or the time of the last commit.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from urllib.parse import quote

import wheel

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=PROJECT).stdout.strip()


def project_version():
    text = (PROJECT / "include/tarn/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.search(rf"define TARN_VERSION_{part} +(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def commit():
    """The commit of the checkout; None in sources without git."""
    try:
        return output_of("git", "rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None


def package_version(version, is_tagged, revision, seconds):
    """The version of the packages and of the wheel: that of the release for its tag, and a lower one for other commits,
    which is higher for later ones."""
    if is_tagged or revision is None:
        return version, version
    date = time.strftime("%Y%m%d%H%M", time.gmtime(seconds))
    return f"{version}~{date}.{revision[:8]}", f"{version}.dev{date}"


def epoch():
    """The seconds since 1970 that stand for every time in the packages."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if text is None and commit():
        text = output_of("git", "log", "-1", "--format=%ct")
    if text is None or not text.isdecimal():
        sys.exit("package.py: no time for the packages: set SOURCE_DATE_EPOCH to a number of seconds, "
                 "or package from a git checkout")
    return int(text)


def pack(builds, folder, version, seconds):
    """Runs cpack once for each kind of package."""
    with tempfile.TemporaryDirectory() as work:
        for generator in ("DEB", "TGZ"):
            projects = ";".join(f"{build};tarn;ALL;/" for build in builds)
            settings = {"CPACK_GENERATOR": generator, "CPACK_PACKAGE_VERSION": version,
                        "CPACK_INSTALL_CMAKE_PROJECTS": projects, "CPACK_PACKAGE_DIRECTORY": work}
            config = pathlib.Path(work, "config.cmake")
            config.write_text("".join(f'set({name} "{value}")\n' for name, value in settings.items())
                              + f'include("{HERE / "cpack.cmake"}")\n', encoding="utf-8")
            result = subprocess.run(["cpack", "--config", config], cwd=work, check=False, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds), "LC_ALL": "C.UTF-8"})
            if result.returncode:
                sys.exit(f"package.py: cpack failed:\n{result.stdout}")
        packages = sorted(path for path in pathlib.Path(work).iterdir() if path.name.endswith((".deb", ".tar.gz")))
        return [pathlib.Path(shutil.move(path, folder / path.name)) for path in packages]


def contents(package):
    """Path, size and SHA-256 of each file in a package."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            return [{"path": entry.filename, "bytes": entry.file_size,
                     "sha256": hashlib.sha256(archive.read(entry)).hexdigest()} for entry in archive.infolist()]
    if package.suffix == ".deb":
        archive = tempfile.TemporaryFile()
        subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=archive)
        archive.seek(0)
    else:
        archive = package.open("rb")
    with archive, tarfile.open(fileobj=archive) as tar:
        return [{"path": member.name.removeprefix("./"), "bytes": member.size,
                 "sha256": hashlib.sha256(tar.extractfile(member).read()).hexdigest()}
                for member in tar if member.isfile()]


def remove_results(folder):
    """Removes what SHA256SUMS says that an earlier run wrote into the folder. Any other file is refused, and stays."""
    sums = folder / "SHA256SUMS"
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    names = {line.partition("  ")[2] for line in lines}
    for path in sorted(folder.iterdir()):
        if path.name not in {*names, sums.name} or not path.is_file():
            sys.exit(f"package.py: {folder} has {path.name}, which is not of a package: name an empty folder")
    for path in folder.iterdir():
        path.unlink()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# The words of a licence in Debian's files, and what SPDX calls them.
SPDX_WORDS = {"Apache-2.0": "Apache-2.0", "BSD-2-Clause": "BSD-2-Clause", "BSD-2-clause": "BSD-2-Clause",
              "BSD-3-clause": "BSD-3-Clause", "BSL-1.0": "BSL-1.0", "Expat": "MIT", "GPL-2": "GPL-2.0-only",
              "Zlib": "Zlib", "and": "AND", "or": "OR"}


def debian_licence(package, documents=pathlib.Path("/usr/share/doc")):
    """The licence of a Debian package as SPDX has it, and the text of its file where SPDX has no name for it."""
    text = (documents / package / "copyright").read_text(encoding="utf-8")
    stated = re.search(r"^Files: \*\n(?:[^\n]+\n)*?License: *([^\n]+)", text, re.MULTILINE)
    licence_names = [SPDX_WORDS.get(word) for word in stated[1].split()] if stated else [None]
    if None not in licence_names:
        return " ".join(licence_names), None
    return "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]", "-", package), text


def libraries(builds, packages, bundled):
    """Name, version and kind of each other library whose code is in the packages, or which they load, and its licence:
    a name of SPDX, or a reference and the text that it refers to."""
    text = (HERE / "libraries.txt").read_text(encoding="utf-8")
    names = {*bundled, *(line for line in text.splitlines() if line and not line.startswith("#"))}
    for package in packages:
        if package.suffix == ".deb":
            needs = output_of("dpkg-deb", "--field", package, "Depends").split(", ")
            names |= {need.split()[0] for need in needs if "(= " not in need}  # not one of our own
    versions = output_of("dpkg-query", "--show", "--showformat=${Package} ${Version}\n", *sorted(names))
    entries = [(name, version, "deb/debian", *debian_licence(name))
               for name, version in map(str.split, sorted(set(versions.splitlines())))]
    lock = builds[0] / "web/package-lock.json"
    if lock.exists():
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        entries += [(path.removeprefix("node_modules/"), package["version"], "npm", package["license"], None)
                  for path, package in packages.items() if path and not package.get("dev")]
    return entries


def bill_of_materials(version, seconds, source, parts, packages):
    """An SPDX 2.3 document: Tarn, its packages, and what of other projects is in them."""
    def package(name, own_version, purl, **more):
        locator = f"pkg:{purl}/{quote(name, safe='/')}@{quote(own_version, safe='')}"
        return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name), "name": name,
                "versionInfo": own_version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
                "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": locator}],
                **more}
    tarn = package("tarn", version, "generic", licenseConcluded="MIT", licenseDeclared="MIT")
    results = [package(path.name, version, "generic", packageFileName=path.name, licenseDeclared="MIT",
                       checksums=[{"algorithm": "SHA256", "checksumValue": digest(path)}]) for path in packages]
    others = [package(*part, licenseDeclared=licence) for *part, licence, _ in parts]
    texts = [{"licenseId": licence, "name": f"licences of {name}", "extractedText": text}
             for name, _, _, licence, text in parts if text is not None]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", tarn)]
    relations += [(result["SPDXID"], "GENERATED_FROM", tarn) for result in results]
    relations += [(tarn["SPDXID"], "DEPENDS_ON", other) for other in others]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"tarn-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/tarn-{version}-{source or seconds}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                             "creators": ["Organization: The Tarn authors", "Tool: tarn-package.py"]},
            "packages": [tarn, *results, *others], "hasExtractedLicensingInfos": texts,
            "relationships": [{"spdxElementId": first, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}
                              for first, kind, other in relations]}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--to", type=pathlib.Path, required=True, metavar="FOLDER", help="where the results go")
    parser.add_argument("builds", nargs="+", type=pathlib.Path, metavar="BUILD")
    arguments = parser.parse_args()
    os.umask(0o022)  # cpack stages with it what goes into the packages
    builds = [build.resolve() for build in arguments.builds]
    for build in builds:
        if not (build / "cmake_install.cmake").exists():
            sys.exit(f"package.py: {build} is no build of Tarn")
    folder = arguments.to.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    remove_results(folder)

    seconds, source = epoch(), commit()
    is_tagged = source is not None and f"v{project_version()}" in output_of("git", "tag", "--points-at").split()
    committed = int(output_of("git", "log", "-1", "--format=%ct")) if source else 0
    version, wheel_version = package_version(project_version(), is_tagged, source, committed)
    packages = pack(builds, folder, version, seconds)
    made, bundled = wheel.make(next(folder.glob("*.tar.gz")), folder, wheel_version, seconds)
    packages.append(made)
    write_json(folder / f"tarn-{version}.spdx.json",
               bill_of_materials(version, seconds, source, libraries(builds, packages, bundled), packages))
    write_json(folder / "manifest.json",
               {"version": version, "commit": source,
                "has_changes": source and output_of("git", "status", "--short") != "",
                "source_date_epoch": seconds,
                "compiler": output_of("c++", "--version").splitlines()[0],
                "packages": [{"name": path.name, "bytes": path.stat().st_size, "files": contents(path)}
                             for path in packages]})
    results = sorted(folder.iterdir())
    (folder / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in results),
                                       encoding="utf-8")
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>10,} {path.name}")


if __name__ == "__main__":
    main()
