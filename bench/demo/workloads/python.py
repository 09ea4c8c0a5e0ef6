"""python3 with PYTHONMALLOC=malloc, so that every object is a block of the allocator under test."""

import os
import sys
from pathlib import Path

from figures import CPU, PEAK, TIME
from runner.process import Failed
from workloads import Outcome

SCRIPT = Path(__file__).resolve().parent.parent / "data" / "objects.py"
SYSTEM_PYTHON = "/usr/bin/python3"
TIMEOUT_S = 120
MARK = "result: "


class Python:
    name = "python"
    title = "python3 with PYTHONMALLOC=malloc: dictionaries, strings, JSON"
    programs = {"python3": "python3"}
    metrics = (TIME, CPU, PEAK)
    settings = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}

    def prepare(self, context):
        # The system's own, where there is one: a python3 earlier on the path may be built in any way.
        self._program = os.path.realpath(SYSTEM_PYTHON if os.path.exists(SYSTEM_PYTHON) else sys.executable)

    def probes(self):
        return [("python3", [self._program, "-c", ""])]

    def run(self, context, allocator):
        outcome = context.supervisor.run(
            f"python3 on {allocator.name}", [self._program, "-S", str(SCRIPT)],
            allocator.environment(self.settings), TIMEOUT_S, (self._program, allocator.file))
        if not outcome.output.startswith(MARK):
            raise Failed(f"python3 on {allocator.name} printed no result: {outcome.output[-400:]!r}")
        result = outcome.output.removeprefix(MARK).strip()
        return Outcome({"time": outcome.wall_s, "cpu": outcome.cpu_s, "peak": outcome.peak_kib()}, result)
