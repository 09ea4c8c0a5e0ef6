"""What the tests of `tarn fix` share: a program with sites, its recording, and the command."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import prices
from paths import HANG_S, PATHS

NOISY = 16  # the one error whose list of sites is printed
PATCHES = 15  # of the program below
SHARED = tempfile.TemporaryDirectory(prefix="tarn-fix-test-")
ROOT = pathlib.Path(SHARED.name).resolve() / "project"
SOURCES = {
    ".gitignore": "/build/\n",
    ".clang-format": "BasedOnStyle: Google\nAllowShortIfStatementsOnASingleLine: Never\nIndentWidth: 4\n",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(program CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS "-g -O1 -fno-inline -Wl,--build-id")
add_executable(program program.cpp other.cpp)
include_directories("${TARN_INCLUDE}")
target_link_libraries(program "${TARN_LIBRARY}")
""",
    "shared.hpp": """#pragma once
#include <vector>
inline std::vector<long> multiples(int count) {
    std::vector<long> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(3L * i);  // header
    }
    return result;
}
""",
    "other.cpp": """#include "shared.hpp"
#include <memory>
#include "part/count.hpp"
long sum_of_others() {
    return multiples(count).back();
}

namespace {
struct node {
    explicit node(int number) : value(number) {}
    int value;
}; }
int single(int number) {
    std::unique_ptr<node> first(new node(number));  // pooled
    return first->value;
}
""",
    "program.cpp": """#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include "shared.hpp"

long sum_of_others();
struct token {
    explicit token(int number) : value(number) {}
    int value;
    char text[40] = {};
};

long squares(int count) {
    std::vector<long> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(static_cast<long>(i) * i);  // loop
    }
    return values.back();
}

int shared(int number) {
    std::shared_ptr<token> one(new token(number));  // pointer
    return one->value;
}

void fill(std::vector<long>& target, int count) {
    for (int i = 0; i < count; ++i) {
        target.push_back(i);  // refused
    }
}

long parsed(const std::vector<std::string>& texts, unsigned count) {
    std::vector<long> numbers;
    for (unsigned i = 0; i < count; ++i) {
        numbers.push_back(std::stol(texts[i]));  // rejecting
    }
    return numbers.back();
}

std::vector<long> multiples_of(int divisor, int count) {
    std::vector<long> result;
    for (int i = 0; i < count; ++i) {
        if (i % divisor == 0) result.push_back(i);  // conditional
    }
    return result;
}

long near(int count) {
    std::vector<long> values;
    std::shared_ptr<token> one(new token(count));  // near pointer
    for (int i = 0; i < count; ++i) {
        values.push_back(i + one->value);  // near loop
    }
    return values.back();
}

long last_ones(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        std::vector<long> values(50, i);  // hoisted
        sum += values.back();
    }
    return sum;
}

void put(std::vector<long>& target, int number) {
    target.insert(target.end(), 40, number);  // filled
}

long first_ones(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        std::vector<long> numbers;
        put(numbers, i);  // caller
        sum += numbers.front();
    }
    return sum;
}

long fifty(int first) {
    std::vector<long> values(50, first);  // recycled
    return values.back();
}

std::size_t length_of(std::string text) {
    std::string changed = text;  // moved
    changed[0] = 'y';
    return changed.size();
}

std::size_t size_of(const std::string& text) {
    const std::string copy = text;  // copied
    return copy.size();
}

std::size_t given_away() {
    std::string text(60, 'x');  // new
    return std::make_pair(1, text).second.size();  // given
}

std::size_t gathered(int count) {
    std::vector<std::string> list;
    for (int i = 0; i < count; ++i) {
        std::string text(60, 'x');
        text[0] = 'y';
        list.push_back(text);  // gathered
    }
    return list.size();
}

int single(int number);

int main() {
    long sum = 0;
    const std::string long_text(60, 'x');
    const std::vector<std::string> texts(300, "7");
    for (int round = 0; round < 3000; ++round) {
        auto filled = std::vector<long>();
        fill(filled, 300);
        sum += filled.back() + squares(300) + multiples(300).back() + sum_of_others() + parsed(texts, 300);
        sum += multiples_of(2, 600).back();
        for (int number = 0; number < 50; ++number) sum += shared(number) + near(20) + fifty(number) + single(number);
        sum += last_ones(20) + first_ones(20);
        for (int number = 0; number < 20; ++number) sum += static_cast<long>(length_of(long_text));
        for (int number = 0; number < 20; ++number) sum += static_cast<long>(size_of(long_text));
        for (int number = 0; number < 40; ++number) sum += static_cast<long>(given_away());
        sum += static_cast<long>(gathered(40));
    }
    std::printf("%ld\\n", sum);
}
""",
}


