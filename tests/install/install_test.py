#!/usr/bin/env python3
"""Installs a build and uses it as a stranger would: install_test.py BUILD [unittest arguments].

Everything happens in a folder whose name has a space, and the installed tree is moved before it is used, so that a
path of the build or of the first prefix left in it shows.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
BUILD = None


def run(*command, environment=None, expect=0):
    """The output of a command that must exit as expected."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                            env={**os.environ, **(environment or {})})
    if result.returncode != expect:
        raise AssertionError(f"exit {result.returncode}, not {expect}: {shlex.join(map(str, command))}\n"
                             f"{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn install "))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)

    def pkg_config(self, *words):
        return run("pkg-config", *words, "tarn",
                   environment={"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")})

    def configure(self, name, *options, expect=0):
        build = self.folder / name
        output = run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     *options, expect=expect)
        return build, output

    def compile_c(self, source, program, *flags):
        target = self.folder / program
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror", CONSUMER / source, "-o", target,
            *flags)
        return target

    def test_tree_has_what_is_promised(self):
        installed = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file()}
        for name in ["bin/tarn", "lib/libtarn.a", "lib/libtarn-io.a", "lib/libtarn-quiet.a", "lib/libtarn-malloc.so", "lib/pkgconfig/tarn.pc",
                     "lib/cmake/tarn/tarn-config.cmake", "lib/cmake/tarn/tarn-config-version.cmake",
                     "include/tarn/tarn.hpp", "include/tarn/tarn.h", "include/tarn/version.hpp", "libexec/tarn/lab-list"]:
            self.assertIn(name, installed)
        strangers = [name for name in installed if not name.startswith(
            ("bin/tarn", "lib/libtarn", "lib/cmake/tarn/", "lib/pkgconfig/tarn.pc", "include/tarn/", "libexec/tarn/lab-", "share/"))]
        self.assertEqual(strangers, [])

    def test_server_comes_with_its_sample_configuration(self):
        if not (BUILD / "bin/tarn-appserver").exists():
            self.skipTest("the server of examples/ needs packages that are not here")
        self.assertIn("--config", run(self.prefix / "bin/tarn-appserver", "--help"))
        self.assertIn("[server]", (self.prefix / "share/tarn/appserver.toml").read_text(encoding="utf-8"))

    def test_text_names_no_path_of_the_build(self):
        for path in self.prefix.rglob("*"):
            if path.suffix in {".cmake", ".pc", ".h", ".hpp"}:
                text = path.read_text(encoding="utf-8")
                self.assertNotIn(str(BUILD), text, path)
                self.assertNotIn(str(self.folder / "first"), text, path)

    def test_find_package(self):
        build, _ = self.configure("upper")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "heap"), "ok\n")
        self.assertEqual(run(build / "sync"), "ok\n")
        self.assertEqual(run(build / "heap_c"), "ok\n")
        self.assertEqual(run(build / "io"), "ok\n")
        self.assertNotIn("liburing", run("ldd", build / "io"))  # opened at run time, if it is there
        self.assertNotIn(" W malloc", run("nm", build / "io"))  # that is in libtarn-quiet.a only
        self.assertEqual(run(build / "drop_in"), "libtarn-malloc.so\nlibtarn-malloc.so\n")

    def test_find_package_in_lower_case_with_a_version(self):
        version = self.pkg_config("--modversion").strip()
        self.configure("lower", "-DSPELLING=tarn", f"-DWANTED={version}")

    def test_find_package_refuses_another_version(self):
        _, output = self.configure("later", "-DWANTED=99", expect=1)
        self.assertIn('compatible with requested version "99"', " ".join(output.split()))
        self.assertIn("tarn-config.cmake, version:", output)

    def test_pkg_config(self):
        flags = shlex.split(self.pkg_config("--cflags", "--libs"))
        self.assertEqual(run(self.compile_c("heap.c", "by_pkg_config", *flags)), "ok\n")

    def test_drop_in_brings_no_cxx_runtime_into_a_c_program(self):
        library = self.copy_without_spaces() / "lib/libtarn-malloc.so"
        plain = self.compile_c("plain.c", "plain")
        self.assertEqual(run(plain, environment={"LD_PRELOAD": str(library)}), "ok\n")

    def test_tarn_runs_a_program_on_the_installed_drop_in(self):
        prefix = self.copy_without_spaces()
        seen = run(prefix / "bin/tarn", "run", "--", "cat", "/proc/self/maps")
        self.assertIn(str(prefix / "lib/libtarn-malloc.so"), seen)

    def copy_without_spaces(self):
        """The installed tree where LD_PRELOAD can name it: there a space ends a name."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-"))
        self.addCleanup(shutil.rmtree, folder)
        return pathlib.Path(shutil.copytree(self.prefix, folder / "prefix"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
