#!/usr/bin/env python3
"""What `tarn fix` finds in real programs: programs.py [--tarn TARN] [--folder FOLDER] [--pairs N] [--review] [NAME ...]

The sources are Debian's, by apt-get source, in FOLDER (default: build/programs), which is not part of the project.
Each program is built as C++20 with Tarn's library, recorded under a load, and given to `tarn fix`. Each patch of the
series is built on those before it, and must pass the program's own tests. The result is a table: what the heap costs
of the program's CPU time, sites that were listed, patches that were offered, built and passed the check, and the range
of CPU time that was predicted beside the instructions that each patch saves. Instructions are counted by callgrind,
which gives the same number on a busy machine. The last columns are what all patches save of instructions, and, as the
median of pairs of runs in turn, of CPU time and of peak memory. --pairs 0 leaves out the measurement, and --review
includes patches that a person must confirm."""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = "deb-src http://deb.debian.org/debian bookworm main\n"
# A launcher, such as ccache, would be in compile_commands.json, and its cache would hide that a patch does not build.
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
AUTHOR = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Program:
    package: str
    load: str             # a command, from the root of the sources; {input} is the folder of the inputs
    description: str      # of the load
    check: str            # what must pass with each patch; {same}: the load prints the same as without a patch
    options: tuple = ()   # of CMake
    changes: tuple = ()   # of the sources, before the first commit: file, text, new text
    target: str = "all"   # of the build
    cmake: str = ""       # CMakeLists.txt of a program that has none
    output: str = ""      # a file that the load writes
    prepare: str = ""     # a command after the build, which makes further inputs in {input}


HUNSPELL = """cmake_minimum_required(VERSION 3.20)
project(hunspell CXX)
file(GLOB sources src/hunspell/*.cxx)
file(GLOB parsers src/parsers/*parser.cxx)
list(FILTER parsers EXCLUDE REGEX testparser)
file(WRITE ${CMAKE_BINARY_DIR}/config.h "#define HAVE_ICONV 1\\n#define ICONV_CONST\\n#define HAVE_LOCALE_H 1\\n\
#define HAVE_LANGINFO_H 1\\n#define VERSION \\"1\\"\\n#define PACKAGE_VERSION \\"1\\"\\n")
include_directories(${CMAKE_BINARY_DIR} src/hunspell src/parsers)
add_library(hunspell STATIC ${sources})
add_executable(example src/tools/example.cxx)
add_executable(analyze src/tools/analyze.cxx)
add_executable(hunspell-command src/tools/hunspell.cxx ${parsers})
foreach(program example analyze hunspell-command)
  target_link_libraries(${program} hunspell)
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/libtool "#!/bin/sh\\nshift\\nexec \\"$@\\"\\n")
file(CHMOD ${CMAKE_BINARY_DIR}/libtool PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
"""

HTMLCXX = """cmake_minimum_required(VERSION 3.20)
project(htmlcxx C CXX)
file(WRITE ${CMAKE_BINARY_DIR}/config.h "#define VERSION \\"1\\"\\n")
include_directories(${CMAKE_BINARY_DIR} . html css)
add_compile_definitions(DEFAULT_CSS="${CMAKE_SOURCE_DIR}/css/default.css")
file(GLOB html html/*.cc)
list(FILTER html EXCLUDE REGEX ests)
add_library(htmlcxx STATIC ${html} css/parser_pp.cc css/parser.c css/css_lex.c css/css_syntax.c)
add_executable(htmlcxx-command htmlcxx.cc)
target_link_libraries(htmlcxx-command htmlcxx)
"""

