"""The last step of the loop: `tarn fix --prove` on the server in its plain form, its patch, and what the patch gains.

The repository that it edits is a copy of the server's pages, which are linked with the objects of the build. So only
one unit is compiled for each tree.
"""

import json
import os
import shlex
import shutil
from pathlib import Path

from runner.process import free_port

PATIENCE_S = 300
LOAD_REQUESTS = 12000  # of one run of --prove
MAX_DIFF_LINES = 50
TOO_NOISY = 16  # the exit code that also lists the sites
ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "examples/appserver"
TOOLS = {"git": "git", "clang-tidy-16": "clang-tidy-16", "clang-apply-replacements-16": "clang-tools-16"}

LOAD = """./tarn-appserver --config {config} --port {port} --workers 2 --allocator=global >/dev/null 2>&1 &
server=$!
load() {{ h2load --h1 --requests=$1 --clients=$2 "http://127.0.0.1:{port}{page}" | grep -q "status codes: $1 2xx"; }}
until load 1 1; do
  kill -0 $server
  sleep 0.02
done
load {requests} {clients} || {{
  kill $server
  exit 1
}}
kill $server
wait $server
"""


def missing(programs):
    """One line that names what is not there; empty if all of it is."""
    for program, package in TOOLS.items():
        if not shutil.which(program):
            return f"there is no {program} (Debian package {package})"
    if not (programs.parent / "lib/libtarn-tidy.so").is_file():
        return "libtarn-tidy.so was not built: it needs LLVM's headers (Debian packages libclang-16-dev, llvm-16-dev)"
    return "" if compiler_words(programs) else f"{programs.parent} has no compile_commands.json with the server's pages"


def compiler_words(programs):
    """The compiler and its options for the server's pages, as the build has them; empty where it does not say."""
    commands = programs.parent / "compile_commands.json"
    units = json.loads(commands.read_text(encoding="utf-8")) if commands.is_file() else []
    for unit in units:
        if os.path.realpath(unit["file"]) == str(SOURCES / "pages.cpp"):
            command = shlex.split(unit["command"])
            return [word for word in command[:command.index("-o")] if word != f"-I{os.path.dirname(unit['file'])}"]
    return []


def objects(programs):
    """The other units of the server, and the libraries."""
    folder = programs.parent / "examples/appserver/CMakeFiles"
    units = sorted(folder.glob("appserver*.dir/*.o"))
    libraries = [programs.parent / "lib" / name for name in ("libtarn-io.a", "libtarn.a")]
    return [*(str(unit) for unit in units if unit.name != "pages.cpp.o"), *map(str, libraries), "-ltomlplusplus",
            "-lfmt", "-pthread"]


class Fixing:
    def __init__(self, supervisor, folder, programs):
        self.supervisor, self.programs, self.tree = supervisor, programs, Path(folder) / "server"
        self.server = str(self.tree / "tarn-appserver")

    def call(self, *arguments):
        return self.supervisor.run(str(arguments[0]), ["env", "-C", str(self.tree), *map(str, arguments)],
                                   {**os.environ, "LC_ALL": "C.UTF-8"}, PATIENCE_S).output

    def prepare(self, page, clients, config):
        """Makes the repository, and builds the server in it."""
        self.tree.mkdir()
        for source in [SOURCES / "pages.cpp", *SOURCES.glob("*.hpp")]:
            shutil.copy(source, self.tree)
        compiler = compiler_words(self.programs)
        linker = [compiler[0], "-o", "tarn-appserver", "pages.o", *objects(self.programs), "-Wl,-z,nodelete",
                  "-Wl,-Bsymbolic-functions", "-Wl,--build-id"]
        load = LOAD.format(config=config, port=free_port(), requests=LOAD_REQUESTS, clients=clients, page=page)
        files = {
            "build.sh": f"set -e\n{shlex.join(compiler)} -c $PWD/pages.cpp -o pages.o\n{shlex.join(linker)}\n",
            "load.sh": "set -e\n" + load,
            ".gitignore": "*.o\ntarn-appserver\ncompile_commands.json\n",
            "compile_commands.json": json.dumps([{
                "directory": str(self.tree), "file": str(self.tree / "pages.cpp"),
                "command": shlex.join([*compiler, "-c", str(self.tree / "pages.cpp")])}])}
        for name, text in files.items():
            (self.tree / name).write_text(text, encoding="utf-8")
        self.call("git", "init", "--quiet")
        self.call("git", "add", ".")
        self.call("git", "-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "-m", "Pages")
        self.call("sh", "build.sh")

    def fix(self, recording):
        """Returns the sites of `tarn fix --prove`. If it has a patch, the server is now built with it."""
        command = shlex.join([str(self.programs / "tarn"), "fix", recording, "-p", ".", "--quick", "--json", "--apply",
                              "--build", "sh build.sh", "--prove", "sh load.sh"])
        text = self.call("sh", "-c", f"{command} || [ $? -eq {TOO_NOISY} ]")
        sites = json.loads(text[text.index("{"):text.rindex("}") + 1])["sites"]
        if any(site["patch"] for site in sites):
            self.call("sh", "build.sh")
        return sites


def print_sites(sites):
    def percent(share):
        return f"{share * 100:.1f}"

    for site in sites:
        low, high = site["saved_share"]
        location = f"{os.path.basename(site['file'])}:{site['line']}"
        outcome = f"measured {percent(site['measured_share'])} %" if site["patch"] else f"no patch: {site['problem']}"
        covered = " in the allocator alone" if site["at_least"] else ""
        print(f"   {location:<18}{site['remedy']:<9}predicted {percent(low)} to {percent(high)} %{covered}, {outcome}")
    print()
    lines = [line for site in sites if site["patch"] for line in site["patch"].splitlines()]
    for line in lines[:MAX_DIFF_LINES]:
        print("   " + line)
    if len(lines) > MAX_DIFF_LINES:
        print("   …")