def run(*arguments, cwd=ROOT, check=True):
    return subprocess.run(list(map(str, arguments)), cwd=cwd, check=check, capture_output=True, text=True,
                          timeout=HANG_S)


def git(*arguments, cwd=ROOT):
    return run("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always",
               *arguments, cwd=cwd).stdout


def configure(folder):
    include = pathlib.Path(__file__).resolve().parents[3] / "include"
    run("cmake", "-S", ".", "-B", "build", f"-DTARN_INCLUDE={include}", f"-DTARN_LIBRARY={PATHS.library}", cwd=folder)


def line_of(mark, name="program.cpp"):
    return next(number for number, line in enumerate(SOURCES[name].splitlines(), 1) if f"// {mark}" in line)


def setUpModule():
    ROOT.mkdir()
    for name, text in SOURCES.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    part = pathlib.Path(SHARED.name).resolve() / "part"
    part.mkdir()
    git("init", "--quiet", cwd=part)
    (part / "count.hpp").write_text("inline constexpr int count = 300;\n", encoding="utf-8")
    git("add", "--all", cwd=part)
    git("commit", "--quiet", "--message", "Begin", cwd=part)
    git("init", "--quiet")
    git("submodule", "--quiet", "add", part)
    git("add", "--all")
    git("commit", "--quiet", "--message", "Begin")
    configure(ROOT)
    run("cmake", "--build", "build")
    run(PATHS.tarn, "record", "--heap", "--full", "-o", f"{SHARED.name}/rec", "--", "build/program")
    # Pairs so dear that the heap takes all of the program's time: then no share depends on how long it ran.
    prices.simplify(prices.measure(PATHS.tarn, SHARED.name), factor=1000)


class FixTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-fix-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def fix(self, *arguments, code=0, cwd=ROOT, recording=f"{SHARED.name}/rec", build="build", applies=False):
        """Runs `tarn fix`, which must change nothing unless it `applies`, and returns what it printed."""
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        before = self.state()
        result = subprocess.run(
            [PATHS.tarn, "fix", recording, "-p", build, "--quick", *map(str, arguments)],
            capture_output=True, text=True, timeout=HANG_S, check=False, cwd=cwd,
            env={**os.environ, "XDG_CACHE_HOME": SHARED.name, "TMPDIR": str(scratch)})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        if not applies:
            self.assertEqual(self.state(), before)
        self.assertEqual(list(scratch.iterdir()), [])
        if code != 0:
            self.assertEqual((result.stdout != "", result.stderr.count("\n")), (code == NOISY, 1), result.stderr)
            self.assertTrue(result.stderr.startswith("tarn: "), result.stderr)
        return result.stderr + result.stdout if code != 0 else result.stdout

    @staticmethod
    def state():
        """What a user sees of the repository: files, commits, branches, worktrees and loose objects."""
        files = {str(path): path.read_bytes() for path in sorted(ROOT.rglob("*")) if path.is_file() and
                 path.name not in ("index", ".ninja_log")}
        return files, git("worktree", "list"), git("for-each-ref")

    def sites(self, *arguments):
        return {(pathlib.Path(site["file"]).name, site["line"], site["remedy"]): site
                for site in json.loads(self.fix("--json", *arguments))["sites"]}
