#!/usr/bin/env python3
"""Do predictions hold? Programs of bench-predictions are recorded as they are, and what `tarn report` predicts of their
dearest sites is held against what the remedy gains, in CPU time without a recorder.

    predictions.py --build DIR [--rounds N] [--json FILE] [--only NAME]   the table
    predictions.py --build DIR --check                                    small: both forms do the same, sites are found
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from runner import process  # noqa: E402  pylint: disable=wrong-import-position

LONGEST_S = 1800

# The remedy that `after` takes, at which functions, and rounds for about half a second.
PROGRAMS = {
    "counts": ("pooled", r"count_words", 40000),
    "documents": ("pooled", r"", 40000),
    "events": ("pooled", r"make_event", 8000),
    "routes": ("pooled", r"add_session", 150000),
    "workers": ("pooled", r"take_orders", 160000),
    "headers": ("hoist", r"value_of", 15000),
    "scans": ("hoist", r"unpack", 1500),
    "packets": ("recycle", r"take_packet|unpack", 24000),
    "pages": ("reserve", r"make_page", 150000),
    "pipeline": ("shared_pool", r"make_message", 3000),
    "filters": ("read|write", r"filter_by_calls|put", 700),
    "greetings": ("openat", r"read_greeting", 500),
}
SYSTEM_CALLS = ("filters", "greetings")  # of these the calls are named, not the remedy


def offers_of(report, name):
    """What is offered where `after` changes something: the sites; prediction, events and first remedy of each offer."""
    remedy, function, _ = PROGRAMS[name]
    sites, offers = 0, []
    if name in SYSTEM_CALLS:
        for site in report["syscalls"]:
            if re.fullmatch(remedy, site["name"]) and any(re.search(function, frame["function"])
                                                          for frame in site["stack"]):
                sites += 1
                if site["predicted"] and "reason" not in site["predicted"]:
                    offers.append((site["predicted"], site["count"], None))
        return sites, offers
    for site in report["sites"]:
        if re.search(function, site["stack"][site["frame_index"]]["function"] if site["stack"] else ""):
            sites += site["allocations"] >= 1000
            remedies = site["predicted"]["remedies"]
            offers += [(offer, site["allocations"], remedies[0]["name"]) for offer in remedies
                       if offer["name"] == remedy]
    return sites, offers


def predicted(options, name, rounds):
    """[low, high] in ns of the remedy where `after` changes something; allocations there; the report's first offer."""
    with tempfile.TemporaryDirectory() as folder:
        recording = f"{folder}/rec"
        modes = ["--syscalls", "--full"] if name in SYSTEM_CALLS else ["--heap", "--full"]
        subprocess.run([options.tarn, "record", *modes, "-o", recording, "--", options.program, name, "before",
                        str(rounds)], check=True, capture_output=True)
        text = subprocess.run([options.tarn, "report", "--json", "--top", "1000", recording], check=True,
                              capture_output=True, text=True).stdout
    report = json.loads(text)
    sites, offers = offers_of(report, name)
    return {"drop_in": report["heap"]["predicted"]["drop_in_saves_ns"],
            "low": sum(offer["saved_ns"][0] for offer, _, _ in offers),
            "high": sum(offer["saved_ns"][1] for offer, _, _ in offers),
            "at_least": any(offer["at_least"] for offer, _, _ in offers),
            "allocations": sum(events for _, events, _ in offers),
            "first": offers[0][2] if offers else None, "sites": sites}


def run(options, name, form, rounds, preloaded=""):
    """One run without a recorder: what it takes, and what it prints."""
    environment = dict(os.environ, LD_PRELOAD=preloaded) if preloaded else dict(os.environ)
    return options.supervisor.run(f"{name} {form}", [options.program, name, form, str(rounds)], environment, LONGEST_S)


def achieved(options, name, rounds):
    """Interleaved runs of both forms, and of the first one on the drop-in: the least of each, as other work only ever
    adds, and the spread of the differences."""
    times = {"before": [], "after": [], "drop_in": []}
    for _ in range(options.rounds):
        for form, durations in times.items():
            on_drop_in = options.drop_in if form == "drop_in" else ""
            durations.append(run(options, name, "before" if on_drop_in else form, rounds, on_drop_in).cpu_s * 1e9)
    differences = [a - b for a, b in zip(times["before"], times["after"])]
    fastest = {form: min(durations) for form, durations in times.items()}
    return {**fastest, "gain": fastest["before"] - fastest["after"], "median": statistics.median(differences)}


def check(options):
    for name in PROGRAMS:
        results = {run(options, name, form, 2).output for form in ("before", "after")}
        if len(results) != 1:
            sys.exit(f"{name}: the two forms make different things")
        if options.tarn and os.path.exists(options.tarn):
            prediction = predicted(options, name, 200 if name in ("documents", "pages", "scans") else 20)
            if prediction["sites"] == 0:  # whether the remedy is offered depends on the prices of this build
                sys.exit(f"{name}: no site is found")
    print("both forms agree, and every site is found")


def milliseconds(low, high):
    return f"{low / 1e6:.0f} to {high / 1e6:.0f} ms"


def of_the_middle(gain, low, high):
    return f"{200 * gain / (low + high) if low + high else 0:.0f} %"


def print_drop_in(rows):
    """The same programs, unchanged, on the drop-in."""
    print("\n| on the drop-in | before | after | gain | predicted | holds | gain / middle |")
    print("|---|--:|--:|--:|--:|---|--:|")
    for name, before, after, low, high in rows:
        gain = before - after
        print(f"| {name} | {before / 1e6:.0f} ms | {after / 1e6:.0f} ms | {gain / 1e6:.0f} ms | "
              f"{milliseconds(low, high)} "
              f"| {'yes' if low <= gain <= high else 'no'} | {of_the_middle(gain, low, high)} |")


def compare(options):
    table, drop_in = [], []
    print("| program | remedy | allocations or calls | before | after | gain | predicted | holds | gain / middle |")
    print("|---|---|--:|--:|--:|--:|--:|---|--:|")
    for name, (remedy, _, rounds) in PROGRAMS.items():
        if options.only and name not in options.only:
            continue
        forecast, outcome = predicted(options, name, rounds), achieved(options, name, rounds)
        holds = forecast["low"] <= outcome["gain"] and (forecast["at_least"] or outcome["gain"] <= forecast["high"])
        covered = " in the allocator alone" if forecast["at_least"] else ""
        text = milliseconds(forecast["low"], forecast["high"]) + covered
        table.append({"program": name, "remedy": remedy, "predicted": forecast, "achieved": outcome, "holds": holds})
        print(f"| {name} | {remedy.replace('|', ', ')} | {forecast['allocations']:,} "
              f"| {outcome['before'] / 1e6:.0f} ms | {outcome['after'] / 1e6:.0f} ms "
              f"| {outcome['gain'] / 1e6:.0f} ms | {text} "
              f"| {'yes' if holds else 'no'} "
              f"| {of_the_middle(outcome['gain'], forecast['low'], forecast['high'])} |", flush=True)
        if name not in SYSTEM_CALLS:
            drop_in.append((name, outcome["before"], outcome["drop_in"], *forecast["drop_in"]))
    print_drop_in(drop_in)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


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
    options.drop_in = str(build / "lib/libtarn-malloc.so")
    with tempfile.TemporaryDirectory(prefix="tarn-bench-") as folder, process.Supervisor(folder) as options.supervisor:
        return check(options) if options.check else compare(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except process.Failed as problem:
        sys.exit(f"bench predictions: {problem}")
