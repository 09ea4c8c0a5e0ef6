#!/usr/bin/env python3
"""Compiles the installed headers with the flags of pkg-config and nothing else: headers_test.py BUILD C++-COMPILER...

Each header is compiled alone, by the first compiler with checks and for C++23 without exceptions, and by the last one
as in a release, beside the standard library's headers, which are precompiled: tests/house finds a missing one of those.
What else a program may ask of its compiler is tried on all headers together, which takes one process each.
"""

import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Wconversion", "-Werror"]
OPTIONAL = {"tarn/asio/": "/usr/include/boost/asio.hpp", "tarn/io/spdlog_sink.hpp": "/usr/include/spdlog/spdlog.h"}
BUILD = None
COMPILERS = []


def is_clang(compiler):
    return "clang" in pathlib.Path(compiler).name


def compile_text(compiler, text, *flags):
    """What the compiler says about a text; empty when it compiles without a warning."""
    warnings = [*WARNINGS, "-Wno-sign-conversion"] if is_clang(compiler) else WARNINGS
    result = subprocess.run([compiler, "-x", "c++", "-std=c++20", *warnings, "-fsyntax-only", *flags, "-"], input=text,
                            capture_output=True, text=True, check=False)
    return result.stderr if result.returncode else ""


class Headers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn headers "))
        cls.addClassCleanup(shutil.rmtree, folder)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "prefix"], check=True, capture_output=True)
        (folder / "prefix").rename(folder / "moved")
        packages = [path.stem for path in (folder / "moved/lib/pkgconfig").glob("*.pc")]
        printed = subprocess.run(["pkg-config", "--cflags", *packages], check=True, capture_output=True, text=True,
                                 env={**os.environ, "PKG_CONFIG_PATH": str(folder / "moved/lib/pkgconfig")}).stdout
        cls.flags = shlex.split(printed)
        cls.folder = folder
        cls.include = folder / "moved/include"
        installed = sorted(str(path.relative_to(cls.include)) for path in cls.include.rglob("*")
                           if path.suffix in {".h", ".hpp"})
        cls.headers = [header for header in installed if not header.startswith(tuple(OPTIONAL))]
        # They need another library, whose headers take seconds.
        cls.optional_headers = [header for header in installed for start, needed in OPTIONAL.items()
                                if header.startswith(start) and os.path.exists(needed)]

    def find_errors(self, jobs):
        """Fails with the first message of each (compiler, text, flag...) that does not compile."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for job, errors in zip(jobs, pool.map(lambda job: compile_text(*job), jobs)):
                with self.subTest(compiler=job[0], flags=job[2:]):
                    self.assertEqual(errors[:2000], "")

    def text_of_all(self, order=1):
        return "".join(f"#include <{header}>\n" for header in self.headers[::order])

    def test_flags_are_one_folder(self):
        self.assertEqual([flag for flag in self.flags if not flag.startswith(("-I", "-DTARN_"))], [])

    def test_each_header_alone(self):
        self.assertGreater(len(self.headers), 40)
        standard = self.folder / "standard.hpp"
        names = {line for name in self.headers for path in [self.include / name]
                 for line in path.read_text(encoding="utf-8").splitlines()
                 if line.startswith("#include <") and "tarn/" not in line and "sanitizer/" not in line}
        standard.write_text("\n".join(sorted(names)), encoding="utf-8")
        checks = ["-UTARN_CHECKS", "-DTARN_CHECKS=1", "-std=c++2b", "-fno-exceptions", "-fno-rtti"]
        for compiler, mode, headers in [(COMPILERS[0], checks, self.headers),
                                        (COMPILERS[-1], [], [*self.headers, *self.optional_headers])]:
            # GCC has other macros with -Wpedantic, and would not use what was precompiled without it.
            language = ["-std=c++20", "-Wpedantic", *(flag for flag in mode if not flag.startswith(("-U", "-D")))]
            subprocess.run([compiler, "-x", "c++-header", *language, standard, "-o", f"{standard}.gch"], check=True)
            self.find_errors([(compiler, f"#include <{header}>\n", *self.flags, *mode, "-include", str(standard))
                              for header in headers])

    def test_what_a_program_may_ask_of_its_compiler(self):
        modes = ([], ["-std=c++2b", "-UTARN_CHECKS", "-DTARN_CHECKS=1"], ["-fno-exceptions", "-fno-rtti"],
                 ["-fsanitize=thread"])
        self.find_errors([(compiler, self.text_of_all(), *self.flags, *mode)
                          for compiler in COMPILERS for mode in modes])

    def test_headers_in_another_order(self):  # names of one header must not hide those that another one uses
        self.find_errors([(COMPILERS[-1], self.text_of_all(order=-1), *self.flags)])

    def test_c_header_in_c(self):
        for standard in ["-std=c11", "-std=c99"]:
            result = subprocess.run(["cc", "-x", "c", standard, *WARNINGS, "-fsyntax-only", *self.flags, "-"],
                                    input="#include <tarn/tarn.h>\n", capture_output=True, text=True, check=False)
            self.assertEqual(result.stderr, "")

    def test_older_language_and_compilers_are_told(self):
        for compiler in COMPILERS:
            old = (["-U__clang_major__", "-D__clang_major__=14"] if is_clang(compiler)
                   else ["-U__GNUC__", "-D__GNUC__=11"])
            for header in (name for name in self.headers if "/detail/" not in name):  # some are for C++17, too
                errors = compile_text(compiler, f"#include <{header}>\n", *self.flags, "-std=c++17", "-w")
                first_error = next((line for line in errors.splitlines() if "error" in line), "")
                if first_error:
                    self.assertIn("Tarn needs C++20: compile with -std=c++20", first_error)
            for header in ["tarn/tarn.hpp", "tarn/shared.hpp", "tarn/io.hpp"]:
                errors = compile_text(compiler, f"#include <{header}>\n", *self.flags, "-w", *old)
                self.assertIn("Tarn needs Clang 16 or GCC 12, or newer", errors)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    BUILD, *COMPILERS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
