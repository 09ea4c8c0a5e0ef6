#!/usr/bin/env python3
"""`tarn journal`: what it prints, how it ends, and that no line whose number it has printed is lost by a kill."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from paths import HANG_S, PATHS, FolderTest, main

BEGINNING = "time=2026-11-22T10:00:00.000000Z level="
LOGGED = [  # by tarn::io::logger, but for the one in the middle
    BEGINNING + 'debug logger=http msg="asked"',
    BEGINNING + 'info logger=http msg="served /page" ms=3 ratio=0.5 cached=true id=007 to="a b" none=""',
    "free text",
    '{"time":"2026-11-22T10:00:05.000000Z","level":"warning","logger":"db","msg":"slow","ms":120}',
    r'time=2026-11-22T11:30:00.250000Z level=error logger="my db" msg="a \"b\"\n\u0001" user=ada',
]
# No logger writes such values, but another program may.
NESTED = ('{"time":"2026-11-22T10:00:05.000000Z","level":"critical","msg":"m","list":[1,"two",null],'
          '"map":{"deep":[true]},"large":18446744073709551615}')
READERS = pathlib.Path(os.environ.pop("TARN_READERS", None)
                       or pathlib.Path(__file__).resolve().parents[2] / "build/readers")


class Journal(FolderTest):
    def tarn(self, *arguments, text="", **settings):
        result = super().tarn("journal", *arguments, input=text, **settings)
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
            self.assertIn(f"is open in process {running.pid} (tarn): end that one first",
                          self.tarn("append", "log", code=3)[1])

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
        self.assertEqual(err, "tarn: log: the journal is damaged; tarn journal cat prints the lines that are whole\n")

    def test_what_is_no_journal(self):
        (self.folder / "log").write_text("text\n", encoding="utf-8")
        self.assertEqual(self.tarn("cat", "none", code=3)[1],
                         "tarn: none: cannot be opened to read: No such file or directory\n")
        for word in "cat", "tail", "check", "append":
            path = (self.folder / "log").resolve() if word == "append" else "log"
            self.assertEqual(self.tarn(word, "log", code=3)[1], f"tarn: {path}: is not a journal\n")
        self.assertEqual((self.folder / "log").read_text(encoding="utf-8"), "text\n")

    def tail(self, *arguments):
        out, err = self.tarn("tail", *arguments, "log")
        self.assertEqual(err, "")
        return out.splitlines()

    def test_lines_are_chosen_by_level_and_time(self):
        self.append("".join(f"{line}\n" for line in LOGGED))
        debug, info, text, warning, error = LOGGED
        self.assertEqual(self.tail(), LOGGED)
        self.assertEqual(self.tail("--level", "trace"), [debug, info, warning, error])
        self.assertEqual(self.tail("--level", "warning"), [warning, error])
        self.assertEqual(self.tail("--level", "critical"), [])
        self.assertEqual(self.tail("--level", "warning", "--other-lines"), [text, warning, error])
        self.assertEqual(self.tail("--level", "debug", "-n", "2"), [warning, error])
        self.assertEqual(self.tail("--level", "warning", "--numbers"), [f"4\t{warning}", f"5\t{error}"])
        for since in "2026-11-22T10:00:00.000001Z", "2026-11-22T10:00:05", "2026-11-22T10:00:05Z":
            self.assertEqual(self.tail("--since", since), [warning, error], since)
        self.assertEqual(self.tail("--since", "2026-11-22T10:01"), [error])
        self.assertEqual(self.tail("--since", "2026-11-22"), [debug, info, warning, error])
        self.assertEqual(self.tail("--since", "2026-11-22", "-n", "1"), [error])
        self.assertEqual(self.tail("--since", "2026-11-23"), [])
        self.assertEqual(self.tail("--since", "2026-11-22", "--level", "info", "--other-lines"),
                         [info, text, warning, error])

    def test_a_time_alone_has_no_limit_of_lines(self):
        self.append(f"{LOGGED[0]}\n" * 30)
        self.assertEqual(len(self.tail("--level", "debug")), 10)
        self.assertEqual(len(self.tail("--since", "2026-11-22")), 30)

    def test_an_age_is_counted_from_now(self):
        self.append('time=2000-01-01T00:00:00.000000Z level=info logger=a msg="past"\n'
                    'time=9999-01-01T00:00:00.000000Z level=info logger=a msg="to come"\n')
        for age in "90s", "10m", "2h", "7d":
            self.assertEqual([line[-9:] for line in self.tail("--since", age)], ['"to come"'], age)
        self.assertEqual(len(self.tail("--since", "1000000000d")), 2)

    def test_each_line_becomes_a_json_object_with_its_fields(self):
        self.append("".join(f"{line}\n" for line in LOGGED))
        lines = self.tail("--json")
        entries = [json.loads(line) for line in lines]
        self.assertEqual(list(entries[1].items()), [
            ("time", "2026-11-22T10:00:00.000000Z"), ("level", "info"), ("logger", "http"), ("msg", "served /page"),
            ("ms", 3), ("ratio", 0.5), ("cached", True), ("id", "007"), ("to", "a b"), ("none", "")])
        self.assertEqual(entries[2], {"line": "free text"})
        self.assertEqual(lines[3], LOGGED[3], "it is an object already")
        self.assertEqual(entries[4], {"time": "2026-11-22T11:30:00.250000Z", "level": "error", "logger": "my db",
                                    "msg": 'a "b"\n\x01', "user": "ada"})
        self.assertEqual([json.loads(line)["number"] for line in self.tail("--json", "--numbers")], [1, 2, 3, 4, 5])
        self.assertEqual(len(self.tail("--json", "--level", "warning")), 2)

    def test_each_line_becomes_a_log_record_of_otlp(self):
        self.append("\n".join(LOGGED) + "\n")
        exported = [json.loads(line) for line in self.tarn("export", "--otlp", "--service", "shop",
                                                           "log")[0].splitlines()]
        self.assertEqual(len(exported), 5)
        self.assertEqual(exported[1], {"resourceLogs": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
            "scopeLogs": [{"scope": {"name": "http"}, "logRecords": [{
                "timeUnixNano": "1795341600000000000", "severityNumber": 9, "severityText": "info",
                "body": {"stringValue": "served /page"},
                "attributes": [
                    {"key": "tarn.journal.line", "value": {"intValue": "2"}},
                    {"key": "ms", "value": {"intValue": "3"}},
                    {"key": "ratio", "value": {"doubleValue": 0.5}},
                    {"key": "cached", "value": {"boolValue": True}},
                    {"key": "id", "value": {"stringValue": "007"}},
                    {"key": "to", "value": {"stringValue": "a b"}},
                    {"key": "none", "value": {"stringValue": ""}}]}]}]}]})
        records = [line["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0] for line in exported]
        self.assertEqual(records[2], {"body": {"stringValue": "free text"}, "attributes": [
            {"key": "tarn.journal.line", "value": {"intValue": "3"}}]})
        self.assertEqual([record.get("severityNumber") for record in records], [5, 9, None, 13, 17])
        self.assertEqual(records[4]["timeUnixNano"], "1795347000250000000")
        self.assertEqual(records[4]["body"]["stringValue"], 'a "b"\n\x01')
        errors = self.tarn("export", "--otlp", "--level", "error", "log")[0].splitlines()
        self.assertEqual(len(errors), 1)
        self.assertIn('"service.name","value":{"stringValue":"unknown_service"}', errors[0])
        self.assertIn("--otlp", self.tarn("export", "log", code=2)[1])

    # The names that opentelemetry-proto publishes (logs.proto, common.proto, resource.proto), in protobuf's JSON form.
    def test_otlp_has_only_published_names(self):
        published = {
            "LogsData": {"resourceLogs": ["ResourceLogs"]},
            "ResourceLogs": {"resource": "Resource", "scopeLogs": ["ScopeLogs"], "schemaUrl": str},
            "Resource": {"attributes": ["KeyValue"], "droppedAttributesCount": int},
            "ScopeLogs": {"scope": "InstrumentationScope", "logRecords": ["LogRecord"], "schemaUrl": str},
            "InstrumentationScope": {"name": str, "version": str, "attributes": ["KeyValue"],
                                     "droppedAttributesCount": int},
            "LogRecord": {"timeUnixNano": str, "observedTimeUnixNano": str, "severityNumber": int, "severityText": str,
                          "body": "AnyValue", "attributes": ["KeyValue"], "droppedAttributesCount": int, "flags": int,
                          "traceId": str, "spanId": str, "eventName": str},
            "KeyValue": {"key": str, "value": "AnyValue"},
            "AnyValue": {"stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": float,
                         "bytesValue": str, "arrayValue": "ArrayValue", "kvlistValue": "KeyValueList"},
            "ArrayValue": {"values": ["AnyValue"]},
            "KeyValueList": {"values": ["KeyValue"]},
        }

        def verify(message, value):
            if isinstance(message, list):
                self.assertIsInstance(value, list)
                for member in value:
                    verify(message[0], member)
            elif isinstance(message, str):
                self.assertIsInstance(value, dict)
                for name, member in value.items():
                    self.assertIn(name, published[message], message)
                    verify(published[message][name], member)
            else:
                self.assertIs(type(value), message)

        self.append("\n".join([*LOGGED, NESTED]) + "\n")
        for line in self.tarn("export", "--otlp", "log")[0].splitlines():
            verify("LogsData", json.loads(line))

    def test_otlp_is_read_by_the_published_schema(self):
        """Protobuf's JSON reader, which refuses unknown names and wrong types, fills OpenTelemetry's own message."""
        self.append("\n".join([*LOGGED, NESTED]) + "\n")
        exported = self.tarn("export", "--otlp", "log")[0]
        script = ("import sys\n"
                  "try:\n"
                  "    import google.protobuf.json_format as form\n"
                  "    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData\n"
                  "except ImportError:\n"
                  "    sys.exit(77)\n"
                  "for line in sys.stdin:\n"
                  "    data = form.Parse(line, LogsData())\n"
                  "    print(form.MessageToJson(data, indent=None, use_integers_for_enums=True))\n")
        python = READERS / "python/bin/python3"
        read = subprocess.run([python if python.exists() else "python3", "-c", script], input=exported,
                              capture_output=True, text=True, timeout=HANG_S, check=False)
        if read.returncode == 77:
            self.skipTest("no opentelemetry-proto: ./dev readers")
        self.assertEqual((read.returncode, read.stderr), (0, ""))
        self.assertEqual([json.loads(line) for line in read.stdout.splitlines()],
                         [json.loads(line) for line in exported.splitlines()])

    def test_otlp_of_fields_with_names_of_the_head(self):
        fields = BEGINNING + "info logger=a msg=b msg=c time=d level=e logger=f x=1 x=2 tarn.journal.line=9"
        self.append(f"{fields}\n{NESTED}\n")
        logged, nested = [json.loads(line)["resourceLogs"][0]["scopeLogs"][0]
                          for line in self.tarn("export", "--otlp", "log")[0].splitlines()]
        self.assertEqual(logged["scope"], {"name": "a"})
        record = logged["logRecords"][0]
        self.assertEqual((record["severityText"], record["body"]), ("info", {"stringValue": "b"}))
        self.assertEqual([(attribute["key"], *attribute["value"].values()) for attribute in record["attributes"]],
                         [("tarn.journal.line", "1"), ("msg", "c"), ("time", "d"), ("level", "e"), ("logger", "f"),
                          ("x", "2")])
        self.assertEqual([attribute["value"] for attribute in nested["logRecords"][0]["attributes"][1:]], [
            {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "two"}, {}]}},
            {"kvlistValue": {"values": [{"key": "deep", "value": {"arrayValue": {"values": [{"boolValue": True}]}}}]}},
            {"stringValue": "18446744073709551615"}])

    def test_a_line_that_only_looks_like_a_loggers(self):
        lines = [BEGINNING, BEGINNING + "loud logger=a msg=b", BEGINNING + "info logger=a", BEGINNING
                 + 'info logger=a msg="b',
                 BEGINNING + "info logger=a msg=b  c=d", BEGINNING + "info logger=a msg=b =d",
                 "time=now level=info logger=a msg=b",
                 BEGINNING + "info msg=b logger=a", BEGINNING + r'info logger=a msg="\u12"',
                 '{"time":1,"level":"info"}',
                 '{"time":"2026-11-22T10:00:00.000000Z","level":"info"', '{"time":"2026-11-22T10:00:00.000000Z"}']
        self.append("".join(f"{line}\n" for line in lines))
        self.assertEqual(self.tail("--since", "2000-01-01"), [])
        self.assertEqual([json.loads(line) for line in self.tail("--json", "-n", "100")],
                         [{"line": line} for line in lines])

    def test_words_that_choose_nothing(self):
        self.append("one\n")
        for word in ("yesterday", "10", "10y", "2026-13-01", "2026-02-30", "2026-11-22T25:00", "2026-11-22T10:00:00.",
                     "99999999999999999999s", "2026-11-22 10:00", "9999999999d"):
            self.assertEqual(self.tarn("tail", "--since", word, "log", code=2)[1],
                             f"tarn: --since {word}: is neither a time in UTC (2026-11-22T10:00:00Z, 2026-11-22) nor "
                             f"an "
                             "age (90s, 10m, 2h, 7d)\n")
        self.assertEqual(self.tarn("tail", "--level", "loud", "log", code=2)[1],
                         "tarn: --level loud: is not one of trace, debug, info, warning, error, critical\n")
        self.assertEqual(self.tarn("tail", "--other-lines", "log", code=2)[1],
                         "tarn: --other-lines: needs --level or --since\n")

    @contextlib.contextmanager
    def process(self, *arguments, **streams):
        """Runs `tarn journal`, and kills it if the test fails."""
        with subprocess.Popen([PATHS.tarn, "journal", *arguments], cwd=self.folder, stdout=subprocess.PIPE, text=True,
                              **streams) as running:
            try:
                yield running
            finally:
                running.kill()

    @contextlib.contextmanager
    def writer(self):
        """A process that has the journal open. Yields a function that appends a line and returns its number."""
        with self.process("append", "--bytes", "1M", "log", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            def append(text):
                running.stdin.write(f"{text}\n")
                running.stdin.flush()
                return int(running.stdout.readline())
            yield append

    def end(self, running, by_signal=signal.SIGINT):
        running.send_signal(by_signal)
        self.assertEqual(running.communicate(timeout=HANG_S)[0], "")
        self.assertEqual(running.returncode, 0)

    def test_tail_f_prints_lines_as_they_are_appended(self):
        with self.writer() as append:
            for text in "one", "two", "three":
                append(text)
            with self.process("tail", "-f", "-n", "2", "log") as running:
                self.assertEqual(running.stdout.readline(), "two\n")
                self.assertEqual(running.stdout.readline(), "three\n")
                for number in range(2000):  # more than one chunk
                    append(f"line {number} {'.' * 100}")
                for number in range(2000):
                    self.assertEqual(running.stdout.readline(), f"line {number} {'.' * 100}\n")
                self.end(running)

    def test_follow_the_lines_of_a_level(self):
        with self.writer() as append:
            append("the file is there")
            with self.process("tail", "-f", "--json", "--level", "warning", "log") as running:
                for line in LOGGED:
                    append(line)
                self.assertEqual(json.loads(running.stdout.readline())["msg"], "slow")
                self.assertEqual(json.loads(running.stdout.readline())["user"], "ada")
                self.end(running, signal.SIGTERM)

    def test_follow_a_rotation(self):
        with self.writer() as append:
            append("one")
            with self.process("tail", "-f", "log") as running:
                self.assertEqual(running.stdout.readline(), "one\n")
                os.rename(self.folder / "log", self.folder / "log.1")
                append("to the old file")
                self.assertEqual(running.stdout.readline(), "to the old file\n")
                with self.writer() as append_to_new:
                    append_to_new("to the new file")
                    self.assertEqual(running.stdout.readline(), "to the new file\n")
                    append("late, to the old file")
                    self.assertEqual(running.stdout.readline(), "late, to the old file\n")
                    append_to_new("two")
                    self.assertEqual(running.stdout.readline(), "two\n")
                    self.end(running)

    def test_follow_a_truncation(self):
        with self.writer() as append:
            append("one")
            with self.process("tail", "-f", "log") as running:
                self.assertEqual(running.stdout.readline(), "one\n")
                os.truncate(self.folder / "log", 0)
                append("after the truncation")
                self.assertEqual(running.stdout.readline(), "after the truncation\n")
                append("two")
                self.assertEqual(running.stdout.readline(), "two\n")
                self.end(running)

    def test_follow_a_journal_that_begins_anew_in_the_truncated_file(self):
        self.append("one\n")
        with self.process("tail", "-f", "log") as running:
            self.assertEqual(running.stdout.readline(), "one\n")
            os.truncate(self.folder / "log", 0)
            self.append("of another journal\n")
            self.assertEqual(running.stdout.readline(), "of another journal\n")
            self.end(running)

    def test_follow_names_damage_and_ends_at_what_is_no_journal(self):
        self.append("one\ntwo\n")
        path = self.folder / "log"
        content = bytearray(path.read_bytes())
        content[content.index(b"one")] ^= 1
        path.write_bytes(content)
        with self.process("tail", "-f", "log", stderr=subprocess.PIPE) as running:
            self.assertEqual(running.stderr.readline(), "tarn: log: line 1 is damaged: it is not what was appended\n")
            self.assertEqual(running.stdout.readline(), "two\n")
            (self.folder / "text").write_text("text\n", encoding="utf-8")
            os.rename(self.folder / "text", path)
            self.assertEqual(running.stderr.readline(), "tarn: log: is not a journal\n")
            self.assertEqual(running.wait(timeout=HANG_S), 3)

    def test_follow_ends_when_nobody_reads(self):
        self.append("one\n")
        with self.process("tail", "-f", "log") as running:
            self.assertEqual(running.stdout.readline(), "one\n")
            running.stdout.close()
            self.assertEqual(running.wait(timeout=HANG_S), 0)

    def test_kills_lose_no_printed_number(self):
        lines = [f"line {number} {'.' * (number % 80)}" for number in range(20_000)]
        text = "".join(f"{line}\n" for line in lines)
        for seed in range(PATHS.kills):
            (self.folder / "log").unlink(missing_ok=True)
            (self.folder / "in").write_text(text, encoding="utf-8")
            with open(self.folder / "in", encoding="utf-8") as texts, open(self.folder / "out", "wb") as numbers:
                with subprocess.Popen([PATHS.tarn, "journal", "append", "--bytes", "4M", "log"], cwd=self.folder,
                                      stdin=texts, stdout=numbers) as running:
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
            output = result.stdout.splitlines()
            self.assertGreaterEqual(len(output), printed, f"seed {seed}")
            self.assertEqual(output, lines[:len(output)], f"seed {seed}")


if __name__ == "__main__":
    main("tarn", kills=30)
