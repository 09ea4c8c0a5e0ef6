#!/usr/bin/env python3
"""`tarn run` and `tarn options`: every error's text and exit code, and what reaches the program.

A stub stands for the drop-in: this is about the command alone.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import unittest

from paths import HANG_S, PATHS, FolderTest, main

PROJECT = pathlib.Path(__file__).resolve().parents[2]

LOADER = b"/lib64/ld-linux-x86-64.so.2" if os.uname().machine == "x86_64" else b"/lib/ld-linux-aarch64.so.1"
OWN, OTHER, OTHER_NUMBER = ("x86-64", "AArch64", 183) if os.uname().machine == "x86_64" else ("AArch64", "x86-64", 62)


class CommandTest(FolderTest):
    prefix = "tarn-command-"  # LD_PRELOAD splits at spaces

    def setUp(self):
        super().setUp()
        self.environment = {name: value for name, value in os.environ.items()
                            if name != "LD_PRELOAD" and not name.startswith("TARN_")}

    def tarn(self, *arguments, **settings):
        return subprocess.run([PATHS.tarn, *arguments], capture_output=True, text=True, timeout=HANG_S, check=False,
                              cwd=self.folder, env=self.environment, **settings)

    def run_with_stub(self, *arguments, **settings):
        return self.tarn("run", "--lib", PATHS.stub, *arguments, **settings)

    def expect_error(self, result, code, message):
        self.assertEqual((result.returncode, result.stdout, result.stderr), (code, "", f"tarn: {message}\n"))

    def expect_refusal(self, program, code, message):
        self.expect_error(self.run_with_stub("--", program), code, message)

    def file(self, name, content, mode=0o755):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return f"./{name}"

    def changed_hello(self, name, change):
        content = bytearray(pathlib.Path(PATHS.hello).read_bytes())
        change(content)
        return self.file(name, bytes(content))


class CommandLine(CommandTest):
    def test_the_version_is_one_line_of_three_numbers(self):
        self.assertRegex(self.tarn("--version").stdout, r"^tarn \d+\.\d+\.\d+( \(with tarn-fix\))?\n$")

    def test_help_of_the_command_names_the_subcommands(self):
        result = self.tarn("--help")
        self.assertEqual(result.returncode, 0)
        names = re.findall(r"(?m)^  ([a-z]+) +[A-Z][^\n]+\.$", result.stdout)
        self.assertEqual(names, ["run", "record", "report", "diff", "gate", "fix", "export", "fleet", "top", "lab",
                                 "options", "journal"])
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_help_is_a_word_too(self):
        for command in ((), ("record",), ("journal", "cat")):
            self.assertEqual(self.tarn("help", *command).stdout, self.tarn(*command, "--help").stdout)
        self.assertEqual(self.tarn("help", "rnu").stderr, "tarn: there is no subcommand 'rnu'; see tarn --help\n")

    def test_help_names_no_range_and_no_exclusion(self):
        for command in ("run", "record", "report", "diff", "gate", "fix", "export", "fleet", "top", "lab", "journal"):
            text = self.tarn(command, "--help").stdout
            for noise in (" in [", "Excludes:", "Needs:", "REQUIRED"):
                self.assertNotIn(noise, text, command)
        self.assertIn("Usage: tarn fix -p BUILD [OPTIONS] [FILE]\n", self.tarn("fix", "--help").stdout)

    def test_documents_that_the_help_names_are_there(self):
        names = set()
        for command in ((), ("run",), ("record",), ("report",), ("diff",), ("gate",), ("fix",), ("export",),
                        ("fleet",), ("lab",)):
            names |= set(re.findall(r"share/doc/tarn/([\w/-]+\.md)", self.tarn(*command, "--help").stdout))
        self.assertGreater(len(names), 4)
        for name in names:
            self.assertTrue((PROJECT / "docs" / name).exists(), name)

    def test_synopsis_of_the_man_page_has_each_command(self):
        synopsis = self.tarn("generate", "man").stdout.partition(".SH SYNOPSIS\n")[2].partition(".SH COMMANDS")[0]
        names = re.findall(r"(?m)^\.B tarn ([a-z ]+)$", synopsis)
        self.assertEqual(" ".join(names).replace("journal ", "journal."),
                         "run record record record report diff gate fix export fleet top top lab options "
                         "journal.cat journal.tail journal.export journal.check journal.append")
        self.assertIn(".B tarn report\n[OPTIONS] [FILE]\n", synopsis)

    def test_help_of_run_lists_every_option(self):
        names = [line.split("`")[1] for line in self.tarn("options", "--markdown").stdout.splitlines()
                 if line.startswith("| `")]
        self.assertGreater(len(names), 10)
        result = self.tarn("run", "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name in names:
            self.assertIn(f"\n  {name}: ", result.stdout)
        self.assertIn("Usage: tarn run [OPTIONS] -- PROGRAM [ARGS...]\n", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 105)

    def test_a_category_is_one_of_four_names(self):
        self.assertIn("--category NAME:{same-thread,cross-thread,start-up,kept}", self.tarn("report", "--help").stdout)
        for word in ("3", "x"):
            result = self.tarn("report", "--category", word, "rec")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(result.stderr, f"tarn: --category: there is no '{word}', but same-thread, cross-thread, "
                                            "start-up, kept; see tarn report --help\n")

    def test_a_text_where_a_number_is_wanted(self):
        result = self.tarn("report", "--top", "x", "rec")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, "tarn: --top: 'x' is not a number; see tarn report --help\n")

    def test_a_missing_subcommand_or_argument_is_wrong_usage(self):
        self.expect_error(self.tarn("diff"), 2, "BEFORE is required; see tarn diff --help")
        self.expect_error(self.tarn(), 2, "a subcommand is required; see tarn --help")

    def test_the_command_line_is_refused_in_our_own_words(self):
        for command, message in {
                "report --nope": "unknown option --nope",
                "report a b": "unexpected argument b",
                "report a 'b c' d": "unexpected argument b c",
                "report --cpu-seconds nan": "--cpu-seconds: 'nan' is not a number",
                "report --html ''": "--html: the value is empty",
                "report ''": "FILE: the value is empty",
                "report --top -1": "--top: '-1' is below 0",
                "report --top": "--top needs a value: --top N",
                "report --json --html x": "--json and --html exclude each other: give one of them",
                "diff a b --cpu-seconds 1,inf": "--cpu-seconds: 'inf' is too large",
                "gate a --max 'allocations <= 1' --requests 0": "--requests: '0' is not above 0",
                "top --interval nan --pid 1": "--interval: 'nan' is not a number",
                "fleet --confidence nan problems a": "--confidence: 'nan' is not a number",
                "record -o '' -- true": "--output: the value is empty",
                "journal append j --bytes -1": "--bytes: '-1' is not above 0",
                "journal tail -n -1 j": "--lines: '-1' is below 0"}.items():
            arguments = shlex.split(command)
            self.expect_error(self.tarn(*arguments), 2, f"{message}; see tarn {arguments[0]} --help")

    def test_an_unknown_subcommand_is_wrong_usage(self):
        result = self.tarn("rnu")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, "tarn: there is no subcommand 'rnu'; see tarn --help\n")

    def test_run_without_a_program_is_wrong_usage(self):
        message = "no program to run; write tarn run [OPTIONS] -- PROGRAM [ARGS...]"
        self.expect_error(self.run_with_stub(), 2, message)
        self.expect_error(self.run_with_stub("--"), 2, message)

    def test_an_unknown_argument_of_run_is_named(self):
        self.expect_error(self.run_with_stub("--statistics", "--", "true"), 2,
                          "unknown argument --statistics; see tarn run --help")

    def test_an_argument_without_its_value_is_named(self):
        result = self.tarn("run", "--lib")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"^tarn: --lib.*; see tarn run --help\n$")

    def test_exit_code_without_a_standard_error(self):
        script = f"exec 2>&-; '{PATHS.tarn}' run --lib '{PATHS.stub}' -- no-such-program; echo $?"
        self.assertEqual(subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True,
                                        env=self.environment).stdout, "127\n")

    def test_option_with_a_malformed_value(self):
        self.expect_error(self.run_with_stub("--option", "purge_delay_ms=abc", "--", "true"), 2,
                          "option purge_delay_ms=abc: not a number of milliseconds from 0 to 3600000")
        self.expect_error(self.run_with_stub("--option=guard=2", "--", "true"), 2,
                          "option guard=2: not one of 0, 1, off, on")
        self.expect_error(self.run_with_stub("--stats=xml", "--", "true"), 2,
                          "option stats=xml: not one of off, text, json, openmetrics")

    def test_option_without_a_value(self):
        self.expect_error(self.run_with_stub("--option", "limit", "--", "true"), 2,
                          "option limit needs a value, such as limit=0")

    def test_an_unknown_option_is_refused_with_the_nearest_name(self):
        self.expect_error(self.run_with_stub("--option", "purge_delay=1", "--", "true"), 2,
                          "unknown option purge_delay; did you mean purge_delay_ms?")
        self.expect_error(self.run_with_stub("--option", "colour=1", "--", "true"), 2,
                          "unknown option colour; see tarn options")
        self.expect_error(self.run_with_stub("--option", "gaurd", "--", "true"), 2,
                          "unknown option gaurd; did you mean guard?")

    def test_options_lists_values_and_defaults(self):
        result = self.tarn("options")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("  thp: auto, on, off; default auto\n", result.stdout)


class Generated(CommandTest):
    def completions(self, *arguments):
        script = 'eval "$(cat)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tarn; printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, "bash", "tarn", *arguments], capture_output=True, text=True,
                                check=True,
                                input=self.tarn("generate", "completion").stdout, env=self.environment)
        self.assertEqual(result.stderr, "")
        return [line.strip() for line in result.stdout.splitlines() if line]

    def test_man_page_has_every_option_of_the_heaps(self):
        page = self.tarn("generate", "man").stdout
        variables = re.findall(r"`(TARN_[A-Z_]+)`", self.tarn("options", "--markdown").stdout)
        self.assertGreater(len(set(variables)), 10)
        for text in ["\\-\\-stats[=text|json|openmetrics]", "\\-\\-lib PATH", *variables]:
            self.assertIn(text, page)
        requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
        self.assertEqual(requests, {".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".ad", ".br"})
        self.assertTrue(page.isascii())
        for text in [".SS tarn journal append\n", "\\-\\-bytes", "\\-\\-other\\-lines", ".SS tarn lab\n"]:
            self.assertIn(text, page)
        if shutil.which("groff"):
            warnings = subprocess.run(["groff", "-man", "-ww", "-z"], input=page, capture_output=True, text=True,
                                      check=True).stderr
            self.assertEqual(warnings, "")

    def test_completion_offers_what_may_come_next(self):
        self.assertEqual(self.completions("ru"), ["run"])
        self.assertEqual(self.completions("run", "--st"), ["--stats", "--stats-file"])
        self.assertEqual(self.completions("run", "--option", "p"), ["purge_delay_ms="])
        self.assertEqual(self.completions("run", "--option", "thp", "=", "o"), ["on", "off"])
        self.assertEqual(self.completions("run", "--stats", "="), ["off", "text", "json", "openmetrics"])
        self.assertEqual(self.completions("run", "--lib", ""), [])
        self.assertIn("env", self.completions("run", "--", "env"))
        self.assertEqual(self.completions("run", "--", "ls", "--st"), [])
        self.assertEqual(self.completions("report", "--source", "c"), ["cpu"])
        self.assertIn("pprof", self.completions("export", "--format", ""))
        self.assertEqual(self.completions("journal", "t"), ["tail"])
        self.assertEqual(self.completions("journal", "tail", "--l"), ["--lines", "--level"])
        self.assertIn("--help", self.completions("lab", "--"))
        for files in ("report", ""), ("report", "tarn"), ("record", "-o", ""), ("report", "--html", ""), \
                     ("journal", "tail", ""), ("lab", "x", ""), ("fix", "-p", ""):
            self.assertEqual(self.completions(*files), [], "bash offers the files then")


class Library(CommandTest):
    def test_a_missing_library_is_named(self):
        missing = f"{self.folder}/no.so"
        self.expect_error(self.tarn("run", "--lib", missing, "--", "true"), 5, f"{missing}: No such file or directory")

    def test_library_is_a_directory(self):
        self.expect_error(self.tarn("run", "--lib", str(self.folder), "--", "true"), 5,
                          f"{self.folder}: is a directory, not libtarn-malloc.so")

    def test_library_that_the_loader_cannot_be_told(self):
        for name in ("a b.so", "a:b.so"):
            shutil.copy(PATHS.stub, self.folder / name)
            self.expect_error(self.tarn("run", "--lib", name, "--", "true"), 2,
                              f"{self.folder}/{name}: LD_PRELOAD cannot name a path with a space or a colon in it")

    def test_relative_library_is_made_absolute(self):
        shutil.copy(PATHS.stub, self.folder / "stub.so")
        out = self.tarn("run", "--lib", "./stub.so", "--", "env").stdout
        self.assertIn(f"LD_PRELOAD={self.folder}/stub.so\n", out)
        self.assertIn("STUB_WAS_LOADED=1\n", out)

    def test_a_recorder_stays_in_front_of_the_library(self):
        for name in "first/libtarn-record.so", "libtarn-record.so", "other.so":
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(PATHS.stub, self.folder / name)
        shutil.copytree(self.folder, self.folder.with_name(f"{self.folder.name.replace(' ', '-')}-copy"))
        folder = self.folder.with_name(f"{self.folder.name.replace(' ', '-')}-copy")  # the variable has no spaces
        self.addCleanup(shutil.rmtree, folder)
        recorder, other = f"{folder}/libtarn-record.so", f"{folder}/other.so"
        library = PATHS.stub
        for before, after in ((recorder, f"{recorder}:{library}"),
                              (f"{recorder}:{other}", f"{recorder}:{library}:{other}"),
                              (f"{other} {recorder} {other}", f"{other} {recorder}:{library} {other}"),
                              (f"{folder}/first/libtarn-record.so:{recorder}",
                               f"{folder}/first/libtarn-record.so:{recorder}:{library}"),
                              (other, f"{library}:{other}"), ("", library)):
            with self.subTest(before=before):
                out = self.run_program("env", f"LD_PRELOAD={before}", PATHS.tarn, "run", "--lib", library, "--",
                                       "env").stdout
                self.assertIn(f"LD_PRELOAD={after}\n", out)

    def test_found_beside_the_command_through_a_link(self):
        for folder in ("bin", "lib"):
            (self.folder / folder).mkdir()
        shutil.copy(PATHS.tarn, self.folder / "bin" / "tarn")
        shutil.copy(PATHS.stub, self.folder / "lib" / "libtarn-malloc.so")
        link = self.folder / "link-to-tarn"
        link.symlink_to(self.folder / "bin" / "tarn")
        out = subprocess.run([link, "run", "--", "env"], env=self.environment, capture_output=True, text=True,
                             check=True).stdout
        self.assertIn(f"LD_PRELOAD={self.folder}/lib/libtarn-malloc.so\n", out)

    def test_not_found_beside_the_command(self):
        (self.folder / "bin").mkdir()
        shutil.copy(PATHS.tarn, self.folder / "bin" / "tarn")
        result = subprocess.run([self.folder / "bin" / "tarn", "run", "--", "env"], env=self.environment,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 5)
        self.assertRegex(result.stderr, rf"^tarn: cannot find libtarn-malloc.so in {self.folder}/lib.*; use --lib "
                                        rf"PATH\n$")


class HandedThrough(CommandTest):
    def environment_of(self, *options):
        result = self.run_with_stub(*options, "--", "env")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)

    def tarn_settings(self, *options):
        return {name: value for name, value in self.environment_of(*options).items() if name.startswith("TARN_")}

    def test_the_library_is_preloaded_before_others(self):
        self.assertEqual(self.environment_of()["LD_PRELOAD"], PATHS.stub)
        self.assertEqual(self.environment_of()["STUB_WAS_LOADED"], "1")
        other = str(self.folder / "other.so")
        shutil.copy(PATHS.stub, other)
        self.environment["LD_PRELOAD"] = other
        self.assertEqual(self.environment_of()["LD_PRELOAD"], f"{PATHS.stub}:{other}")
        self.environment["LD_PRELOAD"] = ""
        self.assertEqual(self.environment_of()["LD_PRELOAD"], PATHS.stub)

    def test_options_become_the_environment(self):
        self.assertEqual(self.tarn_settings(), {})
        self.assertEqual(self.tarn_settings("--option", "purge_delay_ms=7", "--option=limit=1G", "--stats"),
                         {"TARN_PURGE_DELAY_MS": "7", "TARN_LIMIT": "1G", "TARN_STATS": "text"})
        self.assertEqual(self.tarn_settings("--stats=json"), {"TARN_STATS": "json"})

    def test_the_last_of_two_settings_counts(self):
        self.assertEqual(self.tarn_settings("--option", "limit=1", "--option", "limit=2"), {"TARN_LIMIT": "2"})

    def test_the_users_environment_stays_unless_set(self):
        self.environment["TARN_LIMIT"] = "5"
        self.environment["TARN_GUARD"] = "1"
        self.assertEqual(self.tarn_settings("--option", "guard=0"), {"TARN_LIMIT": "5", "TARN_GUARD": "0"})

    def test_stats_file_is_absolute_emptied_and_implies_stats(self):
        self.file("old.txt", "old report\n", 0o644)
        path = f"{self.folder}/old.txt"
        self.assertEqual(self.tarn_settings("--stats-file", "old.txt"),
                         {"TARN_STATS": "text", "TARN_STATS_FILE": path})
        self.assertEqual((self.folder / "old.txt").read_text(), "")
        self.assertEqual(self.tarn_settings("--stats=json", "--option", "stats_file=old.txt"),
                         {"TARN_STATS": "json", "TARN_STATS_FILE": path})

    def test_stats_file_that_cannot_be_written(self):
        self.expect_error(self.run_with_stub("--stats-file", "no/such", "--", "true"), 3,
                          "stats_file no/such: No such file or directory")
        self.expect_error(self.run_with_stub("--stats-file", ".", "--", "true"), 3, "stats_file .: Is a directory")

    def test_stats_file_is_not_touched_when_the_program_is_refused(self):
        self.file("old.txt", "old report\n", 0o644)
        self.run_with_stub("--stats-file", "old.txt", "--", "./nothing")
        self.assertEqual((self.folder / "old.txt").read_text(), "old report\n")

    def test_the_exit_code_is_that_of_the_program(self):
        for code in (0, 1, 2, 42, 126, 255):
            self.assertEqual(self.run_with_stub("--", "sh", "-c", f"exit {code}").returncode, code)

    def test_signals_end_the_program_itself(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT):
            result = self.run_with_stub("--", "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")
            self.assertEqual(result.returncode, -number)

    def test_the_program_has_the_process_of_the_command(self):
        with subprocess.Popen([PATHS.tarn, "run", "--lib", PATHS.stub, "--", "sh", "-c", "echo $$"],
                              stdout=subprocess.PIPE, text=True, env=self.environment) as process:
            self.assertEqual(process.communicate(timeout=HANG_S)[0], f"{process.pid}\n")

    def test_no_descriptor_leaks_into_the_program(self):
        command = ["sh", "-c", "ls /proc/$$/fd"]
        plain = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=True).stdout
        self.assertEqual(self.run_with_stub("--stats-file", "s", "--", *command).stdout, plain)

    def test_standard_input_is_the_programs(self):
        self.assertEqual(self.run_with_stub("--", "cat", input="one\ntwo\n").stdout, "one\ntwo\n")

    def test_words_reach_the_program_unchanged(self):
        arguments = ["", "a b", "--stats", "--", "-x", "--option", "nonsense", "{1,2}", "[a,b]", "'q'", '"', "@f", "é",
                     "--help"]
        expected = "".join(f"<{word}>" for word in arguments)
        for dashes in (["--"], []):
            self.assertEqual(self.run_with_stub(*dashes, "printf", "<%s>", *arguments).stdout, expected)

    def test_program_is_named_as_the_user_named_it(self):
        (self.folder / "renamed").symlink_to(shutil.which("sh"))
        self.assertEqual(self.run_with_stub("--", "./renamed", "-c", "echo $0").stdout, "./renamed\n")

    def test_a_script_runs_with_the_library(self):
        for name, first_line in (("direct", "#!/bin/sh\n"), ("spaced", "#! \t/bin/sh -e\n"),
                                 ("through_env", "#!/usr/bin/env sh\n"), ("without", "")):
            script = self.file(name, first_line + "echo \"$STUB_WAS_LOADED $1\"\n")
            self.assertEqual(self.run_with_stub("--", script, "x").stdout, "1 x\n", name)

    def test_interpreters_are_followed_as_far_as_the_kernel_does(self):
        interpreter = PATHS.hello
        for depth in range(1, 8):
            script = self.file(f"depth{depth}", f"#!{interpreter}\n")
            interpreter = f"{self.folder}/depth{depth}"
            try:
                expected = subprocess.run([interpreter], capture_output=True, check=True).returncode
            except OSError:
                expected = 126
            result = self.run_with_stub("--", script)
            self.assertEqual(result.returncode, expected, depth)
            self.assertEqual(result.stderr, f"tarn: {script}: too many interpreters in a row\n" if expected else "",
                             depth)

    def test_path_is_searched_as_execvp_does(self):
        self.file("found", "#!/bin/sh\necho yes\n")
        self.environment["PATH"] = f"/nonexistent:{self.folder}:{os.environ['PATH']}"
        self.assertEqual(self.run_with_stub("--", "found").stdout, "yes\n")
        self.environment["PATH"] = f"/nonexistent::{os.environ['PATH']}"  # an empty entry is the current folder
        self.assertEqual(self.run_with_stub("--", "found").stdout, "yes\n")
        del self.environment["PATH"]
        self.assertEqual(self.run_with_stub("--", "echo", "x").stdout, "x\n")


class ExitCodes(CommandTest):
    """The codes of docs/reference/exit-codes.md that are not of PROGRAM: one example each."""

    def test_a_wrong_command_line_is_wrong_usage(self):
        for command in (["nonsense"], ["gate", "rec"], ["report", "--top", "x", "rec"], ["diff", "a", "b", "--redact"]):
            self.assertEqual(self.tarn(*command).returncode, 2, command)

    def test_a_file_that_cannot_be_read(self):
        for command in "report", "export":
            options = ["--format", "pprof"] if command == "export" else []
            self.expect_error(self.tarn(command, "none", *options), 3,
                              "none: No such file or directory; make a recording with: tarn record -o none -- PROGRAM")
        self.file("text", "neither a recording nor limits\n")
        self.assertEqual(self.tarn("report", "text").returncode, 3)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([PATHS.tarn, "options"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=60, check=False, cwd=self.folder, env=self.environment)
        self.assertEqual((result.returncode, result.stderr), (3, "tarn: standard output: No space left on device\n"))

    def test_a_file_that_is_no_recording_is_kept(self):
        program = self.folder / "program"
        shutil.copy("/bin/true", program)
        self.expect_error(self.tarn("record", "-o", "program", "--", "./program"), 3,
                          "program: it is no recording, so it is kept; choose another name: File exists")
        self.assertEqual(program.read_bytes(), pathlib.Path("/bin/true").read_bytes())

    def test_a_recording_is_kept(self):
        self.tarn("record", "-o", "rec", "--", "true")
        recorded = (self.folder / "rec").read_bytes()
        for command in (["report", "--html", "rec", "rec"], ["diff", "--html", "rec", "rec", "rec"],
                        ["export", "--format", "collapsed", "-o", "rec", "rec"]):
            self.expect_error(self.tarn(*command), 2,
                              "rec is a recording, so it is kept; name another file for what is written")
        self.assertEqual((self.folder / "rec").read_bytes(), recorded)
        self.assertEqual(self.tarn("report", "--", "rec").returncode, 0)
        self.assertEqual(self.tarn("report", "--", "none").returncode, 3)

    def test_streams_that_take_nothing_leave_the_recording_and_the_exit_code(self):
        for streams in "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-":
            for program, code in ("true", 0), ("false", 1):
                with self.subTest(streams=streams, program=program):
                    command = f"'{PATHS.tarn}' record -o rec -- {program} {streams}"
                    self.assertEqual(subprocess.run(["sh", "-c", command], cwd=self.folder, timeout=60, check=False,
                                                    env=self.environment).returncode, code)
                    report = self.tarn("report", "--json", "rec")
                    self.assertEqual((report.returncode, json.loads(report.stdout)["damage"]), (0, ""))

    def test_a_missing_terminal_or_library_is_exit_code_5(self):
        self.assertEqual(self.tarn("top", "--", "true", stdin=subprocess.DEVNULL).returncode, 5)
        self.assertEqual(self.tarn("record", "--lib", "none", "--", "true").returncode, 5)


class Refused(CommandTest):
    def test_a_program_that_is_not_found_is_refused(self):
        self.expect_refusal("no-such-program", 127, "no-such-program: not found in PATH")
        self.expect_refusal("./nothing", 127, "./nothing: No such file or directory")
        self.expect_refusal("/etc/passwd/x", 127, "/etc/passwd/x: Not a directory")
        self.expect_refusal("", 127, "the program's name is empty")

    def test_a_file_that_is_not_executable_is_refused(self):
        plain = self.file("plain", "text\n", 0o644)
        self.expect_refusal(plain, 126, "./plain: is not executable")
        self.environment["PATH"] = str(self.folder)
        self.expect_refusal("plain", 126, f"plain: {self.folder}/plain: is not executable")

    def test_later_executable_in_path_wins(self):
        self.file("env", "text\n", 0o644)
        self.environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"
        self.assertEqual(self.run_with_stub("--", "env").returncode, 0)

    def test_a_directory_is_refused(self):
        self.expect_refusal("/tmp", 126, "/tmp: is a directory")

    def test_neither_program_nor_script(self):
        self.expect_refusal(self.file("noise", b"\x00\x01\x02\x03" * 20), 126,
                            "./noise: neither an ELF program nor a script")

    def test_a_script_whose_interpreter_cannot_run_is_refused(self):
        self.expect_refusal(self.file("s1", "#!/no/such/shell\n"), 126,
                            "./s1: its interpreter /no/such/shell: No such file or directory")
        self.expect_refusal(self.file("s2", "#!\necho\n"), 126, "./s2: a script whose #! line names no interpreter")
        self.expect_refusal(self.file("s3", "#!/tmp\n"), 126, "./s3: its interpreter /tmp: is a directory")
        self.file("data", "x", 0o644)
        self.expect_refusal(self.file("s4", "#!./data\n"), 126, "./s4: its interpreter ./data: is not executable")
        self.expect_refusal(self.file("s5", f"#!{PATHS.static}\n"), 126,
                            f"./s5: its interpreter {PATHS.static}: is statically linked, "
                            "so no loader can put libtarn-malloc.so into it")
        self.expect_refusal(self.file("s6", "#!./s6\n"), 126, "./s6: too many interpreters in a row")
        self.file("text", "echo\n")
        self.expect_refusal(self.file("s7", "#!./text\n"), 126,
                            "./s7: its interpreter ./text: neither an ELF program nor a script")

    def test_a_static_program_is_refused(self):
        self.expect_refusal(PATHS.static, 126, f"{PATHS.static}: is statically linked, "
                                               "so no loader can put libtarn-malloc.so into it")

    def test_set_uid_and_set_gid(self):
        reason = "so the dynamic loader does not obey LD_PRELOAD"
        shutil.copy(PATHS.hello, self.folder / "hello")
        (self.folder / "hello").chmod(0o4755)
        self.expect_refusal("./hello", 126, f"./hello: is set-uid, {reason}")
        (self.folder / "hello").chmod(0o2755)
        self.expect_refusal("./hello", 126, f"./hello: is set-gid, {reason}")
        (self.folder / "hello").chmod(0o755)
        self.assertEqual(self.run_with_stub("--", "./hello").stdout, "hello\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root may give file capabilities")
    def test_a_program_with_file_capabilities_is_refused(self):
        shutil.copy(PATHS.hello, self.folder / "hello")
        # struct vfs_cap_data, revision 2, effective: CAP_NET_RAW permitted
        os.setxattr(self.folder / "hello", "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
        self.expect_refusal("./hello", 126, "./hello: has file capabilities, so the dynamic loader does not obey "
                                            "LD_PRELOAD")

    def test_a_program_of_another_architecture_is_refused(self):
        def other_machine(content):
            struct.pack_into("<H", content, 18, OTHER_NUMBER)

        def big_endian(content):
            content[5] = 2
            struct.pack_into(">H", content, 18, 22)

        def unheard_of(content):
            struct.pack_into("<H", content, 18, 9999)

        def narrow(content):
            content[4] = 1

        self.expect_refusal(self.changed_hello("e1", other_machine), 126, f"./e1: built for {OTHER}, and this is {OWN}")
        self.expect_refusal(self.changed_hello("e2", big_endian), 126, f"./e2: built for S/390, and this is {OWN}")
        self.expect_refusal(self.changed_hello("e3", unheard_of), 126,
                            f"./e3: built for machine 9999, and this is {OWN}")
        self.expect_refusal(self.changed_hello("e4", narrow), 126,
                            "./e4: a 32-bit program, and libtarn-malloc.so is 64-bit")

    def test_a_damaged_elf_file_is_refused(self):
        for size in (4, 10, 20, 63, 100):
            def cut(content, size=size):
                del content[size:]
            self.expect_refusal(self.changed_hello("cut", cut), 126, "./cut: a damaged ELF file")

        def far_headers(content):
            struct.pack_into("<Q", content, 32, 1 << 62)

        self.expect_refusal(self.changed_hello("far", far_headers), 126, "./far: a damaged ELF file")

    def test_elf_that_is_no_program(self):
        def object_file(content):
            struct.pack_into("<H", content, 16, 1)

        self.expect_refusal(self.changed_hello("object", object_file), 126,
                            "./object: an ELF file that is not a program")

    def test_a_program_with_a_loader_other_than_that_of_glibc_is_refused(self):
        def loader(name):
            def change(content):
                offset = content.index(LOADER)
                content[offset:offset + len(LOADER)] = name.ljust(len(LOADER), b"\0")
            return change

        self.expect_refusal(self.changed_hello("musl", loader(b"/lib/ld-musl.so.1")), 126,
                            "./musl: uses another C library than glibc (its loader is /lib/ld-musl.so.1)")
        self.expect_refusal(self.changed_hello("gone", loader(b"/no/ld-linux.so.2")), 126,
                            "./gone: its loader /no/ld-linux.so.2: No such file or directory")

    def test_refused_by_the_kernel(self):
        self.file("ld-linux.so", "no loader at all" * 100)

        def loader(content):
            offset = content.index(LOADER)
            content[offset:offset + len(LOADER)] = b"./ld-linux.so".ljust(len(LOADER), b"\0")

        result = self.run_with_stub("--", self.changed_hello("odd", loader))
        self.assertEqual((result.returncode, result.stdout), (126, ""))
        self.assertRegex(result.stderr, r"^tarn: \./odd: [A-Z][A-Za-z /]+\n$")  # kernels differ in their words


if __name__ == "__main__":
    main("tarn", "stub", "hello", "static")
