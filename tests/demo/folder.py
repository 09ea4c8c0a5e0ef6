"""Import this first: it puts the folders of the bench and the demo on the path, from wherever the tests are started."""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
sys.path[:0] = [str(BENCH / "demo"), str(BENCH)]