PROGRAMS = [
    Program("ninja-build", "build/ninja -C {input} -t targets all", "a build with 60,000 targets",
            "build/ninja_test >/dev/null && {same}"),
    Program("libjsoncpp", "build/bin/jsontestrunner_exe {input}/data.json", "7 MB of JSON",
            "build/bin/jsoncpp_test >/dev/null && {same}", ("-DBUILD_SHARED_LIBS=OFF", "-DBUILD_OBJECT_LIBS=OFF"),
            (("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 11)", "set(CMAKE_CXX_STANDARD 20)"),),
            output="{input}/data.actual-rewrite"),
    Program("yaml-cpp", "build/util/parse {input}/data.yaml", "4 MB of YAML",
            "build/test/yaml-cpp-tests >/dev/null && {same}"),
    Program("jsonnet", "build/jsonnet {input}/page.jsonnet", "a document of 300 parts",
            "(cd test_suite && for f in [a-df-z]*.jsonnet; do [ $f = stdlib.jsonnet ] || [ ! -e $f.golden ] || "
            "../build/jsonnet $f 2>&1 | diff -q - $f.golden || exit 1; done) >/dev/null && {same}",
            ("-DBUILD_TESTS=OFF", "-DBUILD_STATIC_LIBS=ON"),
            (("CMakeLists.txt", "-std=c++11", "-std=c++20"), ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 11)", "")),
            target="jsonnet"),
    Program("hunspell", "build/example {input}/words.aff {input}/words.dic {input}/words.txt",
            "2,000 words, most wrong",
            # utf8_nonbmp fails without a patch, too.
            "(cd tests; export HUNSPELL=../build/hunspell-command ANALYZE=../build/analyze LIBTOOL=../build/libtool; "
            "for f in *.dic; do [ $f = utf8_nonbmp.dic ] || bash ./test.sh $f || exit 1; done) >/dev/null 2>&1 "
            "&& {same}",
            cmake=HUNSPELL),
    Program("muparser", "build/example1 < {input}/formulas.txt", "4,000 formulas",
            "build/t_ParserTest >/dev/null && {same}", ("-DBUILD_SHARED_LIBS=OFF", "-DENABLE_OPENMP=OFF"),
            (("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 11)", "set(CMAKE_CXX_STANDARD 20)"),)),
    Program("fasttext", "build/fasttext predict {input}/model.bin {input}/lines.txt", "100,000 lines to classify",
            "{same}", target="fasttext-bin",
            prepare="build/fasttext supervised -input {input}/lines.txt -output {input}/model -thread 1 -epoch 1 "
            "2>/dev/null"),
    Program("htmlcxx", "build/htmlcxx-command {input}/page.html", "5 MB of HTML", "{same}", cmake=HTMLCXX),
    Program("cpptoml", "build/parse {input}/lock.toml", "2 MB of TOML", "{same}", ("-DENABLE_LIBCXX=OFF",)),
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
    (folder / "words.dic").write_text(f"{len(texts)}\n" + "".join(f"{name}/A\n" for name in texts), encoding="utf-8")
    (folder / "words.txt").write_text("".join(f"{word()[:12]}{numbers.choice(LETTERS)}\n{word()}s\n"
                                              for _ in range(1000)), encoding="utf-8")
    (folder / "page.jsonnet").write_text(
        "local part(n) = { name: 'part %d' % n, path: std.join('/', ['a', 'b', std.toString(n)]), "
        "values: [x * n for x in std.range(1, 10)], text: std.asciiUpper(self.name) + self.path };\n"
        "{ parts: [part(n) for n in std.range(1, 300)] }\n", encoding="utf-8")
    (folder / "formulas.txt").write_text("".join(
        f"{numbers.random():.4f}*sin({numbers.random():.3f}+a)^2-max(b,{n},{n}/3)*(({n}-1)*({n}+1))\n"
        for n in range(4000)) + "quit\n", encoding="utf-8")
    common = texts[:200]
    (folder / "lines.txt").write_text("".join(
        f"__label__{n % 20} {' '.join(numbers.choices(common, k=10))} {word()} {word()}\n" for n in range(100000)),
        encoding="utf-8")
    (folder / "lock.toml").write_text("".join(
        f'[[package]]\nname = "{word()}"\nversion = "{n % 9}.{n % 17}.{n % 5}"\nsource = "registry+{word()}"\n'
        f'checksum = "{numbers.getrandbits(256):064x}"\ndependencies = [\n "{word()}",\n "{word()} {n % 7}.1",\n]\n'
        f"yanked = false\nsize = {n * 31}\nreleased = 2022-{n % 12 + 1:02}-{n % 28 + 1:02}T10:20:30Z\n\n"
        for n in range(6000)), encoding="utf-8")

    def cells(number):
        return (f"<tr class=\"{word()}\" id=row{number}><td>{word()} {word()}</td><td><a href=\"/{word()}/{number}"
                f"?q={word()}&amp;x=1\" title='{word()}'>{word()}</a><br></td><td><!-- {word()} --><b>{word()}</b> "
                f"<i>{word()}</i> {word()}</td></tr>\n")

    (folder / "page.html").write_text("<!DOCTYPE html>\n<html><head><title>x</title></head><body><h1>t</h1>" + "".join(
        f"<div class={word()}><p>{word()} {word()} {word()}<table>{''.join(cells(n * 10 + i) for i in range(10))}"
        f"</table><ul><li>{word()}<li>{word()}</ul></div>\n" for n in range(1500)) + "</body></html>\n",
        encoding="utf-8")


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
        run(["git", *AUTHOR, "commit", "--quiet", "-m", "Begin"], cwd=tree)
    return tree


def build(program, tree, library):
    linking = [f"-DCMAKE_{kind}_LINKER_FLAGS=-Wl,--build-id" for kind in ("EXE", "SHARED")]
    run(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
         "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON", "-DCMAKE_CXX_STANDARD=20",
         f"-DCMAKE_CXX_FLAGS=-fno-char8_t -isystem {ROOT / 'include'}",
         f"-DCMAKE_CXX_STANDARD_LIBRARIES={library} -pthread", *linking, *program.options], cwd=tree, env=ENVIRONMENT)
    run(["cmake", "--build", "build", "--parallel", str(os.cpu_count()), "--target", program.target], cwd=tree)


