#!/usr/bin/env python3
"""Installs a build and uses it as a stranger would: install_test.py BUILD [unittest arguments].

Everything happens in a folder whose name has a space, and the installed tree is moved before it is used, so that a
path of the build or of the first prefix left in it shows.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
ASIO_EXAMPLE = CONSUMER.parents[2] / "examples/asio.cpp"
GREETER = CONSUMER.parents[2] / "examples/greeter"
TAG = "tarn_headers_with_TARN_CHECKS_{TARN_CHECKS}_TARN_SMALL_{TARN_SMALL}_TARN_ADDRESS_SANITIZER_" \
      "{TARN_ADDRESS_SANITIZER}_need_a_matching_libtarn"
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
        cls.flavour = next((cls.prefix / "lib/cmake/tarn").glob("*/tarn-targets.cmake")).parent.name
        cls.libraries = "lib" if cls.flavour == "release" else f"lib/tarn/{cls.flavour}"
        cls.suffix = "" if cls.flavour == "release" else f"-{cls.flavour}"

    def pkg_config(self, *arguments, package="tarn"):
        return run("pkg-config", *arguments, package + self.suffix,
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
        for name in ["bin/tarn", "lib/libtarn-malloc.so", "lib/libtarn-record.so", "lib/libtarn-record.so-gdb.gdb",
                     *(f"{self.libraries}/libtarn{name}"
                       for name in [".a", "-io.a", "-quiet.a", "-malloc.a", "-malloc-inside.a", "-malloc.so"]),
                     *(f"lib/pkgconfig/tarn{name}{self.suffix}.pc"
                       for name in ["", "-asio", "-heap", "-io", "-malloc", "-malloc-inside", "-malloc-static",
                                    "-quiet", "-sync"]),
                     "lib/cmake/tarn/tarn-config.cmake", "lib/cmake/tarn/tarn-config-version.cmake",
                     "include/tarn/tarn.hpp", "include/tarn/tarn.h", "include/tarn/version.hpp",
                     "libexec/tarn/lab-list", "libexec/tarn/fleet/fleet.py", "share/man/man1/tarn.1",
                     "share/bash-completion/completions/tarn",
                     "share/doc/tarn/LICENSE", "share/doc/tarn/libncurses-dev.txt",
                     "share/doc/tarn/guide/record.md", "share/doc/tarn/reference/exit-codes.md"]:
            self.assertIn(name, installed)
        strangers = [name for name in installed if not name.startswith(
            ("bin/tarn", "lib/libtarn", "lib/tarn/", "lib/cmake/tarn/", "lib/pkgconfig/tarn",
             "include/tarn/", "libexec/tarn/lab-", "libexec/tarn/fleet/", "share/man/man1/tarn.1",
             "share/bash-completion/completions/tarn",
             "share/gdb/auto-load/", "share/tarn/", "share/doc/tarn/"))]
        self.assertEqual(strangers, [])

    def test_no_link_of_the_documents_is_dead(self):
        links = [(page, link) for page in (self.prefix / "share/doc/tarn").rglob("*.md")
                 for link in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", page.read_text(encoding="utf-8"))
                 if ":" not in link]
        self.assertGreater(len(links), 100)
        self.assertEqual([(page.name, link) for page, link in links if not (page.parent / link).exists()], [])

    def test_licences_of_what_the_page_contains_are_there(self):
        if (BUILD / "web/page/index.html").stat().st_size == 0:
            self.skipTest("a build without npm has no page")
        text = (self.prefix / "share/doc/tarn/page-licences.txt").read_text(encoding="utf-8")
        lock = json.loads((BUILD / "web/package-lock.json").read_text(encoding="utf-8"))
        for path, package in lock["packages"].items():
            if path and not package.get("dev"):
                self.assertIn(f"\n== {path.removeprefix('node_modules/')} {package['version']}\n", text)
        self.assertGreater(text.lower().count("copyright"), 10)

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

    def test_programs_build_with_find_package(self):
        build, _ = self.configure("upper")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "heap"), "ok\n")
        self.assertEqual(run(build / "sync"), "ok\n")
        self.assertEqual(run(build / "heap_c"), "ok\n")
        self.assertEqual(run(build / "io"), "ok\n")
        self.assertNotIn("liburing", run("ldd", build / "io"))  # opened at run time, if it is there
        self.assertNotIn(" W malloc", run("nm", build / "io"))  # that is in libtarn-quiet.a only
        self.assertEqual(run(build / "drop_in"), "libtarn-malloc.so\nlibtarn-malloc.so\n")
        self.assertEqual(run(build / "static"), "Tarn\n")

    def test_a_project_of_c_alone_builds_with_find_package(self):
        build = self.folder / "c alone"
        run("cmake", "-G", "Ninja", "-S", CONSUMER / "c_alone", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "heap_c"), "ok\n")
        self.assertEqual(run(build / "static_c"), "ok\n")
        self.assertEqual(run(build / "drop_in_c"), "ok\n")

    def test_asio_is_looked_for_only_where_it_is_wanted(self):
        _, without = self.configure("without asio", "-DONLY_FIND=ON", "-DPARTS=asio",
                                    "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON",
                                    "-DCMAKE_IGNORE_PATH=/usr/include", expect=1)
        self.assertIn("The component asio needs Asio: Boost 1.81", " ".join(without.split()))
        forms = {"boost": "/usr/include/boost/asio.hpp", "standalone": "/usr/include/asio.hpp"}
        for form in [name for name, header in forms.items() if os.path.exists(header)]:
            build, _ = self.configure(f"asio {form}", "-DPARTS=asio", f"-DTARN_ASIO={form}")
            run("cmake", "--build", build)
            self.assertEqual(run(build / "asio"), "ok\n")
            program = self.folder / f"asio {form} by pkg-config"
            run("c++", "-std=c++20", f"-DTARN_ASIO_STANDALONE={int(form == 'standalone')}", ASIO_EXAMPLE, "-o",
                program, *shlex.split(self.pkg_config("--cflags", "--libs", package="tarn-asio")))
            self.assertEqual(run(program), "ok\n")

    def test_tutorials_service_is_built_by_find_package_and_by_pkg_config(self):
        build = self.folder / "greeter"
        run("cmake", "-G", "Ninja", "-S", GREETER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        run("cmake", "--install", build, "--prefix", self.folder / "deployed")
        self.assertEqual(run(build / "hello"), "hello from Tarn\n")
        program = self.folder / "greeter by pkg-config"
        flags = shlex.split(self.pkg_config("--cflags", "--libs", package="tarn-io"))
        flags += shlex.split(self.pkg_config("--cflags", "--libs", package="tarn-sync"))
        run("c++", "-std=c++20", GREETER / "greeter.cpp", "-o", program, *flags)
        for greeter in [self.folder / "deployed/bin/greeter", program]:
            run(sys.executable, "-B", GREETER / "greeter_test.py", greeter, self.prefix / "bin/tarn")

    def test_pkg_config_gives_the_compiler_what_find_package_gives(self):
        build, _ = self.configure("flags", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        for entry in commands:
            name = pathlib.Path(entry["file"]).stem
            if name not in ("drop_in", "static"):  # which include nothing of Tarn
                by_cmake = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D"))]
                by_pkg_config = shlex.split(self.pkg_config("--cflags", package="tarn-io" if name == "io" else "tarn"))
                by_pkg_config = [os.path.normpath(word) for word in by_pkg_config]
                self.assertEqual(sorted(by_cmake), sorted(by_pkg_config), entry["file"])

    def test_components_are_the_libraries(self):
        self.configure("components", "-DPARTS=heap;io;sync;quiet;malloc;malloc_inside;malloc_static")
        _, output = self.configure("component", "-DPARTS=queue", expect=1)
        self.assertIn("There is no component queue", output)

    def test_find_package_picks_the_flavour(self):
        prefix = self.folder / "flavours"
        shutil.copytree(self.prefix / "lib/cmake", prefix / "lib/cmake")
        package = prefix / "lib/cmake/tarn"
        shutil.rmtree(package / self.flavour)
        for flavour in ["checks", "release", "thread"]:
            (package / flavour).mkdir()
            (package / flavour / "tarn-targets.cmake").write_text(
                f"add_library(tarn::heap INTERFACE IMPORTED)\nmessage(STATUS picked={flavour})\n", encoding="utf-8")
        for options, picked in [([], "release"), (["-DCMAKE_BUILD_TYPE=Debug"], "checks"),
                                (["-DCMAKE_BUILD_TYPE=RelWithDebInfo"], "release"),
                                (["-DTARN_FLAVOUR=checks"], "checks"),
                                (["-DCMAKE_BUILD_TYPE=Debug", "-DTARN_FLAVOUR=release"], "release"),
                                (["-DTARN_FLAVOUR=thread"], "thread")]:
            _, output = self.configure("picked " + picked, f"-DCMAKE_PREFIX_PATH={prefix}", "-DONLY_FIND=ON", *options)
            self.assertIn(f"picked={picked}\n", output, options)
        _, output = self.configure("unknown", f"-DCMAKE_PREFIX_PATH={prefix}", "-DTARN_FLAVOUR=fast", expect=1)
        self.assertIn("TARN_FLAVOUR=fast is not installed", output)
        self.assertIn("it has checks, release, thread",
                      " ".join(output.split()).replace("thread, release, checks", "checks, release, thread"))
        shutil.rmtree(package / "checks")
        _, output = self.configure("only release", f"-DCMAKE_PREFIX_PATH={prefix}", "-DONLY_FIND=ON",
                                   "-DCMAKE_BUILD_TYPE=Debug")
        self.assertIn("picked=release\n", output)

    def test_headers_and_library_of_different_flavours_are_not_linked(self):
        switches = {"TARN_CHECKS": int("checks" in self.flavour), "TARN_SMALL": 0, "TARN_ADDRESS_SANITIZER": 0}
        flags = shlex.split(self.pkg_config("--cflags", "--libs"))
        for extra in [[], ["-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]]:
            command = ["c++", "-std=c++20", CONSUMER / "heap.cpp", "-o", self.folder / "mismatch", *flags, *extra]
            run(*command)
            for switch, value in switches.items():
                output = run(*command, f"-U{switch}", f"-D{switch}={1 - value}", expect=1)
                self.assertIn(TAG.format(**{**switches, switch: 1 - value}), output)

    def test_find_package_in_lower_case_with_a_version(self):
        version = self.pkg_config("--modversion").strip()
        self.configure("lower", "-DSPELLING=tarn", f"-DWANTED={version}")

    def test_find_package_refuses_another_version(self):
        _, output = self.configure("later", "-DWANTED=99", expect=1)
        self.assertIn('compatible with requested version "99"', " ".join(output.split()))
        self.assertIn("tarn-config.cmake, version:", output)

    def test_programs_build_with_pkg_config(self):
        flags = shlex.split(self.pkg_config("--cflags", "--libs"))
        self.assertEqual(run(self.compile_c("heap.c", "by_pkg_config", *flags)), "ok\n")

    def test_pkg_config_of_each_library(self):
        for name, source in [("heap", "heap"), ("sync", "sync"), ("io", "io"), ("quiet", "heap"),
                             ("malloc", "drop_in")]:
            flags = shlex.split(self.pkg_config("--cflags", "--libs", package=f"tarn-{name}"))
            program = self.folder / f"pkg_config_{name}"
            run("c++", "-std=c++20", "-O1", CONSUMER / f"{source}.cpp", "-o", program, *flags)
            output = run(program, environment={"LD_LIBRARY_PATH": str(self.prefix / self.libraries)})
            self.assertEqual(output, "libtarn-malloc.so\nlibtarn-malloc.so\n" if name == "malloc" else "ok\n")

    @unittest.skipUnless(shutil.which("meson"), "no meson")
    def test_meson_gets_each_library_from_pkg_config(self):
        build = self.folder / "by meson"
        environment = {"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
        run("meson", "setup", build, CONSUMER, f"-Dsuffix={self.suffix}", environment=environment)
        run("meson", "compile", "-C", build)
        for name in ["heap", "sync", "io", "drop_in"]:
            self.assertEqual(run(build / name), "libtarn-malloc.so\n" * 2 if name == "drop_in" else "ok\n")

    def test_programs_have_the_drop_in_inside(self):
        build, _ = self.configure("inside", "-DPARTS=malloc_inside")
        run("cmake", "--build", build, "--target", "inside")
        flags = shlex.split(self.pkg_config("--libs", package="tarn-malloc-inside"))
        by_pkg_config, in_c = self.folder / "drop_in_inside", self.compile_c("plain.c", "inside_c", *flags)
        run("c++", "-std=c++20", CONSUMER / "drop_in.cpp", "-o", by_pkg_config, *flags)
        for program in build / "inside", by_pkg_config:
            self.assertEqual(run(program), f"{program.name}\n" * 2)
        self.assertTrue(run(in_c).endswith("ok\n"))  # after the lines of libgcc_s, which walks stacks
        self.assertNotIn("libstdc++", run("ldd", in_c))
        self.assertIn("libstdc++", run("ldd", by_pkg_config))
        output = run("c++", "-shared", "-o", self.folder / "library.so", *flags, expect=1)
        self.assertIn("not allowed in", output)

    def test_pkg_config_of_the_drop_in_for_static_programs(self):
        flags = shlex.split(self.pkg_config("--libs", package="tarn-malloc-static"))
        for kind in ["-static", "-static-pie"]:
            program = self.folder / f"pkg_config{kind}"
            run("c++", "-std=c++20", "-O1", "-fPIE", kind, CONSUMER / "static.cpp", "-o", program, *flags)
            self.assertEqual(run(program), "Tarn\n")

    def test_thread_sanitizer_reports_the_programs_races_alone(self):
        flags = shlex.split(self.pkg_config("--cflags", "--libs", package="tarn-log"))
        program = self.folder / "threads"
        run("c++", "-std=c++20", "-O1", "-g", "-fsanitize=thread", CONSUMER / "threads.cpp", "-o", program,
            *flags)
        for _ in range(3):
            self.assertEqual(run(program), "ok\n")
        output = run(program, "race", expect=66)  # the sanitizer's exit code
        self.assertEqual(output.count("WARNING: ThreadSanitizer: data race"), output.count("WARNING"), output)
        self.assertIn("race()::<lambda", output)

    def test_drop_in_brings_no_cxx_runtime_into_a_c_program(self):
        library = self.copy_without_spaces() / "lib/libtarn-malloc.so"
        plain = self.compile_c("plain.c", "plain")
        self.assertEqual(run(plain, environment={"LD_PRELOAD": str(library)}), "ok\n")

    def test_tarn_runs_a_program_on_the_installed_drop_in(self):
        prefix = self.copy_without_spaces()
        mappings = run(prefix / "bin/tarn", "run", "--", "cat", "/proc/self/maps")
        self.assertIn(str(prefix / "lib/libtarn-malloc.so"), mappings)

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
