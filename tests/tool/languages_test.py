#!/usr/bin/env python3
"""Programs in Python and in Go, recorded and on the malloc: docs/guide/languages.md."""

import json
import os
import pathlib
import re
import shutil
import sys

from paths import PATHS, FolderTest, main

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/languages"


class Languages(FolderTest):
    def tarn(self, *arguments, code=0, **variables):
        return self.run_program(PATHS.tarn, *arguments, code=code, env={**os.environ, **variables})

    def recorded(self, *arguments, **variables):
        """The standard output of a program, the report on its heap, and the recorder's last line."""
        result = self.tarn("record", "--full", "-o", "rec", "--", *arguments, **variables)
        report = self.tarn("report", "--json", "--quick", "--top", "100000", "rec").stdout
        return result.stdout, json.loads(report), result.stderr.splitlines()[-1]

    def test_python(self):
        counts = []
        for variables in ({"PYTHONMALLOC": "pymalloc"}, {"PYTHONMALLOC": "malloc"}):
            output, report, summary = self.recorded(sys.executable, EXAMPLES / "parse.py", **variables)
            self.assertEqual(output, "12000000\n")
            self.assertRegex(summary, r" [1-9][\d,]* system calls ")
            counts.append(report["heap"]["allocations"])
            run = self.tarn("run", "--stats=json", "--", sys.executable, EXAMPLES / "parse.py", **variables)
            self.assertEqual(run.stdout, output)
            served = json.loads(run.stderr)["sums"]["allocated_blocks"]
            self.assertLess(abs(served - counts[-1]), counts[-1] / 20)
        self.assertGreater(counts[0], 40_000)
        self.assertGreater(counts[1], 3 * counts[0])

    def build_go(self, **variables):
        if not shutil.which("go"):
            self.skipTest("no go")
        settings = {"GOFLAGS": "-mod=mod", "GOCACHE": str(self.folder / "cache"), **variables}
        self.run_program("go", "build", "-o", "program", ".", cwd=self.folder, env={**os.environ, **settings})

    def test_go_with_cgo(self):
        for name in ("counts.go", "go.mod"):
            shutil.copy(EXAMPLES / name, self.folder)
        self.build_go(CGO_ENABLED="1")
        output, report, summary = self.recorded("./program")
        self.assertEqual(output, "[124950 124950 124950 124950]\n")
        self.assertRegex(summary, r" [1-9][\d,]* system calls ")
        line = (EXAMPLES / "counts.go").read_text(encoding="utf-8").split("strdup", maxsplit=1)[0].count("\n") + 1
        copies = [(site["allocations"], frame["line"]) for site in report["sites"] for frame in site["stack"]
                  if frame["function"].startswith("length_of_copy")]
        self.assertEqual(copies, [(20_000, line)])
        self.assertGreaterEqual(report["heap"]["allocations"], 40_000)
        self.assertEqual(self.tarn("run", "--", "./program").stdout, output)

    def test_go_without_cgo_is_refused_in_one_line(self):
        (self.folder / "go.mod").write_text("module static\n\ngo 1.19\n", encoding="utf-8")
        (self.folder / "main.go").write_text("package main\n\nfunc main() { println(1) }\n", encoding="utf-8")
        self.build_go(CGO_ENABLED="0")
        result = self.tarn("record", "-o", "rec", "--", "./program", code=126)
        self.assertTrue(re.fullmatch(r"tarn: [^\n]*static[^\n]*\n", result.stderr), result.stderr)


if __name__ == "__main__":
    main("tarn")
