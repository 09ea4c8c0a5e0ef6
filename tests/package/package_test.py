#!/usr/bin/env python3
"""Packs a build, and installs the packages into a clean root: package_test.py BUILD [unittest arguments]."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import clean_root

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "packaging/package.py"
sys.path.insert(0, str(PACKAGE.parent))
CONSUMER = PROJECT / "tests/install/consumer"
OWN = {"libtarn-dev", "tarn-lab", "tarn-malloc", "tarn-tools"}
EPOCH = "1767225600"  # so that a checkout which git refuses can be packed, too
LATEST_GLIBC = (2, 35)  # of which the programs need symbols: docs/guide/packages.md says so
BUILD = None


def run(*command, expect=0, **settings):
    """The output of a command that must exit as expected."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    environment = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": EPOCH, **settings.pop("environment", {})}
    result = subprocess.run([str(word) for word in command], check=False, text=True, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **settings)
    if result.returncode != expect:
        raise AssertionError(f"exit {result.returncode}, not {expect}: {command}\n{result.stdout}")
    return result.stdout


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def first_example():
    """The commands of the README for an unmodified program, without comments."""
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"Use it on an unmodified program:\n```\n(.*?)```", text, re.DOTALL)[1]
    return [line.split("#")[0].strip() for line in block.splitlines()]


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "dpkg-shlibdeps (Debian package dpkg-dev) is missing")
@unittest.skipUnless(shutil.which("patchelf"), "patchelf is missing")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.results = cls.folder / "results"
        run(sys.executable, "-B", PACKAGE, "--to", cls.results, BUILD)
        cls.packages = sorted(cls.results.glob("*.deb"))

    def test_same_build_gives_the_same_bytes(self):
        second = self.folder / "second"
        other_folder = self.folder / "another folder for temporary files"
        other_folder.mkdir()
        run(sys.executable, "-B", PACKAGE, "--to", second, BUILD, umask=0o077,
            environment={"TMPDIR": str(other_folder), "TZ": "Asia/Tokyo", "LC_ALL": "C"})
        names = sorted(path.name for path in self.results.iterdir())
        self.assertEqual(names, sorted(path.name for path in second.iterdir()))
        for name in names:
            self.assertTrue((self.results / name).read_bytes() == (second / name).read_bytes(), name)

    def test_names_and_versions(self):
        version = run(BUILD / "bin/tarn", "--version").split()[1]
        self.assertEqual({field(package, "Package") for package in self.packages}, OWN)
        [packed] = {field(package, "Version") for package in self.packages}
        self.assertRegex(packed, rf"^{re.escape(version)}(~\d{{12}}\.[0-9a-f]{{8}})?$")
        self.assertEqual(len(list(self.results.glob(f"tarn-{packed}-Linux-*.tar.gz"))), 1)

    def test_each_commit_has_a_version_below_its_release(self):
        package = importlib.import_module("package")
        revision = "5da23ef4396d7cb20a236ea3d4e28b723fe7d671"
        self.assertEqual(package.package_version("0.1.0", True, revision, 0), ("0.1.0", "0.1.0"))
        self.assertEqual(package.package_version("0.1.0", False, None, 0), ("0.1.0", "0.1.0"))
        self.assertEqual(package.package_version("0.1.0", False, revision, int(EPOCH)),
                         ("0.1.0~202601010000.5da23ef4", "0.1.0.dev202601010000"))
        for lower, higher in [("0.1.0~202601010000.5da23ef4", "0.1.0"),
                              ("0.1.0~202601010000.f0000000", "0.1.0~202601010001.00000000")]:
            run("dpkg", "--compare-versions", lower, "lt", higher)

    def test_licences_of_other_libraries_are_in_the_packages(self):
        lines = (PROJECT / "packaging/libraries.txt").read_text(encoding="utf-8").splitlines()
        licences = {"page-licences.txt", *(f"{line}.txt" for line in lines if not line.startswith("#"))}
        tarball = run("tar", "-tf", next(self.results.glob("*.tar.gz"))).split()
        self.assertLessEqual(licences | {"LICENSE"}, {path.rpartition("share/doc/tarn/")[2] for path in tarball})
        [tools] = [path for path in self.packages if field(path, "Package") == "tarn-tools"]
        paths = [line.split()[5] for line in run("dpkg-deb", "--contents", tools).splitlines()]
        self.assertLessEqual(licences | {"copyright"}, {path.rpartition("share/doc/tarn-tools/")[2] for path in paths})
        with zipfile.ZipFile(next(self.results.glob("*.whl"))) as archive:
            wheel_licences = {name.rpartition("/licenses/")[2] for name in archive.namelist()}
        self.assertLessEqual(licences | {"LICENSE", "libdw1.txt", "libfmt9.txt"}, wheel_licences)

    def test_guides_that_the_help_names_are_in_the_packages(self):
        guide = "share/doc/tarn/guide/record.md"
        [tools] = [path for path in self.packages if field(path, "Package") == "tarn-tools"]
        with zipfile.ZipFile(next(self.results.glob("*.whl"))) as archive:
            for names in (run("tar", "-tf", next(self.results.glob("*.tar.gz"))).split(), archive.namelist(),
                          [line.split()[5] for line in run("dpkg-deb", "--contents", tools).splitlines()]):
                self.assertTrue(any(name.endswith(guide) for name in names), names)

    def test_copyright_is_in_the_form_that_machines_read(self):
        text = (PROJECT / "LICENSE").read_text(encoding="utf-8").partition("Permission")[2].split()
        for deb in self.packages:
            name, folder = field(deb, "Package"), self.folder / f"copyright of {deb.name}"
            run("dpkg-deb", "--extract", deb, folder)
            documents = folder / "usr/share/doc"
            self.assertEqual(importlib.import_module("package").debian_licence(name, documents), ("MIT", None))
            written = (documents / name / "copyright").read_text(encoding="utf-8")
            self.assertRegex(written, r"\nCopyright: 20\d\d [^\n]+\nLicense: Expat\n Permission")
            self.assertEqual([word for word in written.partition("Permission")[2].split() if word != "."], text)
            self.assertEqual("libgcc_eh.a" in written, name in ("tarn-malloc", "libtarn-dev"))

    def test_checksums_and_manifest(self):
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.results)
        summed = {line.split()[1] for line in (self.results / "SHA256SUMS").read_text(encoding="utf-8").splitlines()}
        self.assertEqual(summed | {"SHA256SUMS"}, {path.name for path in self.results.iterdir()})
        manifest = json.loads((self.results / "manifest.json").read_text(encoding="utf-8"))
        for package in self.packages:
            entry = next(entry for entry in manifest["packages"] if entry["name"] == package.name)
            entries = [line.split(None, 5) for line in run("dpkg-deb", "--contents", package).splitlines()]
            self.assertEqual({(file["path"], file["bytes"]) for file in entry["files"]},
                             {(fields[5].removeprefix("./"), int(fields[2])) for fields in entries
                              if fields[0].startswith("-")})

    def test_bill_of_materials_names_what_the_packages_load(self):
        text = next(self.results.glob("*.spdx.json")).read_text(encoding="utf-8")
        document = json.loads(text)
        names = {package["name"] for package in document["packages"]}
        identifiers = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for relation in document["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]},
                                 {*identifiers, "SPDXRef-DOCUMENT"})
        needed = {need for package in self.packages for need in clean_root.names_of(field(package, "Depends"))}
        self.assertLessEqual(needed - OWN, names)
        licences = {package["licenseDeclared"] for package in document["packages"]}
        self.assertNotIn("NOASSERTION", licences)
        self.assertEqual({licence for licence in licences if licence.startswith("LicenseRef-")},
                         {text["licenseId"] for text in document["hasExtractedLicensingInfos"]})

    @unittest.skipUnless(shutil.which("lintian"), "lintian is missing")
    def test_lintian_finds_nothing_but_the_listed_tags(self):
        allowed = ["--allow-root"] if os.geteuid() == 0 else []
        output = run("lintian", *allowed, "--suppress-tags-from-file", PROJECT / "packaging/lintian.txt",
                   *self.packages)
        self.assertEqual([line for line in output.splitlines() if re.match("[EW]:", line)], [])

    def test_tarball_works_where_it_is_unpacked(self):
        run("tar", "-xf", next(self.results.glob("*.tar.gz")), "-C", self.folder)
        prefix = next(path for path in self.folder.glob("tarn-*") if path.is_dir())
        self.assertIn(str(prefix / "lib/libtarn-malloc.so"),
                      run(prefix / "bin/tarn", "run", "--", "cat", "/proc/self/maps"))
        self.check_library(prefix)
        versions = {tuple(map(int, version.split("."))) for path in [*prefix.glob("bin/*"), *prefix.glob("lib/*.so")]
                    for version in re.findall(r"\(GLIBC_([\d.]+)\)", run("objdump", "--dynamic-syms", path))}
        self.assertLessEqual(max(versions), LATEST_GLIBC)

    @unittest.skipUnless(importlib.util.find_spec("ensurepip"), "ensurepip (Debian package python3-venv) is missing")
    def test_wheel_in_a_clean_environment(self):
        environment = self.folder / "environment"
        run(sys.executable, "-m", "venv", environment)
        pip = [environment / "bin/python", "-m", "pip", "--disable-pip-version-check"]
        before = set(environment.rglob("*"))
        run(*pip, "install", "--no-index", "--no-compile", next(self.results.glob("*.whl")))
        loaded = re.findall(r"=> (/\S+)", run("ldd", environment / "bin/tarn"))
        self.assertEqual([path for path in loaded if not path.startswith(str(environment))
                          and not re.search(r"/lib[cm]\.so", path)], [])
        self.check_record(["env", "-i", f"PATH={environment}/bin:/usr/bin:/bin", "sh", "-c"], self.folder)
        run(*pip, "uninstall", "--yes", "tarn-profiler")
        left = [path for path in set(environment.rglob("*")) - before if "__pycache__" not in path.parts]
        self.assertEqual([path for path in left if path.is_file()], [])

    def test_packages_in_a_clean_root(self):
        command = clean_root.namespace_command()
        if command is None:
            self.skipTest("the kernel allows no mount namespace here")
        root = self.folder / "root"
        root.mkdir()
        needed = {need for package in self.packages for need in clean_root.names_of(field(package, "Depends"))}
        clean_root.make(root, needed - OWN)
        before = {path for path in (root / "usr").rglob("*")}

        older = self.older_packages()
        run(*command, "dpkg", f"--root={root}", "--install", *older)
        output = run(*command, "dpkg", f"--root={root}", "--install", *self.packages)  # an upgrade
        self.assertNotIn("ldconfig:", output)
        installed = run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "--show", *sorted(OWN))
        self.assertNotIn("older", installed)
        self.check_first_example(root)
        self.check_library(root / "usr", root)
        self.assertTrue((root / "usr/share/gdb/auto-load/usr/lib/libtarn-record.so-gdb.gdb").exists())

        run(*command, "dpkg", f"--root={root}", "--purge", *sorted(OWN))
        self.assertEqual({path for path in (root / "usr").rglob("*")}, before)
        run(*command, "dpkg", f"--root={root}", "--install", *self.packages)
        self.check_first_example(root)

    def older_packages(self):
        """The same packages with a lower version."""
        older = []
        (self.folder / "older").mkdir()
        for package in self.packages:
            tree = self.folder / "older" / field(package, "Package")
            run("dpkg-deb", "--raw-extract", package, tree)
            control = tree / "DEBIAN/control"
            version = field(package, "Version")
            control.write_text(control.read_text(encoding="utf-8").replace(version, f"{version}~older"),
                               encoding="utf-8")
            older.append(tree.with_suffix(".deb"))
            run("dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, older[-1])
        return older

    def check_first_example(self, root):
        """Runs the README's commands in the root."""
        self.check_record([*clean_root.command_inside(root), "sh", "-c"], root / "tmp", "/tmp")

    def check_record(self, shell, folder, folder_inside=None):
        """Runs the README's commands by a shell in a folder, with an example as the server."""
        shutil.copy(BUILD / "bin/example_tokens", folder / "server")
        record, report, replaced = (run(*shell, f"cd {folder_inside or folder} && {line}") for line in first_example())
        self.assertIn("the same replies", record)
        self.assertRegex(report, r"\n[1-9][0-9,]* allocations, ")
        self.assertIn("the same replies", replaced)
        (folder / "tarn.rec").unlink()

    def check_library(self, prefix, root=None):
        """Compiles a program with the package's headers and libraries, and runs it, in the root if there is one."""
        flags = run("pkg-config", "--cflags", "--libs", "tarn",
                    environment={"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}).split()
        program = (root / "tmp" if root else self.folder) / "heap"
        run("c++", "-std=c++20", CONSUMER / "heap.cpp", "-o", program, *flags)
        command = [*clean_root.command_inside(root), "/tmp/heap"] if root else [program]
        self.assertEqual(run(*command), "ok\n")

    def test_bad_input_has_one_line(self):
        for command, environment, expected in [
                ([self.folder], {}, "is no build of Tarn"),
                ([BUILD], {"SOURCE_DATE_EPOCH": "yesterday"}, "set SOURCE_DATE_EPOCH to a number of seconds")]:
            output = run(sys.executable, "-B", PACKAGE, "--to", self.folder / "none", *command, expect=1,
                       environment=environment)
            self.assertIn(expected, output)
            self.assertEqual(output.count("\n"), 1)

    def test_a_folder_with_other_files_loses_none(self):
        folder = self.folder / "own"
        folder.mkdir()
        (folder / "letter").write_text("dear", encoding="utf-8")
        output = run(sys.executable, "-B", PACKAGE, "--to", folder, BUILD, expect=1)
        self.assertIn("has letter, which is not of a package", output)
        self.assertEqual((folder / "letter").read_text(encoding="utf-8"), "dear")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
