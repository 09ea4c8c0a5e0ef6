"""Pages of the API reference: one for each public header, from what api.py reads."""

import re

CODE_LINE = re.compile(r"[;{}]$|;\s+//|^\s*//|\)$|,$")


def first_sentence(text):
    return re.split(r"(?<=[.:])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(".:") if text else ""


def opening(text):
    """The comment that opens a header: before any code, it says what the header is for."""
    lines = []
    for line in text.splitlines():
        if not line.startswith(("//", "/*", " *")):
            break
        lines.append(re.sub(r"^(//|/\*| \*/?)\s?", "", line).replace("*/", ""))
    return "\n".join(lines).strip("\n")


def prose(comment):
    """A comment as Markdown. A paragraph whose lines are all code, or a drawing, becomes a block of code."""
    parts = []
    for part in re.split(r"\n(?:[ \t]*\n)+", comment):
        lines = part.splitlines()
        first = lines[0] if lines else ""
        is_code = bool(lines) and all(CODE_LINE.search(line.rstrip()) for line in lines) and re.search(r"[;{}]", part) \
            and not re.match(r"[A-Z][a-z]+ [a-z]+ ", first)
        if any(re.search(r"\S {3,}\S|^ {3,}\S", line) for line in lines) and not is_code:
            parts.append("```text\n" + part + "\n```")  # a drawing
        elif is_code:
            parts.append("```cpp\n" + part + "\n```")
        else:
            parts.append("\n".join(escaped(line) for line in lines))
    return "\n\n".join(parts)


def escaped(line):
    """Angle brackets and underscores outside of inline code are text."""
    pieces = re.split(r"(`[^`]*`)", line)
    pieces[::2] = [re.sub(r"([<>*_\[\]])", r"\\\1", piece).replace("\\*\\*", "**") for piece in pieces[::2]]
    return "".join(pieces)


def groups(members):
    """Declarations that share a comment: those without one follow, on the next line, the one that has it."""
    grouped = []
    for member in members:
        follows = grouped and not member.comment and member.first <= grouped[-1][-1].last + 1 \
            and member.is_function == grouped[-1][-1].is_function and not member.is_type
        if follows:
            grouped[-1].append(member)
        else:
            grouped.append([member])
    return grouped


def declared(group):
    return "```cpp\n" + "\n".join(member.text + ";" * (not member.text.endswith("}")) for member in group) + "\n```\n"


def member_text(group, depth):
    first = group[0]
    if first.is_type or first.is_enumeration:
        return type_text(first, depth)
    titled = [member for member in group if not member.is_special()] or group[:1]
    names = list(dict.fromkeys(member.name.split("<")[0] for member in titled))
    title = ", ".join(f"`{name}`" for name in names[:4])
    comment = prose(first.comment)
    return f"{'#' * depth} {title}\n\n{declared(group)}\n{comment}\n"


def type_text(entity, depth):
    kind = re.match(r"(?:template .*?>\s*)?(?:requires [^\n]*\n)?(enum class|enum|class|struct|union|typedef struct)",
                    entity.text, re.DOTALL)
    parts = [f"{'#' * depth} {kind[1] if kind else 'type'} `{entity.name}`\n"]
    if not entity.is_enumeration:
        parts.append(declared([entity]))
    parts.append(prose(entity.comment) + "\n")
    fields = [member for member in entity.members if member.is_field or entity.is_enumeration]
    if fields:
        parts.append("\n".join(f"-   `{' '.join(field.text.split())}`" + (
            "\n\n    " + prose(field.comment).replace("\n", "\n    ") + "\n" if field.comment else "")
            for field in fields) + "\n")
    others = [member for member in entity.members if member not in fields]
    for group in groups(others):
        if all(member.is_special() and not member.comment for member in group):
            continue
        parts.append(member_text(group, min(depth + 1, 6)))
    return "\n".join(parts)


def page(header, text, entities):
    name = str(header.relative_to("include"))
    parts = [f"# {name}\n", f"```cpp\n#include <{name}>\n```\n", prose(opening(text)) + "\n"]
    for group in groups(entities):
        parts.append(member_text(group, 2))
    if not entities:
        parts.append("This header declares nothing itself; it includes others:\n")
        parts.append("\n".join(f"-   [{target}]({target.removeprefix('tarn/')}.md)" for target in
                               re.findall(r"#include <(tarn/(?!detail)[\w./]+)>", text)) + "\n")
    return "\n".join(parts)


def index(entities, texts):
    rows = [f"-   [`{header.relative_to('include')}`]({header.relative_to('include/tarn')}.md): "
            + escaped(first_sentence(opening(texts[header]))) for header in entities]
    return ("# API\n\nOne page for each public header. `tarn/tarn.hpp` includes those of the heaps, pools and locks; "
            "C programs\ninclude `tarn/tarn.h`.\n\n" + "\n".join(rows) + "\n")
