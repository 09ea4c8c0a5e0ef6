#!/usr/bin/env python3
"""What `tarn fix` finds in real programs: programs.py [--tarn TARN] [--folder FOLDER] [--quick] [NAME ...]

The sources are Debian's, by apt-get source, in FOLDER (default: build/programs), which is not part of the project. Each
program is built as C++20 with Tarn's library, recorded under a load, and given to `tarn fix --check --prove`. The
result is a table: sites that were listed, patches that were offered, built, passed the check and gained, and the range
that was predicted beside what was measured. --quick leaves out the measurement."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = "deb-src http://deb.debian.org/debian bookworm main\n"
# A launcher, such as ccache, would be in compile_commands.json, and its cache would hide that a patch does not build.
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Program:
    package: str
    load: str             # a command, from the root of the sources; {input} is the folder of the inputs
    description: str      # of the load
    check: str            # what must pass with each patch; {load} must print the same as without a patch
    options: tuple = ()   # of CMake
    changes: tuple = ()   # of the sources, before the first commit: file, text, new text
    target: str = "all"   # of the build
    cmake: str = ""       # CMakeLists.txt of a program that has none


PROGRAMS = [
    Program("ninja-build", "build/ninja -C {input} -t targets all", "a build with 60,000 targets",
            "build/ninja_test >/dev/null && {same}"),
    Program("libjsoncpp", "build/bin/jsontestrunner_exe {input}/data.json", "7 MB of JSON",
            "build/bin/jsoncpp_test >/dev/null && {same}", ("-DBUILD_SHARED_LIBS=OFF", "-DBUILD_OBJECT_LIBS=OFF"),
            (("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 11)", "set(CMAKE_CXX_STANDARD 20)"),)),
    Program("yaml-cpp", "build/util/parse {input}/data.yaml", "4 MB of YAML", "{same}",
            ("-DYAML_CPP_BUILD_TESTS=OFF",)),
    Program("jsonnet", "build/jsonnet {input}/page.jsonnet", "a document of 4,000 parts",
            "(cd test_suite && for f in [a-df-z]*.jsonnet; do [ $f = stdlib.jsonnet ] || [ ! -e $f.golden ] || "
            "../build/jsonnet $f 2>&1 | diff -q - $f.golden || exit 1; done) >/dev/null && {same}",
            ("-DBUILD_TESTS=OFF", "-DBUILD_STATIC_LIBS=ON"),
            (("CMakeLists.txt", "-std=c++11", "-std=c++20"), ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 11)", "")),
            target="jsonnet"),
    Program("hunspell", "build/example {input}/words.aff {input}/words.dic {input}/words.txt", "400 words, most wrong",
            "{same}", cmake="""cmake_minimum_required(VERSION 3.20)
