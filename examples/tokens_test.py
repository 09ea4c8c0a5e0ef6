"""What a cycle of tokens.cpp allocates in the steady state, counted by valgrind: tokens_test.py PROGRAM."""

import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
FEW, MANY = 500, 2500  # cycles; what both runs do before they are warm cancels out
LEAST_FALL = 0.99


def usage(way, cycles):
    """What the program prints, and the calls that allocate and their bytes in all of its run."""
    result = subprocess.run(["valgrind", PROGRAM, way, str(cycles)], capture_output=True, text=True, timeout=120,
                            check=True)
    match = re.search(r"total heap usage: ([\d,]+) allocs, [\d,]+ frees, ([\d,]+) bytes allocated", result.stderr)
    calls, size = (int(number.replace(",", "")) for number in match.groups())
    return result.stdout, calls, size


def per_cycle(way):
    """Calls and bytes of one cycle."""
    (_, few_calls, few_bytes), (_, many_calls, many_bytes) = usage(way, FEW), usage(way, MANY)
    return (many_calls - few_calls) / (MANY - FEW), (many_bytes - few_bytes) / (MANY - FEW)


class Tokens(unittest.TestCase):
    def test_warm_objects_allocate_nothing_in_the_steady_state(self):
        calls, size = per_cycle("naive")
        warm_calls, warm_size = per_cycle("warm")
        print(f"a cycle, naive: {calls:.1f} calls, {size:.0f} bytes; warm: {warm_calls:.3f} calls, {warm_size:.1f} "
              f"bytes",
              file=sys.stderr)
        self.assertGreater(calls, 10)
        self.assertGreaterEqual(1 - warm_calls / calls, LEAST_FALL)
        self.assertGreaterEqual(1 - warm_size / size, LEAST_FALL)

    def test_both_ways_give_the_same_replies(self):
        self.assertEqual(usage("naive", FEW)[0], usage("warm", FEW)[0])


if __name__ == "__main__":
    unittest.main()
