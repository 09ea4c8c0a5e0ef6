#!/usr/bin/env python3
"""Looks at what the libraries show to a linker:
symbols_test.py libtarn.a libtarn-malloc.a libtarn-malloc.so LIBRARY OBJECT

LIBRARY is a shared library with libtarn.a inside. Two copies of the engine in one process must not meet, so nobody may
see a symbol of the engine but two constants: the one that tells how a library was built, and the one that `tarn top`
looks for. OBJECT is the drop-in for programs that have it inside.
"""

import re
import subprocess
import sys
import unittest

CONSTANTS = r"tarn_headers_with_\w+|tarn_watch_root"
MALLOC = {"aligned_alloc", "calloc", "cfree", "free", "free_aligned_sized", "free_sized", "mallinfo", "mallinfo2",
          "malloc",
          "malloc_info", "malloc_stats", "malloc_trim", "malloc_usable_size", "mallopt", "memalign", "posix_memalign",
          "pvalloc", "realloc", "reallocarray", "valloc"} | {
              "__libc_" + name for name in ("calloc", "cfree", "free", "malloc", "memalign", "pvalloc", "realloc",
                                            "valloc")} | {
              "__posix_memalign"}
IDENTITY = {"capset", "prctl", "setegid", "seteuid", "setgid", "setns", "setregid", "setresgid", "setresuid",
            "setreuid",
            "setuid", "unshare"}
DYNAMIC_ALONE = {"_Fork", "initgroups", "setgroups"}  # the C library has no second name for them
NEW = re.compile(r"_Z(n[wa]m|d[la]Pv)\w*")


def symbols(path, *options):
    """(name, binding, visibility) of each symbol that a file defines."""
    text = subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True, check=True).stdout
    symbols = re.findall(r"^ +\d+: \w+ +\w+ +\w+ +(\w+) +(\w+) +(\S+) (\S+)$", text, re.MULTILINE)
    assert len(symbols) > 10, path
    return {(name.split("@")[0], binding, visibility)
            for binding, visibility, section, name in symbols if section != "UND"}


class Symbols(unittest.TestCase):
    def visible(self, path, *options):
        return {name for name, binding, visibility in symbols(path, *options)
                if binding != "LOCAL" and visibility not in ("HIDDEN", "INTERNAL")}

    def test_engine_is_hidden_in_the_archive(self):
        engine = {name for name in self.visible(ARCHIVE, "-s") if re.match(r"_Z[TGV]*[NK]*4tarn|tarn", name)}
        self.assertEqual([symbol for symbol in engine if not re.fullmatch(CONSTANTS, symbol)], [])

    def test_archive_of_the_drop_in_defines_malloc_new_and_identity_alone(self):
        names = {name for name, binding, _ in symbols(STATIC, "-s") if binding != "LOCAL"}
        self.assertLessEqual(MALLOC, names)
        forwarded = {name for name in names if NEW.fullmatch(name)}
        self.assertEqual(len(forwarded), 20)
        self.assertLessEqual(IDENTITY, names)
        self.assertEqual(names - MALLOC - IDENTITY - forwarded,
                         {"tarn_malloc" + name for name in forwarded} | {"tarn_malloc_operators"})

    def test_archive_and_library_of_the_drop_in_have_the_same_functions(self):
        exported = {name for name in self.visible(SHARED, "--dyn-syms") if not re.fullmatch(CONSTANTS, name)}
        names = {name for name, binding, _ in symbols(STATIC, "-s") if binding != "LOCAL"}
        self.assertEqual(exported - DYNAMIC_ALONE, {name for name in names if not name.startswith("tarn_malloc")})
        self.assertEqual(exported, {name for name, binding, _ in symbols(OBJECT, "-s") if binding != "LOCAL"})

    def test_library_with_the_archive_shows_no_function_of_the_engine(self):
        defined = {name for name, binding, visibility in symbols(ARCHIVE, "-s") if binding != "LOCAL"}
        visible_names = {name for name in self.visible(LIBRARY, "--dyn-syms") if not re.fullmatch(CONSTANTS, name)}
        weak = {name for name, binding, _ in symbols(ARCHIVE, "-s") if binding == "WEAK"}
        self.assertEqual(sorted(symbol for symbol in visible_names & (defined - weak) if "tarn" in symbol), [])
        self.assertIn("allocate_in_first", visible_names)


if __name__ == "__main__":
    ARCHIVE, STATIC, SHARED, LIBRARY, OBJECT = sys.argv[1:6]
    del sys.argv[1:6]
    unittest.main()
