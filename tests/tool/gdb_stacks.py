"""In gdb: runs the program and, each time that it comes to stop(), notes who called: module, offset, kind of frame."""

import json
import os

import gdb


def modules():
    """Of each file that is mapped: where it starts, less where its own addresses start."""
    functions = {}
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split()
            if len(fields) < 6 or not fields[5].startswith("/"):
                continue
            low, high = (int(word, 16) for word in fields[0].split("-"))
            if fields[5] not in functions:
                with open(fields[5], "rb") as file:
                    is_fixed = file.read(18)[16] == 2  # ET_EXEC
                functions[fields[5]] = [0 if is_fixed else low, low, high]
            functions[fields[5]][2] = high
    return functions


def callers():
    frames, mapped = [], modules()
    frame, inner = gdb.newest_frame().older(), gdb.NORMAL_FRAME
    while frame is not None and frame.is_valid():
        kind = frame.type()
        if kind not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):  # of which the stack has nothing
            pc = frame.pc()
            # The one that a signal interrupted stands at its next instruction; all others behind their call.
            address = pc if inner == gdb.SIGTRAMP_FRAME else pc - 1
            path, bias = next(((path, segment[0]) for path, segment in mapped.items() if segment[1] <= pc < segment[2]),
                              ("", 0))
            frames.append({"module": os.path.basename(path), "offset": address - bias,
                           "signal": kind == gdb.SIGTRAMP_FRAME,
                         "function": frame.name() or ""})
            inner = kind
        frame = frame.older()
    return frames


gdb.execute("set pagination off")
gdb.execute("set debuginfod enabled off")
gdb.execute("handle SIGUSR1 SIGSEGV nostop noprint pass")
gdb.execute("tbreak main")
gdb.execute("run")
gdb.execute("set language c")  # in which an address is said like this
gdb.execute("break *stop")
stacks = {}
while True:
    gdb.execute("continue", to_string=True)
    if not gdb.selected_inferior().pid:
        break
    argument = "$rdi" if "x86-64" in gdb.selected_inferior().architecture().name() else "$x0"
    stacks.setdefault(int(gdb.parse_and_eval(argument)), []).append(callers())
with open(os.environ["TARN_STACKS"], "w", encoding="utf-8") as output:
    json.dump(stacks, output)
