#!/usr/bin/env python3
"""Each header compiles on its own: headers.py ROOT C++-COMPILER C-COMPILER [FLAG...]

The public C header is compiled as C11 and as C++, everything else as C++20. The installed headers are also compiled
together, with warnings that users may have. A header that a source file includes before anything else was compiled on
its own when that file was; it is not compiled again.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import tree

# Headers for users of another library, which may be absent.
OPTIONAL = {"asio/": pathlib.Path("/usr/include/boost/asio.hpp"),
            "io/spdlog_sink.hpp": pathlib.Path("/usr/include/spdlog/spdlog.h")}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror"]
USERS_WARNINGS = ["-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast", "-Wcast-qual",
                  "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Wformat=2", "-Wdouble-promotion"]


def compile_alone(root, path, compiler, language, flags):
    """None, or the finding with the compiler's first error."""
    # Through an including file: as a main file, `#pragma once` itself is warned about.
    command = [compiler, *language, *WARNINGS, *flags, "-fsyntax-only", "-I", "include", "-I", "src", "-I", ".", "-"]
    result = subprocess.run(command, cwd=root, input=f'#include "{pathlib.Path(root).resolve() / path}"\n',
                            capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    errors = [line for line in result.stderr.splitlines() if "error" in line] or [result.stderr.strip()]
    return tree.Finding(path, 1, f"does not compile on its own: {errors[0]}", "include what it uses")


def compile_with_warnings(root, compiler, headers):
    """None, or the finding with the first warning of the installed headers. pkg-config gives users a plain -I, so each
    warning of a user's own flags is shown in these headers, too."""
    flags = [*WARNINGS, *USERS_WARNINGS, *([] if "clang" in compiler else ["-Wuseless-cast"])]
    includes = "".join(f"#include <{path.relative_to('include')}>\n" for path in headers)
    result = subprocess.run([compiler, "-x", "c++", "-std=c++20", *flags, "-fsyntax-only", "-I", "include", "-"],
                            cwd=root, input=includes, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr.strip())
    if "fatal error" in first:
        return None  # an included file is missing, which other rules find
    return tree.Finding(pathlib.Path("include"), 1, f"has a warning: {first}", "avoid it: users have -Werror")


def included_first(root):
    """The headers that come first in a source file of the build."""
    first = set()
    for path in tree.files(root, {".cpp"}, ["src", "profiler"]):
        match = re.search(r'^#include [<"](.+)[>"]', (pathlib.Path(root) / path).read_text(encoding="utf-8"),
                          re.MULTILINE)
        if match:
            first.update(pathlib.Path(start) / match[1] for start in ("include", "src", "."))
    return first


def check(root, cxx, c, flags):
    jobs = []
    installed = []
    proven = included_first(root)
    for path in tree.files(root, {".h", ".hpp"}, ["include", "src", "profiler"]):
        if any(str(path).startswith(f"include/tarn/{start}") and not needed.exists()
               for start, needed in OPTIONAL.items()):
            continue
        if path.parts[0] == "include":
            installed.append(path)
        if path.suffix == ".hpp" and path in proven:
            continue
        # What is installed compiles with the flags of any user: none.
        options_ = [] if path.parts[0] == "include" else flags
        jobs.append((root, path, cxx, ["-x", "c++", "-std=c++20"], options_))
        if path.suffix == ".h":
            jobs.append((root, path, c, ["-x", "c", "-std=c11"], options_))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        warned = pool.submit(compile_with_warnings, root, cxx, installed)
        findings = [*pool.map(lambda job: compile_alone(*job), jobs), warned.result()]
    return [finding for finding in findings if finding]


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(tree.report(check(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])))
