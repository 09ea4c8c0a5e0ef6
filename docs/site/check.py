#!/usr/bin/env python3
"""Fails where a page of the built site links to a file or an anchor that is not there, or loads from another host.

    check.py SITE
"""

import html.parser
import pathlib
import sys
import urllib.parse

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src")}


class Page(html.parser.HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif tag == "a" and name == "href":
                self.links.append((self.getpos()[0], value))
            elif (tag, name) in LOADED:
                self.loads.append((self.getpos()[0], value))


def check(site):
    site = pathlib.Path(site).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        location = path.relative_to(site)
        for line, link in page.loads:
            if urllib.parse.urlparse(link).netloc:
                yield f"{location}:{line}: loads {link} from another host"
        for line, link in page.links + page.loads:
            parts = urllib.parse.urlparse(link or "")
            if parts.scheme or parts.netloc:
                continue
            name = urllib.parse.unquote(parts.path)
            target = path if not name else pathlib.Path(site / name[1:] if name.startswith("/") else path.parent / name)
            target = target.resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file() and path.name != "404.html":
                yield f"{location}:{line}: links to {link}, which is not there"
            elif parts.fragment and target in pages:
                if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                    yield f"{location}:{line}: links to {link}, whose anchor is not there"
    if not pages:
        yield f"{site}: has no pages"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = list(check(sys.argv[1]))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
