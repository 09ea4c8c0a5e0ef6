"""g++ on a template-heavy file; the object file must be the same, bit for bit."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from allocators import neutral_environment
from figures import CPU, PEAK, TIME
from workloads import Outcome

SOURCE = Path(__file__).resolve().parent.parent / "data" / "templates.cpp"
TIMEOUT_S = 180


class Compiler:
    name = "compiler"
    title = "g++ -std=c++20 -O1 -c on a template-heavy file"
    programs = {"g++": "g++"}
    metrics = (TIME, CPU, PEAK)

    def prepare(self, context):
        self._driver = shutil.which("g++")
        answer = subprocess.run([self._driver, "-print-prog-name=cc1plus"], env=neutral_environment(),
                               capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        self._program = os.path.realpath(answer.stdout.strip())

    def probes(self):
        return [("g++", [self._driver, "--version"]), ("cc1plus", [self._program, "--version"])]

    def run(self, context, allocator):
        output = os.path.join(context.folder, "templates.o")
        outcome = context.supervisor.run(
            f"g++ on {allocator.name}", [self._driver, "-std=c++20", "-O1", "-c", str(SOURCE), "-o", output],
            allocator.environment(), TIMEOUT_S, (self._program, allocator.file))
        content = Path(output).read_bytes()
        os.unlink(output)
        result = f"object of {len(content)} bytes, digest {hashlib.sha256(content).hexdigest()[:16]}"
        return Outcome({"time": outcome.wall_s, "cpu": outcome.cpu_s, "peak": outcome.peak_kib()}, result)
