"""Python functions with allocations and calls of their own, each started by its name: python_test.py records them."""
import ctypes
import os
import signal
import sys
import threading
import time

rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1000


def buffer():
    return bytearray(5000)  # allocates


class Table:
    def fill(self, count):
        rows = []
        for _ in range(count):
            rows.append(bytearray(6000))  # fills
        return rows


def nested():
    def inner():
        return Table().fill(rounds)  # nests
    return len(inner())


def numbers(count):
    for _ in range(count):
        yield bytearray(7000)  # yields


def generator():
    return sum(1 for _ in numbers(rounds))


def rank(word):
    return bytearray(5000 + word)  # ranks


def callback():
    return len(sorted(range(rounds), key=rank))  # sorts


def threads():
    def work():
        for _ in range(rounds):
            buffer()  # works
    running = [threading.Thread(target=work) for _ in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return len(running)


def remade():
    """The memory of each function is that of the one before."""
    for number in range(rounds):
        exec(compile(f"def made_{number:05}():\n    return bytearray(5000)\nmade_{number:05}()", "made", "exec"), {})
    return rounds


def cells():
    """Code objects that differ little, each in the memory of the one before."""
    source = "\ndef fn_%03d(t):\n    for i in range(t):\n        b=bytearray(5000)\nfn_%03d(100+%d)\n"
    for number in range(rounds):
        scope = {}
        code = compile(source % (number, number, number), "file_%03d.py" % number, "exec")
        exec(code, scope)
        scope.clear()
        del scope, code
    for number in range(rounds):
        exec(compile(f"for _ in range({number + 100}): bytearray(5000)", f"cell {number:03}", "exec"), {})
    for number in range(rounds):
        lines = "\n" * (number + 1)
        exec(compile(f"for _ in range({number + 100}):{lines} bytearray(5000)", "lines", "exec"), {})
    return rounds


def cells_at_work():
    for number in range(6):
        end = time.process_time() + rounds / 1000
        exec(compile("while time.process_time() < end:\n    spin()", f"cell {number:03}", "exec"),
             {"spin": spin, "time": time, "end": end})
    return 6


def crowd():
    """More functions than the recorder has room for. The last one calls one that it knows."""
    buffer()
    function = type(crowd)
    for number in range(66_000):
        function(buffer.__code__.replace(co_qualname=f"copy_{number}"), {})()
    scope = {"buffer": buffer}
    exec("def late():\n    return buffer()\ndef later():\n    return late()", scope)
    for _ in range(rounds):
        scope["later"]()  # late
    return rounds


def long_function():
    """A module of so many lines that its table of lines has more than 64 KiB."""
    count = 20_000
    exec(compile("x = 1\n" * count + f"y = [bytearray(5000) for _ in range({rounds})]\n", "long", "exec"), {})
    return count


def forged():
    """Names that would end a line, and colour the next."""
    name, file = "name\n1. forged \x1b[31m\x9b0m", "/file\n2. forged\x1b[0m.py"
    function = type(forged)(buffer.__code__.replace(co_qualname=name, co_filename=file), {})
    for _ in range(rounds):
        function()
    return rounds


def named(file, name):
    """Makes a function of this name in a file of this name, calls it, and forgets it."""
    scope = {}
    exec(compile(f"def {name}(count):\n    return [bytearray(5000) for _ in range(count)]\n{name}({rounds})",
                 file, "exec"), scope)
    scope.clear()


def foreign_names():
    """One, two, three and four bytes of UTF-8 a character, and half of a pair."""
    for name in "caf\u00e9", "\u65e5\u672c", "\U00020000x":
        named(f"{name}.py", name)
    named("half\udce9.py", "half")
    return rounds


def foreign_names_at_work():
    end = time.process_time() + rounds / 1000
    scope = {"spin": spin, "time": time, "end": end}
    exec(compile("def \u65e5\u672c():\n    while time.process_time() < end:\n        spin()\n\u65e5\u672c()",
                 "caf\u00e9\udce9.py", "exec"), scope)
    return True


def descend(depth):
    if depth == 0:
        return len([buffer() for _ in range(rounds)])  # ends
    return descend(depth - 1)  # descends


def recursion():
    sys.setrecursionlimit(100_000)
    return descend(50_000) + descend(10)


class Reversed:
    def __init__(self, depth):
        self.depth = depth

    def __len__(self):
        buffer()
        return 1 + (len(Reversed(self.depth - 1)) if self.depth > 0 else 0)  # counts


def recursion_through_c():
    return len(Reversed(200))


def calls():
    for _ in range(rounds):
        os.stat("/")  # looks
    return rounds


def signals():
    """Handlers interrupt the interpreter anywhere, and make calls there."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    signal.set_wakeup_fd(ends[1], warn_on_full_buffer=False)
    signal.signal(signal.SIGALRM, lambda *_: buffer())
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    for _ in range(rounds):
        descend(20)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return rounds


def subinterpreter():
    import _xxsubinterpreters
    interpreter = _xxsubinterpreters.create()
    _xxsubinterpreters.run_string(interpreter, "def lone():\n    return [bytearray(5000) for _ in range(100)]\nlone()")
    _xxsubinterpreters.destroy(interpreter)
    return 1


def foreign():
    """The C library calls a function of Python in a thread of its own, which has no Python state before."""
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: len(buffer()) and None)
    library, thread = ctypes.CDLL(None), ctypes.c_ulong()
    for _ in range(20):
        library.pthread_create(ctypes.byref(thread), None, function, None)
        library.pthread_join(thread, None)
    return 20


def daemons():
    """Threads that the interpreter does not wait for at its end, and whose states it frees."""
    def work():
        while True:
            buffer()
            time.sleep(0)
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.05)
    return 4


def child():
    if os.fork() == 0:
        buffer()
        os.execv(sys.executable, [sys.executable, __file__, "nested", "100"])
    return os.wait()[1]


def endless():
    print("ready", flush=True)
    while True:
        buffer()
        time.sleep(0.001)


def busy():
    total = 0
    end = time.process_time() + rounds / 1000
    while time.process_time() < end:
        total += spin()
    return total > 0


def spin():
    total = 0
    for number in range(20_000):
        total += number * number  # spins
    return total


def first_inner(count):
    total = 0
    for number in range(count):
        total += number


def second_inner(count):
    total = 0
    for number in range(count):
        total += number


def first_outer():
    first_inner(2000)


def second_outer():
    second_inner(2000)


def yielding(count):
    for number in range(count):
        yield number


def summing():
    return sum(number for number in yielding(700))


def part_of(first, second):
    """Calls both in turn, and returns the first one's share of the CPU time."""
    times = [0.0, 0.0]
    while sum(times) < rounds / 1000:
        begun = time.thread_time()
        for _ in range(10):
            first()
        middle = time.thread_time()
        for _ in range(10):
            second()
        times[0] += middle - begun
        times[1] += time.thread_time() - middle
    return times[0] / sum(times)


def callers():
    def outer():
        first_outer()
        second_outer()
    return part_of(outer, summing)


def stepping():
    for _ in range(10):
        first_inner(3000)
        yield


def steps():
    for _ in stepping():
        pass


def plain():
    for _ in range(10):
        second_inner(7000)


def generators():
    return part_of(steps, plain)


def cells_of_equal_cost():
    """Code objects of equal cost and names, at the addresses of those before them."""
    source = "total = 0\nfor number in range(rounds):\n    total += number"
    for number in range(12):
        exec(compile(source, f"<cell {number:02}>", "exec"), {"rounds": rounds * 1000})
    return True


def waiting():
    end = time.monotonic() + rounds / 1000
    while time.monotonic() < end:
        time.sleep(0.01)  # waits
    return True


def pass_gate(gate):
    gate.acquire()  # hangs


def hanging():
    """Two threads hang at one place until standard input ends."""
    gates = [threading.Lock(), threading.Lock()]
    threads = [threading.Thread(target=pass_gate, args=(gate,)) for gate in gates]
    for gate, thread in zip(gates, threads):
        gate.acquire()
        thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    for gate, thread in zip(gates, threads):
        gate.release()
        thread.join()
    return True


print(globals()[sys.argv[1]](), flush=True)  # starts
