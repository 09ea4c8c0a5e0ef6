#!/usr/bin/env python3
"""Builds the port for vcpkg from the checkout, and programs with its package: vcpkg_test.py.

vcpkg's own tool is in no registry of packages, so tests/package/vcpkg/build.cmake reads the port instead.
"""

import json
import pathlib
import re
import shutil
import tempfile
import unittest

from ports import CONSUMER, FIRST_EXAMPLE, FIRST_OUTPUT, PROJECT, run

PORT = PROJECT / "packaging/vcpkg/tarn"
PROGRAMS = {"heap": "ok\n", "heap_c": "ok\n", "io": "ok\n", "sync": "ok\n", "drop_in": "libtarn-malloc.so\n" * 2,
            "static": "Tarn\n"}


class Vcpkg(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-vcpkg-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.built = cls.build(PORT, cls.folder / "both")
        cls.package = cls.folder / "installed"  # vcpkg copies a package to where programs find it
        (cls.folder / "both/packages").rename(cls.package)

    @classmethod
    def build(cls, port, root, *options, expect=0):
        return run("cmake", "-DPORT=tarn", f"-DPORT_FOLDER={port}", f"-DROOT={root}", *options,
                   "-P", PROJECT / "tests/package/vcpkg/build.cmake", expect=expect)

    def consume(self, build_type):
        """Builds a stranger's project with the package; returns the folder of the programs."""
        build = self.folder / f"consumer {build_type}"
        run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.package}",
            f"-DCMAKE_BUILD_TYPE={build_type}", "-DPARTS=heap;io;malloc;malloc_static;quiet;sync")
        run("cmake", "--build", build)
        return build

    def test_programs_run_with_the_release(self):
        build = self.consume("Release")
        for program, output in PROGRAMS.items():
            self.assertEqual(run(build / program), output, program)
        self.assertIn(f"{self.package}/lib/libtarn-malloc.so", run("ldd", build / "drop_in"))

    def test_programs_of_a_debug_build_run_with_checks(self):
        build = self.consume("Debug")
        for program, output in PROGRAMS.items():
            self.assertEqual(run(build / program), output, program)
        self.assertIn(f"{self.package}/debug/lib/tarn/checks/libtarn-malloc.so", run("ldd", build / "drop_in"))
        self.assertIn("TARN_CHECKS=1", (build / "build.ninja").read_text(encoding="utf-8"))

    def test_the_first_example_of_the_readme_is_built_as_the_usage_says(self):
        usage = (self.package / "share/tarn/usage").read_text(encoding="utf-8")
        project = self.folder / "usage"
        project.mkdir()
        shutil.copy(FIRST_EXAMPLE, project / "main.cpp")
        lines = "\n".join(line for line in usage.splitlines() if line.startswith("    "))
        self.assertIn("find_package(Tarn CONFIG REQUIRED)", lines)
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(usage CXX)\nadd_executable(main main.cpp)\n" + lines + "\n",
            encoding="utf-8")
        run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.package}")
        run("cmake", "--build", project / "build")
        self.assertEqual(run(project / "build/main"), FIRST_OUTPUT)
        for target in re.findall(r"tarn::[a-z_]+", usage):
            self.assertIn(f"({target} ", (self.package / "share/tarn/release/tarn-targets.cmake").read_text("utf-8"))

    def test_programs_of_pkg_config_run(self):
        for package, folder in [("tarn", "lib"), ("tarn-checks", "debug/lib")]:
            flags = run("pkg-config", "--cflags", "--libs", package,
                        PKG_CONFIG_PATH=str(self.package / folder / "pkgconfig")).split()
            program = self.folder / package
            run("c++", "-std=c++20", CONSUMER / "heap.cpp", "-o", program, *flags)
            self.assertEqual(run(program), "ok\n")

    def test_a_triplet_without_a_debug_build_gets_the_release_alone(self):
        self.build(PORT, self.folder / "both", "-DVCPKG_BUILD_TYPE=release")  # it finds the objects of the first build
        package = self.folder / "both/packages"
        self.assertFalse((package / "debug").exists())
        self.assertEqual([path.parent.name for path in package.glob("share/tarn/*/tarn-targets.cmake")], ["release"])

    def test_version_is_that_of_the_header(self):
        header = (PROJECT / "include/tarn/version.hpp").read_text(encoding="utf-8")
        version = ".".join(re.search(rf"define TARN_VERSION_{part} +(\d+)", header)[1]
                           for part in ("MAJOR", "MINOR", "PATCH"))
        manifest = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
        self.assertEqual((manifest["name"], manifest["version"], manifest["license"]), ("tarn", version, "MIT"))
        hosts = {entry["name"] for entry in manifest["dependencies"] if entry["host"]}
        self.assertEqual(hosts, {"vcpkg-cmake", "vcpkg-cmake-config"})

    def test_the_stand_ins_refuse_what_vcpkg_does_not_document(self):
        port = self.folder / "port"
        shutil.copytree(PORT, port)
        for line, complaint in [("vcpkg_check_linkage(ONLY_SHARED)", "has no argument ONLY_SHARED"),
                                ("vcpkg_cmake_install()", "called before vcpkg_cmake_configure"),
                                ("vcpkg_cmake_configure(SOURCE_PATH)", "needs a value after SOURCE_PATH"),
                                ("vcpkg_cmake_configure(SOURCE_PATH /usr)", "has no CMakeLists.txt")]:
            (port / "portfile.cmake").write_text(line + "\n", encoding="utf-8")
            self.assertIn(complaint, " ".join(self.build(port, self.folder / "refused", expect=1).split()))


if __name__ == "__main__":
    unittest.main()
