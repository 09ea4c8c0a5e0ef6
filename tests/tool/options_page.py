#!/usr/bin/env python3
"""docs/reference/options.md is what `tarn options --markdown` prints."""

import pathlib
import subprocess
import sys

page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "options.md"
markdown = subprocess.run([sys.argv[1], "options", "--markdown"], check=True, capture_output=True, text=True).stdout
if page.read_text(encoding="utf-8") != markdown:
    sys.exit(f"docs/reference/options.md is old: run {sys.argv[1]} options --markdown > docs/reference/options.md")
