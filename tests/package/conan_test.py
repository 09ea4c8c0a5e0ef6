#!/usr/bin/env python3
"""Makes the Conan package of the checkout, and uses it through CMake and through pkg-config: conan_test.py."""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = PROJECT / "tests/install/consumer"
CONAN = shutil.which("conan") or shutil.which("conan", path=str(PROJECT / "build/linters/bin"))


@unittest.skipUnless(CONAN, "no conan: ./dev test --all installs it by pip")
class Conan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-conan-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.environment = {**os.environ, "CONAN_HOME": str(cls.folder / "home"), "DESTDIR": ""}
        cls.run_tool(CONAN, "profile", "detect")
        # CMake gets the processors' number from Conan, and ctest runs other tests beside this one.
        cls.created = cls.run_tool(CONAN, "create", PROJECT / "packaging/conan", "--no-remote", *cls.settings(),
                                   "--test-folder", cls.copy_of_test_package())

    @classmethod
    def copy_of_test_package(cls):
        """Conan builds in the folder of the test package, which is the checkout's."""
        copied = cls.folder / "checkout/packaging/conan/test_package"
        shutil.copytree(PROJECT / "packaging/conan/test_package", copied, ignore=shutil.ignore_patterns("build"))
        (cls.folder / "checkout/tests").symlink_to(PROJECT / "tests")
        return copied

    @staticmethod
    def settings():
        return "--conf", "tools.build:jobs=2", "--settings", "compiler.cppstd=20"

    @classmethod
    def run_tool(cls, *command, expect=0, **settings):
        """The output of a command that must exit as expected."""
        result = subprocess.run([str(word) for word in command], check=False, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={**cls.environment, **settings})
        if result.returncode != expect:
            raise AssertionError(f"exit {result.returncode}, not {expect}: {shlex.join(map(str, command))}\n"
                                 f"{result.stdout}")
        return result.stdout

    def test_programs_of_cmake_run_with_the_targets_of_find_package(self):
        tested = self.created.rpartition("Running test()")[2].splitlines()
        self.assertEqual([line for line in tested if line in ("ok", "libtarn-malloc.so")],
                         ["ok", "ok", "ok", "ok", "libtarn-malloc.so", "libtarn-malloc.so"], self.created)

    def test_package_has_the_library_and_the_malloc_alone(self):
        package = pathlib.Path(self.run_tool(CONAN, "cache", "path", self.reference()).strip().splitlines()[-1])
        names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
        self.assertLessEqual({"lib/libtarn.a", "lib/libtarn-io.a", "lib/libtarn-quiet.a", "lib/libtarn-malloc.a",
                              "lib/libtarn-malloc.so", "include/tarn/heap.hpp", "licenses/LICENSE",
                              "lib/cmake/tarn/release/tarn-targets.cmake"}, names)
        self.assertEqual([name for name in names if name.startswith(("bin/", "lib/libtarn-record"))], [])

    def reference(self):
        output = self.run_tool(CONAN, "list", "tarn/*:*", "--format", "compact").split()
        return next(word for word in output if ":" in word and word.startswith("tarn/"))

    def test_programs_of_pkg_config_run(self):
        generated = self.folder / "generated"
        version = self.reference().split("#")[0]
        self.run_tool(CONAN, "install", "--requires", version, "--generator", "PkgConfigDeps", "--no-remote",
                      "--output-folder", generated, *self.settings())
        for package, source, expected in [("tarn", "heap.cpp", "ok"), ("tarn-io", "io.cpp", "ok"),
                                          ("tarn-sync", "sync.cpp", "ok"),
                                          ("tarn-malloc", "drop_in.cpp", "libtarn-malloc.so\nlibtarn-malloc.so")]:
            with self.subTest(package=package):
                flags = shlex.split(self.run_tool("pkg-config", "--cflags", "--libs", package,
                                                  PKG_CONFIG_PATH=str(generated)))
                program = generated / source.partition(".")[0]
                self.run_tool("c++", "-std=c++20", CONSUMER / source, "-o", program, *flags)
                paths = ":".join(word[2:] for word in flags if word.startswith("-L"))
                self.assertEqual(self.run_tool(program, LD_LIBRARY_PATH=paths).strip(), expected)

    def test_a_compiler_that_is_too_old_is_named(self):
        output = self.run_tool(CONAN, "create", PROJECT / "packaging/conan", "--no-remote", "--settings",
                               "compiler=gcc", "--settings", "compiler.version=11", "--settings",
                               "compiler.cppstd=20", "--test-folder=", expect=6)
        self.assertIn("Tarn is built by gcc 12 or clang 16 or later, not by gcc 11", output)


if __name__ == "__main__":
    unittest.main()
