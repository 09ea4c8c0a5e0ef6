#!/usr/bin/env python3
"""Lists the instructions of the inline fast path, and checks them.

  listing.py show  OBJECT   prints the fast path of every function of fast_path.cpp
  listing.py write OBJECT   rewrites the golden listing of this machine's architecture
  listing.py check OBJECT   no call, no lock, no atomic read-modify-write; and the same as the golden listing
  listing.py inlined OBJECT an object file that uses the library a lot calls its inline functions nowhere

The fast path of a function is what runs from its entry when no conditional jump is taken, up to the return: the
slow paths are marked unlikely, so the compiler moves them behind it. Listings are of one compiler; with another one
than the listing names, only the rules are checked.
"""

import difflib
import os
import platform
import re
import subprocess
import sys

VERBS = ("show", "write", "check", "inlined")
FUNCTIONS = ["pooled_new", "pooled_delete", "allocator_allocate", "allocator_deallocate",
             "heap_allocate", "heap_deallocate"]
FAST = r"tarn::(\w+::)*((try_)?allocate|deallocate|current|operator (new|delete)(\[\])?)"
MOST_INSTRUCTIONS = 26  # a listing that grows beyond is a new path, not a new compiler

# Per architecture: the return, the jump without condition, the conditional jumps, and what the path must not have.
RULES = {
    "x86_64": (r"ret", r"jmp", r"j(?!mp)\w+", r"call|lock |xchg (?!%ax,%ax)|cmpxchg|xadd|mfence|syscall"),
    "aarch64": (r"ret", r"b", r"b\.\w+|cbn?z|tbn?z",
                r"bl|blr|ldxr|ldaxr|stxr|stlxr|cas\w*|swp\w*|ldadd\w*|ldset\w*|ldclr\w*|dmb|svc"),
}


class Bad(Exception):
    """What is wrong, in one line."""


def tool(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def functions(disassembly):
    """Name -> list of (address, instruction); a relocation replaces the operand that it fills in."""
    bodies, current = {}, None
    for line in disassembly.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            current = bodies.setdefault(head[1], [])
            continue
        relocation = re.match(r"\s+[0-9a-f]+: (R_\w+)\s+(\S+)", line)
        if relocation and current:
            address, text = current[-1]
            symbol = re.sub(r"[-+]0x[0-9a-f]+$", "", relocation[2])
            text = re.sub(r"\s*<.*>$", "", text)
            text = re.sub(r"0x0\(%rip\)|\b[0-9a-f]+$", symbol, text, count=1)
            current[-1] = (address, text)
            continue
        instruction = re.match(r"\s+([0-9a-f]+):\t(.+)$", line)
        if instruction and current is not None:
            text = re.sub(r"\s*#.*$", "", instruction[2])
            current.append((int(instruction[1], 16), re.sub(r"\s+", " ", text).strip()))
    return bodies


def fast_path(name, instructions, rules):
    """The instructions from the entry to the return, conditional jumps not taken."""
    leave, jump, branch, _ = rules
    by_address = {address: index for index, (address, _) in enumerate(instructions)}
    path, index = [], 0
    while True:
        if index >= len(instructions) or len(path) > MOST_INSTRUCTIONS:
            raise Bad(f"{name}: no return within {MOST_INSTRUCTIONS} instructions")
        text = instructions[index][1]
        mnemonic = text.split(" ")[0]
        if re.fullmatch(jump, mnemonic):
            target = re.match(r"\S+ (?:0x)?([0-9a-f]+) <" + re.escape(name) + r"(\+|>)", text)
            if target is None:  # a jump out of the function: to the slow path, by its name
                path.append(text)
                return path
            index = by_address[int(target[1], 16)]
            continue
        if re.fullmatch(branch, mnemonic):
            text = re.sub(r"(?:0x)?[0-9a-f]+ <.*>$", "slow", text)
        path.append(text)
        if re.fullmatch(leave, mnemonic):
            return path
        index += 1


def plain_name(symbol):
    """A demangled name without the arguments of templates and functions, and without what is returned."""
    symbol = re.sub(r" \[clone .*", "", symbol).replace("operator()", "call")
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)", "", symbol)
        if shorter == symbol:
            return re.sub(r"^.*\s(?=tarn::)| const$", "", symbol)
        symbol = shorter


def outlined(symbols):
    """The functions of the fast path of which an object file has a copy: somewhere it calls that."""
    defined = (line.split(" ", 2) for line in symbols.splitlines())
    names = (plain_name(symbol) for _, kind, symbol in defined if kind in "TtWwVv")
    return sorted({name for name in names if re.fullmatch(FAST, name)})


def listings(object_file):
    rules = RULES.get(platform.machine())
    if rules is None:
        raise Bad(f"no rules for {platform.machine()}")
    functions_of_file = functions(tool("objdump", "-dr", "-C", "--no-show-raw-insn", object_file))
    missing = [name for name in FUNCTIONS if name not in functions_of_file]
    if missing:
        raise Bad(f"{object_file} has no {', '.join(missing)}")
    paths = {name: fast_path(name, functions_of_file[name], rules) for name in FUNCTIONS}
    for name, path in paths.items():
        for text in path:
            if re.match(rules[3], text):
                raise Bad(f"{name}: its fast path has: {text}")
    return paths


def compiler_of(object_file):
    comment = tool("readelf", "-p", ".comment", object_file)
    match = re.search(r"(GCC|clang version)\D*(\d+)\.", comment)
    return f"{match[1].split(' ')[0]} {match[2]}" if match else "unknown"


def as_text(paths, compiler):
    lines = [f"# {compiler}, release. Made by bench/golden/listing.py; jumps to `slow` are not taken."]
    for name, path in paths.items():
        lines += ["", f"{name}: {len(path)} instructions", *(f"  {text}" for text in path)]
    return "\n".join(lines) + "\n"


def main(verb, object_file):
    if verb == "inlined":
        calls = outlined(tool("nm", "-C", "--defined-only", object_file))
        if calls:
            raise Bad(f"not inlined into every caller: {', '.join(calls)}: mark them [[gnu::always_inline]]")
        print("inlined everywhere")
        return
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{platform.machine()}.txt")
    text = as_text(listings(object_file), compiler_of(object_file))
    if verb == "show":
        print(text, end="")
    elif verb == "write":
        with open(golden, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        expected = ""
        if os.path.exists(golden):
            with open(golden, encoding="utf-8") as file:
                expected = file.read()
        if text.split("\n", 1)[0] != expected.split("\n", 1)[0]:
            print("the rules hold; no golden listing of this compiler")
        elif text != expected:
            lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "now", n=2, lineterm="")
            raise Bad("\n".join([f"the fast path is not as in {golden}; if that is meant: listing.py write", *lines]))
        else:
            print("the rules hold, and the listing is the golden one")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in VERBS:
        sys.exit(f"Usage: listing.py {'|'.join(VERBS)} OBJECT\n"
                 "OBJECT is fast_path.cpp.o of the target bench_golden; for inlined, of any program.")
    try:
        main(*sys.argv[1:])
    except Bad as bad:
        print(f"listing: {bad}", file=sys.stderr)
        sys.exit(1)
