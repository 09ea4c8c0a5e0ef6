"""Pages of the site from the project's documents: links that stay inside the site, and lists as MkDocs reads them."""

import os
import pathlib
import re

import markdown_it

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
MARKER = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".py": "python", ".sh": "bash", ".toml": "toml",
             ".json": "json", ".cmake": "cmake", ".txt": "text", ".service": "ini", ".socket": "ini", ".md": "markdown"}
LARGEST_SOURCE = 60_000  # bytes of a file that is shown; of a larger one the beginning is


def parse(text):
    return markdown_it.MarkdownIt("commonmark").enable("table").parse(text)


def indented(text):
    """The same document with lists four columns deep and blank lines before lists and tables, which MkDocs needs."""
    lines = text.splitlines()
    items = [token for token in parse(text) if token.type == "list_item_open"]
    blocks = {token.map[0] for token in parse(text)
              if token.type in ("bullet_list_open", "ordered_list_open", "table_open")}
    starts = {token.map[0] for token in items}
    result = []
    for number, line in enumerate(lines):
        enclosing = [token for token in items if token.map[0] <= number < token.map[1]]
        if number in blocks and number and lines[number - 1].strip() and number - 1 not in starts:
            result.append("")
        if not line.strip() or not enclosing:
            result.append(line)
            continue
        marker = MARKER.match(lines[enclosing[-1].map[0]])
        offset = len(marker[0]) if marker else 0
        if number == enclosing[-1].map[0]:
            result.append(" " * 4 * (len(enclosing) - 1) + line.lstrip())
        else:
            result.append(" " * 4 * len(enclosing) + line[min(offset, len(line) - len(line.lstrip())):])
    return "\n".join(result) + "\n"


class Site:
    """The pages that are written, by their path in the project, and the files that they link to."""

    def __init__(self, root, target, pages):
        self.root, self.target = pathlib.Path(root), pathlib.Path(target)
        self.pages = pages  # path in the project -> path in the site
        self.sources = {}

    def place_of(self, path):
        """The page in the site for a path of the project; files that are no document get a page with their text."""
        if path in self.pages:
            return self.pages[path]
        if path.endswith((".png", ".svg")):
            return path.removeprefix("docs/")
        if path.startswith("include/tarn/") and "detail" not in path and path.endswith((".hpp", ".h")):
            return f"reference/api/{path.removeprefix('include/tarn/')}.md"
        self.sources[path] = f"source/{path}.md" if (self.root / path).is_file() else f"source/{path}/index.md"
        return self.sources[path]

    def rewrite(self, text, path, page):
        """The text with each link to a file of the project replaced by the link to its page."""
        def replaced(match):
            link, _, anchor = match[2].partition("#")
            if re.match(r"[a-z]+:", match[2]) or not link:
                return match[0]
            target = os.path.normpath(os.path.join(os.path.dirname(path), link))
            address = os.path.relpath(self.place_of(target), os.path.dirname(page) or ".")
            return match[1] + address + ("#" + anchor if anchor else "") + match[3]

        outside = re.split(r"(^[ \t]*```.*?^[ \t]*```[ \t]*$)", text, flags=re.DOTALL | re.MULTILINE)
        outside[::2] = [LINK.sub(replaced, part) for part in outside[::2]]
        return "".join(outside)

    def write(self, page, text):
        file = self.target / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def write_document(self, path, page, head=""):
        text = (self.root / path).read_text(encoding="utf-8")
        self.write(page, head + self.rewrite(indented(text), path, page))

    def write_sources(self):
        """Pages of files and folders that a document links to. They are not searched."""
        for path, page in self.sources.items():
            file, head = self.root / path, f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n"
            if file.is_dir():
                names = sorted(entry.name + "/" * entry.is_dir() for entry in file.iterdir()
                               if entry.name != "__pycache__")
                self.write(page, head + "\n".join(f"- `{name}`" for name in names) + "\n")
            elif file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                if len(text) > LARGEST_SOURCE:
                    text = text[:LARGEST_SOURCE] + "\n…\n"
                self.write(page, f"{head}````` {LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n`````\n")
            else:
                raise SystemExit(f"a document links to {path}, which is not there")
