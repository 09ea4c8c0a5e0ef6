#!/usr/bin/env python3
"""Writes the pages of the site and its settings: build.py FOLDER. MkDocs makes the site of them (./dev docs)."""

import json
import pathlib
import re
import shutil
import sys

import api
import api_pages
import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The order in which a reader meets them; what is not named follows in the order of the alphabet.
ORDER = {
    "guide": ["record", "report", "top", "export", "debugger", "pools", "sync", "application", "io", "log", "checks",
              "guard",
              "quiet-region", "appserver", "server-steps", "lab"],
    "reference": ["options", "exit-codes", "report-json", "recording-format", "page-data", "cost-model", "figures"],
}
PARTS = {
    "guide": "Tasks, one page each.",
    "reference": "The API, options, formats and figures. The [API](api/index.md) has a page for each header.",
    "design": "Decisions, with the figures of the alternatives that lost.",
}
PROJECT = {"CONTRIBUTING.md": "project/contributing.md", "HACKING.md": "project/hacking.md",
           "CHANGELOG.md": "project/changelog.md", "SECURITY.md": "project/security.md",
           "CODE_OF_CONDUCT.md": "project/conduct.md", "LICENSE": "project/licence.md",
           "bench/README.md": "project/bench.md", "bench/demo/README.md": "project/demo.md",
           "tests/programs/README.md": "project/programs.md"}
SLUGS = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"  # the anchors of headings, as GitHub's


def documents():
    """Each document's path in the project and in the site."""
    pages = {"README.md": "index.md", "ARCHITECTURE.md": "design/architecture.md", **PROJECT}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = str(path.relative_to(ROOT))
        pages[name] = name.removeprefix("docs/")
    return {path: page for path, page in pages.items() if (ROOT / path).is_file()}


def chapters(pages, part):
    """The pages of a part of docs/, in their order; a folder is a chapter of its own."""
    order = ORDER.get(part, ["architecture"])
    named = [page for page in pages.values() if page.startswith(part + "/") and page.count("/") == 1]
    named.sort(key=lambda page: (order.index(stem(page)) if stem(page) in order else len(order), page))
    folders = sorted({page.split("/")[1] for page in pages.values() if page.startswith(part + "/")
                      and page.count("/") > 1})
    return [{folder.capitalize(): sorted(page for page in pages.values() if page.startswith(f"{part}/{folder}/"))}
            for folder in folders] + named


def part_index(pages, part):
    """The first page of a part: the titles of its pages, and how each begins."""
    rows = []
    paths = {page: path for path, page in pages.items()}
    for chapter in chapters(pages, part):
        for page in [chapter] if isinstance(chapter, str) else next(iter(chapter.values())):
            text = (ROOT / paths[page]).read_text(encoding="utf-8")
            title = re.search(r"^# (.*)$", text, re.MULTILINE)
            if title is None:
                raise SystemExit(f"{paths[page]} has no title: begin it with \"# \"")
            rows.append(f"-   [{title[1]}]({page.removeprefix(part + '/')})")
    return f"# {part.capitalize()}\n\n{PARTS[part]}\n\n" + "\n".join(rows) + "\n"


def stem(page):
    return pathlib.PurePath(page).stem


def settings(pages, headers, folder):
    """mkdocs.yml as JSON, which is YAML."""
    text = (ROOT / "docs/site/mkdocs.json").read_text(encoding="utf-8")
    values = json.loads(text)
    values["docs_dir"], values["site_dir"] = str(folder / "pages"), str(folder / "site")
    values["hooks"] = [str(ROOT / "docs/site/hook.py")]
    values["nav"] = [
        {"Home": "index.md"},
        {"Guide": ["guide/index.md", *chapters(pages, "guide")]},
        {"Reference": ["reference/index.md", {"API": ["reference/api/index.md", *headers]},
                       *chapters(pages, "reference")]},
        {"Design": ["design/index.md", *chapters(pages, "design")]},
        {"Project": [page for page in PROJECT.values() if page in pages.values()]},
    ]
    return values


def main(folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder / "pages", ignore_errors=True)
    site_pages = documents()
    site = pages.Site(ROOT, folder / "pages", {**site_pages, **{f"docs/{part}": f"{part}/index.md" for part in PARTS},
                                               "include/tarn": "reference/api/index.md"})
    for path, page in site_pages.items():
        if path == "LICENSE":
            site.write(page, "# Licence\n\n```\n" + (ROOT / path).read_text(encoding="utf-8") + "```\n")
        else:
            site.write_document(path, page, "---\nhide: [navigation]\n---\n" if page == "index.md" else "")
    interface = api.read(ROOT)
    texts = {header: (ROOT / header).read_text(encoding="utf-8") for header in interface}
    headers = []
    for header, entities in interface.items():
        headers.append(f"reference/api/{header.relative_to('include/tarn')}.md")
        site.write(headers[-1], api_pages.page(header, texts[header], entities))
    site.write("reference/api/index.md", api_pages.index(interface, texts))
    for part in PARTS:
        site.write(f"{part}/index.md", part_index(site_pages, part))
    site.write_sources()
    shutil.copytree(ROOT / "docs/pictures", folder / "pages/pictures")
    for name in ("style.css", "worker.js"):
        shutil.copy(ROOT / "docs/site" / name, folder / "pages" / name)
    # JSON is YAML, but for the tag that names a function.
    text = json.dumps(settings(site_pages, headers, folder), indent=1).replace('"GITHUB"', SLUGS)
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
