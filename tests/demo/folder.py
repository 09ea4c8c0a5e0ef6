"""Import this first: it puts the demo's folder on the path, from wherever the tests are started."""

import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parent.parent.parent / "demo"
if str(DEMO) not in sys.path:
    sys.path.insert(0, str(DEMO))