def percent(share):
    return f"{share * 100:.1f}"


def instructions(load, tree, folder):
    """Instructions that a load executes in user space: the same in each run, on a busy machine too."""
    log = folder / "callgrind"
    run(["sh", "-c", f"exec valgrind --tool=callgrind --callgrind-out-file={log} {load} >/dev/null"], cwd=tree)
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1])
    sys.exit(f"{log}: no count of instructions")


def cost_of(load, tree):
    """Runs a load, and returns its CPU seconds and its peak memory in KiB."""
    process = subprocess.Popen(["sh", "-c", f"exec {load} >/dev/null"], cwd=tree)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def compare(load, tree, patched, pairs):
    """Returns the median of the shares of CPU time and of peak memory that a patched tree saves, run by run in turn."""
    shares = [[], []]
    for _ in range(pairs):
        before, after = cost_of(load, tree), cost_of(load, patched)
        for index in (0, 1):
            shares[index].append(1 - after[index] / before[index])
    return [statistics.median(side) for side in shares]


@dataclass
class Trial:
    saved: float = None  # share of the instructions of the load
    is_built: bool = False
    problem: str = ""


def try_patches(program, library, tree, folder, load, check, pairs):
    """Applies the patches of a series in turn, each to the program with those before it that built and passed. Returns
    a trial for each patch, and what those that passed save together of instructions, CPU time and peak memory."""
    plain = folder / "plain"
    shutil.rmtree(plain, ignore_errors=True)
    shutil.copytree(tree, plain, symlinks=True)
    first = run(["git", "rev-parse", "HEAD"], cwd=tree).strip()
    begin = count = instructions(load, plain, folder) if pairs else 1
    trials = []
    for patch in sorted((folder / "series").glob("*.patch")):
        trials.append(Trial())
        try:
            run(["git", *AUTHOR, "am", "--quiet", str(patch)], cwd=tree)
            build(program, tree, library)
            trials[-1].is_built = True
            run(["sh", "-c", check], cwd=tree)
        except SystemExit as problem:
            trials[-1].problem = str(problem)
            run(["git", "reset", "--quiet", "--hard", "HEAD~1"], cwd=tree)
            continue
        if pairs:
            now = instructions(load, tree, folder)
            trials[-1].saved, count = 1 - now / count, now
    whole = []
    if pairs and any(not trial.problem for trial in trials):
        build(program, tree, library)
        whole = [1 - count / begin, *compare(load, plain, tree, pairs)]
    run(["git", "reset", "--quiet", "--hard", first], cwd=tree)
    return trials, whole


