#!/usr/bin/env python3
"""`tarn journal`: what it prints, how it ends, and that no line is lost whose number it has printed, when it is killed."""

import pathlib
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from paths import HANG_S, PATHS, main


class Journal(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn journal "))
        self.addCleanup(shutil.rmtree, self.folder)

    def tarn(self, *words, text="", code=0):
        result = subprocess.run([PATHS.tarn, "journal", *words], input=text, capture_output=True, text=True, timeout=HANG_S,
                                check=False, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr

    def append(self, text):
        return self.tarn("append", "--bytes", "1M", "log", text=text)

    def test_lines_and_numbers(self):
        self.assertEqual(self.append("one\ntwo\n\nfour"), ("1\n2\n3\n4\n", ""))
        self.assertEqual(self.append("five\n"), ("5\n", ""))
        self.assertEqual(self.tarn("cat", "log"), ("one\ntwo\n\nfour\nfive\n", ""))
        self.assertEqual(self.tarn("cat", "--numbers", "log")[0], "1\tone\n2\ttwo\n3\t\n4\tfour\n5\tfive\n")
        self.assertEqual(self.tarn("tail", "-n", "2", "log"), ("four\nfive\n", ""))
        self.assertEqual(self.tarn("tail", "log")[0].count("\n"), 5)
        self.assertEqual(self.tarn("check", "log"),
                         ("log: 5 lines whole, 0 torn, 0 damaged, 0 pieces lost\nnumbers 1 to 5\n", ""))

    def test_a_number_comes_before_the_next_line_goes(self):
        with subprocess.Popen([PATHS.tarn, "journal", "append", "--bytes", "1M", "log"], cwd=self.folder,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            for number in range(1, 4):
                running.stdin.write(f"line {number}\n")
                running.stdin.flush()
                self.assertEqual(running.stdout.readline(), f"{number}\n")
                self.assertEqual(self.tarn("tail", "-n", "1", "log")[0], f"line {number}\n")
            self.assertIn("somebody appends", self.tarn("append", "log", code=3)[1])

    def test_damage_is_named(self):
        self.append("".join(f"line {number}\n" for number in range(100)))
        path = self.folder / "log"
        content = bytearray(path.read_bytes())
        content[content.index(b"line 50")] ^= 1
        path.write_bytes(content)
        out, err = self.tarn("cat", "log")
        self.assertEqual(out.splitlines(), [f"line {number}" for number in range(100) if number != 50])
        self.assertEqual(err, "tarn: log: line 51 is damaged: it is not what was appended\n")
        out, err = self.tarn("check", "log", code=1)
        self.assertEqual(out.splitlines()[0], "log: 99 lines whole, 0 torn, 1 damaged, 0 pieces lost")
        self.assertEqual(err, "tarn: log: is damaged\n")

    def test_what_is_no_journal(self):
        (self.folder / "log").write_text("text\n", encoding="utf-8")
        self.assertEqual(self.tarn("cat", "none", code=3)[1],
                         "tarn: none: cannot be opened to read: No such file or directory\n")
        for word in "cat", "tail", "check", "append":
            self.assertEqual(self.tarn(word, "log", code=3)[1], "tarn: log: is not a journal: Invalid argument\n")
        self.assertEqual((self.folder / "log").read_text(encoding="utf-8"), "text\n")

    def test_kills_lose_no_printed_number(self):
        lines = [f"line {number} {'.' * (number % 80)}" for number in range(20_000)]
        text = "".join(f"{line}\n" for line in lines)
        for seed in range(PATHS.kills):
            (self.folder / "log").unlink(missing_ok=True)
            (self.folder / "in").write_text(text, encoding="utf-8")
            with open(self.folder / "in", encoding="utf-8") as given, open(self.folder / "out", "wb") as numbers:
                with subprocess.Popen([PATHS.tarn, "journal", "append", "--bytes", "4M", "log"], cwd=self.folder,
                                      stdin=given, stdout=numbers) as running:
                    time.sleep(random.Random(seed).uniform(0, 0.012))
                    running.kill()
            printed = (self.folder / "out").read_text(encoding="utf-8").count("\n")
            if not (self.folder / "log").exists():
                continue  # it had not come so far
            result = subprocess.run([PATHS.tarn, "journal", "cat", "log"], capture_output=True, text=True, check=False,
                                    cwd=self.folder)
            if "is not a journal" in result.stderr:
                self.assertEqual(printed, 0, "killed while it made the file")
                continue
            found = result.stdout.splitlines()
            self.assertGreaterEqual(len(found), printed, f"seed {seed}")
            self.assertEqual(found, lines[:len(found)], f"seed {seed}")


if __name__ == "__main__":
    main("tarn", kills=30)
