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
PARTS = ("guide", "reference", "design")
INDEX = "docs/README.md"
API = "reference/api/index.md"
# A page in docs/README.md, which has the order in which a reader meets them and what each is about.
ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)]+\.md)\): (.+(?:\n  .+)*)", re.MULTILINE)
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
    return {path: page for path, page in pages.items() if (ROOT / path).is_file() and path != INDEX}


def entries(part):
    """What docs/README.md says of each page of a part, in its order."""
    text = (ROOT / INDEX).read_text(encoding="utf-8")
    return {page: " ".join(summary.split()) for page, summary in ENTRY.findall(text) if page.startswith(part + "/")}


def unlisted(pages):
    """Pages of docs/ that docs/README.md does not name. Of a folder, it names the first page."""
    listed = {page for part in PARTS for page in entries(part)}
    folders = {str(pathlib.PurePath(page).parent) for page in listed if page.count("/") > 1}
    return [page for path, page in pages.items() if path.startswith("docs/") and page not in listed
            and str(pathlib.PurePath(page).parent) not in folders]


def chapters(pages, part):
    """The pages of a part of docs/, in their order; a folder is a chapter of its own."""
    result = []
    for page in entries(part):
        folder = str(pathlib.PurePath(page).parent)
        if folder == part:
            result.append(page)
        else:
            result.append({pathlib.PurePath(folder).name.capitalize():
                           sorted(page for page in pages.values() if page.startswith(folder + "/"))})
    return result


def part_index(pages, part):
    """The first page of a part: the titles of its pages, and what each is about."""
    rows = []
    paths = {page: path for path, page in pages.items()}
    for page, summary in entries(part).items():
        text = (ROOT / paths[page]).read_text(encoding="utf-8")
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        if title is None:
            raise SystemExit(f"{paths[page]} has no title: begin it with \"# \"")
        rows.append(f"-   [{title[1]}]({page.removeprefix(part + '/')}): {summary}")
    if part == "reference":
        rows.append("-   [The API](api/index.md): a page for each header")
    return f"# {part.capitalize()}\n\n" + "\n".join(rows) + "\n"


def settings(pages, headers, folder):
    """mkdocs.yml as JSON, which is YAML."""
    text = (ROOT / "docs/site/mkdocs.json").read_text(encoding="utf-8")
    values = json.loads(text)
    values["docs_dir"], values["site_dir"] = str(folder / "pages"), str(folder / "site")
    values["hooks"] = [str(ROOT / "docs/site/hook.py")]
    values["nav"] = [
        {"Home": "index.md"},
        {"Guide": ["guide/index.md", *chapters(pages, "guide")]},
        {"Reference": ["reference/index.md", {"API": [API, *headers]}, *chapters(pages, "reference")]},
        {"Design": ["design/index.md", "design/architecture.md", *chapters(pages, "design")]},
        {"Project": [page for page in PROJECT.values() if page in pages.values()]},
    ]
    return values


def main(folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder / "pages", ignore_errors=True)
    site_pages = documents()
    if unlisted(site_pages):
        sys.exit(f"{INDEX} does not name {', '.join(unlisted(site_pages))}: add a line for each")
    site = pages.Site(ROOT, folder / "pages", {**site_pages, **{f"docs/{part}": f"{part}/index.md" for part in PARTS},
                                               "include/tarn": API, INDEX: "index.md"})
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
    site.write(API, api_pages.index(interface, texts))
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