def predicted(site):
    low, high = site["saved_share"]
    return f"{site['remedy']} {percent(low)}–{percent(high)}" + (" or more" if site["at_least"] else "")


def row(program, tarn, folder, pairs, with_review):
    library = tarn.parent.parent / "lib/libtarn.a"
    tree = fetch(program, folder)
    build(program, tree, library)
    inputs, home = folder / "inputs", folder / program.package
    load = program.load.format(input=inputs)
    run(["sh", "-c", program.prepare.format(input=inputs) or ":"], cwd=tree)
    expected = home / "expected"
    printed = f"({load} && cat {program.output.format(input=inputs) or '/dev/null'}) | md5sum"
    expected.write_text(run(["sh", "-c", printed], cwd=tree), encoding="utf-8")
    check = program.check.format(input=inputs, same=f"{printed} | cmp - {expected}")
    run(["sh", "-c", check], cwd=tree)  # must pass without a patch
    recording, series = home / "rec", home / "series"
    run([tarn, "record", "-o", recording, "--", "sh", "-c", f"exec {load} > /dev/null"], cwd=tree)
    report = json.loads(run([tarn, "report", "--json", "--quick", "--top", "1", recording], cwd=tree))
    heap = "–".join(percent(share) for share in report["heap"]["predicted"]["share"])
    shutil.rmtree(series, ignore_errors=True)
    extra = ["--review"] if with_review else []
    text = run([tarn, "fix", recording, "-p", "build", "--json", "-o", series, *extra], cwd=tree)
    (home / "fix.json").write_text(text, encoding="utf-8")
    sites = json.loads(text)["sites"]
    name = f"{program.package}, {program.description}"
    offered = [site for site in sites if site["patch"]]
    trials, whole = try_patches(program, library, tree, home, load, check, pairs) if offered else ([], [])
    figures = [f"{predicted(site)} → {percent(trial.saved)}" for site, trial in zip(offered, trials)
               if trial.saved is not None]
    row_of_table = [name, heap, len(sites), sum(site["edit"] == "review" for site in sites), len(offered),
                    sum(trial.is_built for trial in trials), sum(not trial.problem for trial in trials),
                    "; ".join(figures) or "–", *(map(percent, whole) if whole else ["–"] * 3)]
    print(f"| {' | '.join(map(str, row_of_table))} |", flush=True)
    if not sites:
        print(f"{program.package}: nothing to fix, no remedy saves 0.1 % of CPU", file=sys.stderr)
    for trial in trials:
        if trial.problem:
            print(f"{program.package}: {trial.problem}", file=sys.stderr)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tarn", default=ROOT / "build/release/bin/tarn", type=pathlib.Path)
    arguments.add_argument("--folder", default=ROOT / "build/programs", type=pathlib.Path)
    arguments.add_argument("--pairs", type=int, default=9, help="pairs of runs; default 9")
    arguments.add_argument("--review", action="store_true", help="try the patches to review, too")
    arguments.add_argument("names", nargs="*", metavar="NAME", choices=[[], *(program.package for program in PROGRAMS)])
    options = arguments.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_inputs(folder / "inputs")
    print("| program, load | heap, % of CPU | sites | to review | patches | built | passed | % of CPU predicted → "
          "instructions saved by each | instructions | CPU time | peak memory |")
    print("|---|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|")
    for program in PROGRAMS:
        if not options.names or program.package in options.names:
            row(program, options.tarn.resolve(), folder, options.pairs, options.review)


if __name__ == "__main__":
    main()
