"""Reads what an HTML report contains."""

import base64
import re
import zlib


def json_in(page):
    """The JSON of the recording, as text."""
    packed = re.search(r'id="recording">([^<]*)<', page.read_text(encoding="utf-8"))[1]
    return zlib.decompress(base64.b64decode(packed)).decode()
