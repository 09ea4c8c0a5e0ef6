#!/usr/bin/env python3
"""Uses the source tree inside another project, by add_subdirectory and by FetchContent: embedded_test.py [arguments].

TARN_TEST_EMBEDDED=full in the environment builds and runs the program, too. The project in embedded/ has names that
meet Tarn's own, and states what must be the same after Tarn as before.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
FULL = os.environ.get("TARN_TEST_EMBEDDED") == "full"  # builds and runs the program, too: half a minute of compiling
# What CMake and its own modules put into a cache; the rest must have a prefix.
FOREIGN = re.compile(r"^(CMAKE_|FETCHCONTENT_|embedding_|FETCH$|_GNUInstallDirs|_CMAKE_|FIND_PACKAGE_MESSAGE_DETAILS_"
                     r"|[Bb]oost_)")


def run(*command):
    """The output of a command that must succeed."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                            env={**os.environ, "DESTDIR": ""})
    if result.returncode:
        raise AssertionError(f"exit {result.returncode}: {command}\n{result.stdout}{result.stderr}")
    return result.stdout


class Embedded(unittest.TestCase):
    def configure(self, *options):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn embedded "))
        self.addCleanup(shutil.rmtree, folder)
        run("cmake", "-G", "Ninja", "-S", HERE / "embedded", "-B", folder / "build", f"-DTARN_SOURCE={SOURCE}",
            *options)
        return folder

    def test_add_subdirectory_leaves_the_include_path_and_the_installation_alone(self):
        folder = self.configure()
        target = "embedding" if FULL else "embedding_compiled"
        run("cmake", "--build", folder / "build", "--target", target, "--parallel", "2")
        if FULL:
            self.assertEqual(run(folder / "build/embedding"), "ok\n")
        run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
        installed = {path.name for path in (folder / "prefix").rglob("*") if path.is_file()}
        self.assertEqual(installed, {"main.cpp"})

    def test_fetch_content_adds_no_tests_tools_or_names_without_prefix(self):
        build = self.configure("-DFETCH=ON") / "build"
        self.assertIn("Total Tests: 0", run("ctest", "--test-dir", build, "-N"))
        targets = run("cmake", "--build", build, "--target", "help")
        self.assertNotIn("libtarn-malloc", run("ninja", "-C", build, "-n"))  # nothing in the project links it
        self.assertNotRegex(targets, "Unity/")  # the files of the engine are compiled alone
        self.assertNotRegex(targets, r"(?m)^(test_|bench|lab|example|tarn_command|tarn_record|appserver)")
        names = re.findall(r"^([^#/:\n]+):[A-Z]+=", (build / "CMakeCache.txt").read_text(encoding="utf-8"),
                           re.MULTILINE)
        self.assertGreater(len(names), 100)
        strangers = [name for name in names if not re.match(r"(?i)tarn_", name) and not FOREIGN.match(name)]
        self.assertEqual(strangers, [])

    def test_installation_can_be_asked_for(self):
        build = self.configure("-DFETCH=ON", "-DTARN_INSTALL=ON") / "build"
        self.assertIn("tarn-config.cmake", (build / "_deps/tarn-build/cmake_install.cmake").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
