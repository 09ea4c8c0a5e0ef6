#!/usr/bin/env python3
"""Do predictions hold? Programs of bench-predictions are recorded as they are, and what `tarn report` predicts of their
dearest sites is held against what the remedy gains, in processor time without a recorder.

    predictions.py --build DIR [--rounds N] [--json FILE] [--only NAME]     the table
    predictions.py --build DIR --check                                      small: both forms make the same, sites are found
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# The remedy that `after` takes, at which functions, and rounds for about half a second.
PROGRAMS = {
    "compiler": ("pooled", r"compiler::parser|make_pair|make_leaf", 700),
    "counts": ("pooled", r"count_words", 40000),
    "documents": ("pooled", r"", 40000),
    "events": ("pooled", r"make_event", 8000),
    "headers": ("hoist", r"value_of", 15000),
    "jobs": ("pooled", r"add_job", 20000),
    "packets": ("recycle", r"take_packet|unpack", 24000),
    "pages": ("reserve", r"make_page", 150000),
    "pipeline": ("shared_pool", r"make_message", 3000),
    "routes": ("pooled", r"add_session", 150000),
    # Written when the model was finished.
    "codes": ("pooled", r"make_node", 40000),
    "frames": ("pooled", r"divide", 16000),
    "lookups": ("pooled", r"cache.*::fill", 150000),
    "steps": ("pooled", r"make_command", 20000),
    "tokens": ("pooled", r"next_token", 1500),
    "tries": ("pooled", r"add_word", 50000),
    "workers": ("pooled", r"take_orders", 160000),
    # Written when those of the remedies that spare work, and of system calls, were finished.
    "samples": ("reserve", r"read_series", 1500),
    "scans": ("hoist", r"unpack", 1500),
    "strips": ("reserve", r"make_strip", 1500),
    "fields": ("hoist", r"fields::cut", 2500),
    "matches": ("hoist", r"compare", 6000),
    "replies": ("recycle", r"answer|put_together|append_number", 2500),
    "parcels": ("shared_pool", r"pack", 5000),
    "letters": ("shared_pool", r"write_letter", 1000),
    "records": ("read", r"read_by_call", 200),
    "diary": ("write", r"note|put", 200),
    "filters": ("read|write", r"filter_by_calls|put", 700),
    "settings": ("newfstatat", r"time_of_change", 1200),
    "greetings": ("openat", r"read_greeting", 500),
    # Written when the low ends had been changed for what the first of those had missed.
    "places": ("reserve", r"find_all", 1200),
    "counters": ("hoist", r"counters::mark|counters::look", 2000),
    "labels": ("hoist", r"value_in", 12000),
    "messages": ("recycle", r"write_message|messages::put|send_message", 3000),
}
SYSTEM_CALLS = ("records", "diary", "filters", "settings", "greetings")  # of these the calls are named, not the remedy


def processor_ns(words):
    """What a process takes, and what it prints."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(words, stdout=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{words} ended with {child.returncode}")
        output.seek(0)
        return (usage.ru_utime + usage.ru_stime) * 1e9, output.read()


def predicted_of_calls(report, calls, function):
    """The same of system calls."""
    prediction = {"low": 0, "high": 0, "at_least": False, "allocations": 0, "first": None, "sites": 0}
    for site in report["syscalls"]:
        inside = any(re.search(function, place["function"]) for place in site["stack"])
        if not inside or not re.fullmatch(calls, site["name"]):
            continue
        prediction["sites"] += 1
        if not site["predicted"] or "not" in site["predicted"]:
            continue
        prediction["low"] += site["predicted"]["saved_ns"][0]
        prediction["high"] += site["predicted"]["saved_ns"][1]
        prediction["at_least"] = prediction["at_least"] or site["predicted"]["at_least"]
        prediction["allocations"] += site["count"]
    return prediction


def predicted(options, name, rounds):
    """[low, high] in ns of the remedy at the sites that `after` changes; allocations there; what report offers first."""
    remedy, function, _ = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        recording = f"{folder}/rec"
        modes = ["--syscalls", "--full"] if name in SYSTEM_CALLS else ["--heap", "--full"]
        subprocess.run([options.tarn, "record", *modes, "-o", recording, "--", options.program, name, "before",
                        str(rounds)], check=True, capture_output=True)
        text = subprocess.run([options.tarn, "report", "--json", "--top", "1000", recording], check=True,
                              capture_output=True, text=True).stdout
    if name in SYSTEM_CALLS:
        return predicted_of_calls(json.loads(text), remedy, function)
    low = high = allocations = sites = 0
    first, at_least = None, False
    for site in json.loads(text)["sites"]:
        site_function = site["stack"][site["place"]]["function"] if site["stack"] else ""
        if not re.search(function, site_function):
            continue
        sites += site["allocations"] >= 1000
        for offer in site["predicted"]["remedies"]:
            if offer["name"] != remedy:
                continue
            first = first or site["predicted"]["remedies"][0]["name"]
            at_least = at_least or offer["at_least"]
            low, high = low + offer["saved_ns"][0], high + offer["saved_ns"][1]
            allocations += site["allocations"]
    return {"low": low, "high": high, "at_least": at_least, "allocations": allocations, "first": first, "sites": sites}


def achieved(options, name, rounds):
    """Interleaved runs of both forms: the least of each, as other work only ever adds, and the spread of the differences."""
    times = {"before": [], "after": []}
    for _ in range(options.rounds):
        for form, taken in times.items():
            taken.append(processor_ns([options.program, name, form, str(rounds)])[0])
    differences = [a - b for a, b in zip(times["before"], times["after"])]
    return {"before": min(times["before"]), "after": min(times["after"]),
            "gain": min(times["before"]) - min(times["after"]), "median": statistics.median(differences)}


def check(options):
    for name in PROGRAMS:
        results = {processor_ns([options.program, name, form, "2"])[1] for form in ("before", "after")}
        if len(results) != 1:
            sys.exit(f"{name}: the two forms make different things")
        if options.tarn and os.path.exists(options.tarn):
            prediction = predicted(options, name, 200 if name in ("documents", "pages", "scans", "strips") else 20)
            if prediction["sites"] == 0:  # whether the remedy is offered depends on the prices of this build
                sys.exit(f"{name}: no site is found")
    print("both forms agree, and every site is found")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    options.program, options.tarn = str(build / "bin/bench-predictions"), str(build / "bin/tarn")
    if options.check:
        return check(options)
    table = []
    print("| program | remedy | allocations or calls | before | after | gain | predicted | holds | of the middle |")
    print("|---|---|--:|--:|--:|--:|--:|---|--:|")
    for name, (remedy, _, rounds) in PROGRAMS.items():
        if options.only and name not in options.only:
            continue
        said, got = predicted(options, name, rounds), achieved(options, name, rounds)
        holds = said["low"] <= got["gain"] and (said["at_least"] or got["gain"] <= said["high"])
        middle = (said["low"] + said["high"]) / 2
        words = f"{said['low'] / 1e6:.0f} to {said['high'] / 1e6:.0f} ms"
        if said["at_least"]:
            words += " or more"
        table.append({"program": name, "remedy": remedy, "predicted": said, "achieved": got, "holds": holds})
        print(f"| {name} | {remedy.replace('|', ', ')} | {said['allocations']:,} | {got['before'] / 1e6:.0f} ms | {got['after'] / 1e6:.0f} ms "
              f"| {got['gain'] / 1e6:.0f} ms | {words} "
              f"| {'yes' if holds else 'no'} | {100 * got['gain'] / middle if middle else 0:.0f} % |", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
