#!/usr/bin/env python3
"""Builds Meson projects with Tarn as a subproject, which the wrap gets from a clone of the checkout: meson_test.py."""

import pathlib
import re
import shutil
import tempfile
import unittest

from ports import CONSUMER, FIRST_EXAMPLE, FIRST_OUTPUT, PROJECT, run

WRAP = PROJECT / "packaging/meson"
PROGRAMS = {"heap": ("tarn", "ok\n"), "sync": ("tarn-sync", "ok\n"), "io": ("tarn-io", "ok\n"),
            "drop_in": ("tarn-malloc", "libtarn-malloc.so\n" * 2), "static": ("tarn-malloc-static", "Tarn\n"),
            "first": ("tarn-heap", FIRST_OUTPUT)}


@unittest.skipUnless(shutil.which("meson"), "no meson")
class Meson(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-meson-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.clone = cls.make_repository()
        cls.project = cls.make_project()
        cls.build = cls.project / "build"
        # As the guide says. Nothing of an installed Tarn may be found.
        cls.setup(cls.build, "--buildtype=release")
        run("meson", "compile", "-C", cls.build)

    @classmethod
    def setup(cls, build, *options):
        return run("meson", "setup", build, cls.project, "--wrap-mode=forcefallback", *options,
                   PKG_CONFIG_PATH=str(cls.folder / "none"))

    @classmethod
    def make_repository(cls):
        """A repository of the files as they are in the checkout, committed or not."""
        clone = cls.folder / "clone"
        for name in ["cmake", "include", "src"]:
            shutil.copytree(PROJECT / name, clone / name)
        for name in ["CMakeLists.txt", "LICENSE"]:
            shutil.copy(PROJECT / name, clone / name)
        run("git", "-C", clone, "init", "--quiet")
        run("git", "-C", clone, "add", ".")
        run("git", "-C", clone, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "-m",
            "all")
        return clone

    @classmethod
    def make_project(cls):
        project = cls.folder / "project"
        project.mkdir()
        shutil.copytree(WRAP, project / "subprojects")
        wrap = project / "subprojects/tarn.wrap"
        wrap.write_text(wrap.read_text(encoding="utf-8").replace("@url@", cls.clone.as_uri()), encoding="utf-8")
        lines = ["project('consumer', 'cpp', version: '1', default_options: ['cpp_std=c++20', 'warning_level=3', "
                 "'werror=true'])"]
        for program, (dependency, _) in PROGRAMS.items():
            shutil.copy(FIRST_EXAMPLE if program == "first" else CONSUMER / f"{program}.cpp",
                        project / f"{program}.cpp")
            linked = ", link_args: '-static'" if program == "static" else ""
            lines.append(f"executable('{program}', '{program}.cpp', "
                         f"dependencies: dependency('{dependency}', version: '>=0.1.0'){linked})")
        (project / "meson.build").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return project

    def test_programs_run(self):
        for program, (_, output) in PROGRAMS.items():
            self.assertEqual(run(self.build / program), output, program)

    def test_a_changed_file_of_the_library_is_built_again(self):
        source = self.project / "subprojects/tarn/src/base/fault.cpp"
        library = self.build / "subprojects/tarn/libtarn.a"
        self.assertNotIn("Linking target heap", run("meson", "compile", "-v", "-C", self.build))
        before = library.stat().st_mtime_ns
        text = source.read_text(encoding="utf-8")
        self.addCleanup(source.write_text, text, encoding="utf-8")
        source.write_text(text + "[[gnu::used]] const char added_by_test[] = \"added\";\n", encoding="utf-8")
        run("meson", "compile", "-C", self.build)
        self.assertGreater(library.stat().st_mtime_ns, before)
        self.assertIn(b"added_by_test", library.read_bytes())
        self.assertEqual(run(self.build / "heap"), "ok\n")

    def test_a_debug_build_has_the_library_with_checks(self):
        build = self.project / "debug"
        self.setup(build, "--buildtype=debug")
        run("meson", "compile", "-C", build, "heap")
        self.assertEqual(run(build / "heap"), "ok\n")
        self.assertIn("-DTARN_CHECKS=1", (build / "compile_commands.json").read_text(encoding="utf-8"))
        self.assertNotIn("-DTARN_CHECKS=1", (self.build / "compile_commands.json").read_text(encoding="utf-8"))

    def test_wrap_names_each_package_of_pkg_config(self):
        wrap = (WRAP / "tarn.wrap").read_text(encoding="utf-8")
        provided = re.search(r"^dependency_names = (.*)$", wrap, re.MULTILINE)[1].split(", ")
        installed = re.findall(r"^ *tarn_pkg_config\(([a-z-]+)", (PROJECT / "cmake/install.cmake").read_text("utf-8"),
                               re.MULTILINE)
        self.assertEqual(sorted(provided), sorted(installed))

    def test_version_is_that_of_the_header(self):
        header = (PROJECT / "include/tarn/version.hpp").read_text(encoding="utf-8")
        version = ".".join(re.search(rf"define TARN_VERSION_{part} +(\d+)", header)[1]
                           for part in ("MAJOR", "MINOR", "PATCH"))
        self.assertIn(f'"version": "{version}"', run("meson", "introspect", "--projectinfo", "--indent", self.build))


if __name__ == "__main__":
    unittest.main()
