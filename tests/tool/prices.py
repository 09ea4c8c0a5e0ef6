"""Prices for `tarn report` that are the same on every machine and in every build."""

import fcntl
import json
import os
import pathlib
import shutil
import tempfile

from paths import PATHS, run_program

CACHE = tempfile.TemporaryDirectory(prefix="tarn-cache-")  # the XDG_CACHE_HOME of a script that calls use_own()

# ns of a pair, whatever its size and pattern.
SIMPLE = {"alone": 20, "malloc": 20, "drop_in": 6, "pooled": 4, "arena": 2, "recycled": 3, "shared_pool": 5}


def measure(tarn, folder):
    """Copies the prices of this build to `folder`, an XDG_CACHE_HOME; returns their file. The first script that asks
    lets tarn measure them into a folder beside its binary, where it also measures those of another build anew."""
    shared = pathlib.Path(tarn).parent / "test_prices"
    shared.mkdir(exist_ok=True)
    with open(shared / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        environment = {**os.environ, "XDG_CACHE_HOME": str(shared)}
        run_program(tarn, "record", "--heap", "--full", "-o", f"{shared}/prices.rec", "--", "true", env=environment)
        run_program(tarn, "report", f"{shared}/prices.rec", env=environment)
        copy = pathlib.Path(folder, "tarn/costs.json")
        copy.parent.mkdir()
        return pathlib.Path(shutil.copy(shared / "tarn/costs.json", copy))


def simplify(path, factor=1):
    """Replaces the prices of pairs in a file by the simple ones, or so many times as much."""
    prices = json.loads(path.read_text(encoding="utf-8"))
    prices.pop("is_disturbed", None)  # tarn would measure them again, in the middle of a test
    for server, patterns in prices["pair_ns"].items():
        for pattern in patterns:
            patterns[pattern] = [SIMPLE[server] * factor] * 16
    path.write_text(json.dumps(prices), encoding="utf-8")


def use_own():
    """Copies prices into a folder of this script, where its later runs of tarn find them; returns their file."""
    os.environ["XDG_CACHE_HOME"] = CACHE.name
    return measure(PATHS.tarn, CACHE.name)


def use_simple():
    simplify(use_own())