project(hunspell CXX)
file(GLOB sources src/hunspell/*.cxx)
add_executable(example src/tools/example.cxx ${sources})
"""),
]


def run(arguments, **options):
    """Runs a command, and ends with its last words if it fails."""
    result = subprocess.run(arguments, check=False, capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {(result.stderr or result.stdout)[-1000:]}")
    return result.stdout


def write_inputs(folder):
    """The inputs of the loads, the same in each run."""
    folder.mkdir(exist_ok=True)
    numbers = random.Random(7)
    texts = ["".join(numbers.choices(LETTERS, k=numbers.randint(3, 28))) for _ in range(3000)]

    def word():
        return numbers.choice(texts)

    rules = "rule copy\n  command = cp $in $out\n  description = $purpose of $out\n"
    (folder / "build.ninja").write_text(rules + "".join(
        f"build out/{word()}/{n}.o: copy in/{word()}.c | {word()}.h\n  purpose = copy {word()}\n"
        for n in range(60000)), encoding="utf-8")
    rows = [{"name": word(), "path": f"/{word()}/\t{word()}", "size": numbers.random() * 1e6, "tags": [word(), word()],
             "count": n} for n in range(40000)]
    (folder / "data.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "data.yaml").write_text("".join(
        f"- name: {word()} {word()}\n  path: \"/{word()}\\t{word()}\"\n  tags: [{word()}, {word()}]\n"
        f"  text: |\n    {word()} {word()}\n    {word()}\n" for _ in range(20000)), encoding="utf-8")
    (folder / "words.aff").write_text("SET UTF-8\nTRY esianrtolcdugmphbyfvkwz\nREP 2\nREP f ph\nREP ei ie\n"
                                      "SFX A Y 2\nSFX A 0 s .\nSFX A y ies y\n", encoding="utf-8")
    (folder / "words.dic").write_text(f"{len(words)}\n" + "".join(f"{name}/A\n" for name in words), encoding="utf-8")
    (folder / "words.txt").write_text("".join(f"{word()[:12]}{numbers.choice(LETTERS)}\n{word()}s\n"
                                              for _ in range(200)), encoding="utf-8")
    (folder / "page.jsonnet").write_text(
        "local part(n) = { name: 'part %d' % n, path: std.join('/', ['a', 'b', std.toString(n)]), "
        "values: [x * n for x in std.range(1, 10)], text: std.asciiUpper(self.name) + self.path };\n"
        "{ parts: [part(n) for n in std.range(1, 4000)] }\n", encoding="utf-8")


def fetch(program, folder):
    """Returns the folder of the sources, which are one commit of a repository."""
    state = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(SOURCES, encoding="utf-8")
    (state / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{state}/sources.list";\nDir::Etc::sourceparts "-";\n'
        f'Dir::State::lists "{state}/lists";\n'
        f'Dir::Cache "{state}/cache";\nAPT::Sandbox::User "root";\n', encoding="utf-8")
    settings = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    home = folder / program.package
    if not home.exists():
        home.mkdir()
        if not any((state / "lists").glob("*Sources*")):
            run(["apt-get", "update"], env=settings)
        run(["apt-get", "source", "--download-only", "-qq", program.package], cwd=home, env=settings)
    description, = home.glob("*.dsc")
    tree = home / "tree"
    if not tree.exists():
        run(["dpkg-source", "--no-check", "-x", description.name, "tree"], cwd=home)
        for name, text, new_text in program.changes:
            before = (tree / name).read_text(encoding="utf-8")
            if text not in before:
                sys.exit(f"{program.package}: {name} has no '{text}'")
            (tree / name).write_text(before.replace(text, new_text), encoding="utf-8")
        if program.cmake:
            (tree / "CMakeLists.txt").write_text(program.cmake, encoding="utf-8")
        run(["git", "init", "--quiet"], cwd=tree)
        (tree / ".git/info/exclude").write_text("/build/\n", encoding="utf-8")
        run(["git", "add", "--all", "--force"], cwd=tree)
        run(["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "-m", "Begin"],
            cwd=tree)
    return tree


def build(program, tree, library):
    linking = [f"-DCMAKE_{kind}_LINKER_FLAGS=-Wl,--build-id" for kind in ("EXE", "SHARED")]
    run(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
         "-DCMAKE_CXX_STANDARD=20", f"-DCMAKE_CXX_FLAGS=-fno-char8_t -isystem {ROOT / 'include'}",
         f"-DCMAKE_CXX_STANDARD_LIBRARIES={library} -pthread", *linking, *program.options], cwd=tree, env=ENVIRONMENT)
    run(["cmake", "--build", "build", "--parallel", str(os.cpu_count()), "--target", program.target], cwd=tree)


def percent(share):
    return f"{share * 100:.1f}"


def row(program, tarn, folder, is_quick):
    tree = fetch(program, folder)
    build(program, tree, tarn.parent.parent / "lib/libtarn.a")
    load = program.load.format(input=folder / "inputs")
    expected = folder / program.package / "expected"
    expected.write_text(run(["sh", "-c", f"{load} | md5sum"], cwd=tree), encoding="utf-8")
    check = program.check.format(same=f"{load} | md5sum | cmp - {expected}")
    recording = folder / program.package / "rec"
    run([tarn, "record", "-o", recording, "--", "sh", "-c", f"exec {load} > /dev/null"], cwd=tree)

    def fix(*arguments):
        return subprocess.run([tarn, "fix", recording, "-p", "build", "--json", *arguments], cwd=tree, check=False,
                              capture_output=True, text=True)

    result, note = fix(), ""
    if '"verdict":"proven"' in result.stdout.replace(" ", ""):
        result = fix("--check", check, *([] if is_quick else ["--prove", f"{load} >/dev/null"]))
        if result.returncode == 16:  # too noisy to prove any
            note = result.stderr.strip().removeprefix("tarn: ")
            result = fix("--check", check)
    if result.returncode != 0:
        sys.exit(f"{program.package}: {result.stderr}")
    (folder / program.package / "fix.json").write_text(result.stdout, encoding="utf-8")
    sites = json.loads(result.stdout)["sites"]
    offered = [site for site in sites if site["verdict"] == "proven" and
               not site["problem"].startswith("the same edit as")]
    failed = [site["problem"] for site in offered if site["problem"].startswith(("the build fails", "cmake cannot"))]
    problems = [site["problem"] for site in offered if site["problem"].startswith("the check fails")]
    overlapping = [site["problem"] for site in offered if site["problem"].startswith("the edit overlaps")]
    tried = len(offered) - len(overlapping)
    measured = [site for site in offered if site["measured_share"] is not None]
    figures = "; ".join(
        f"{percent(site['saved_share'][0])}–{percent(site['saved_share'][1])} → {percent(site['measured_share'])}"
        + ("" if site["patch"] else " (not kept)") for site in measured)
    print(f"| {program.package}, {program.description} | {len(sites)} | "
          f"{sum(site['verdict'] == 'review' for site in sites)} | {len(offered)} | {tried - len(failed)} | "
          f"{tried - len(failed) - len(problems)} | {sum(bool(site['patch']) for site in measured)} | "
          f"{figures or note or '–'} |", flush=True)
    for problem in failed + problems:
        print(f"{program.package}: {problem}", file=sys.stderr)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tarn", default=ROOT / "build/release/bin/tarn", type=pathlib.Path)
    arguments.add_argument("--folder", default=ROOT / "build/programs", type=pathlib.Path)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("names", nargs="*", metavar="NAME", choices=[[], *(program.package for program in PROGRAMS)])
    options = arguments.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_inputs(folder / "inputs")
    print("| program, load | sites | to review | patches | built | passed | kept | % of CPU: predicted → measured |")
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    for program in PROGRAMS:
        if not options.names or program.package in options.names:
            row(program, options.tarn.resolve(), folder, options.quick)


if __name__ == "__main__":
    main()
