#!/usr/bin/env python3
"""docs/options.md is what `tarn options --markdown` prints."""

import pathlib
import subprocess
import sys

page = pathlib.Path(__file__).parents[2] / "docs" / "options.md"
made = subprocess.run([sys.argv[1], "options", "--markdown"], check=True, capture_output=True, text=True).stdout
if page.read_text(encoding="utf-8") != made:
    sys.exit(f"docs/options.md is old: run {sys.argv[1]} options --markdown > docs/options.md")
