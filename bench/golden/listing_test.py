#!/usr/bin/env python3
"""Tests that listing.py sees what must not be on the fast path."""

import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import listing  # noqa: E402

HEAD = "\n0000000000000000 <f>:\n"


def path_of(*instructions):
    lines = [f"  {4 * index:x}:\t{text}" for index, text in enumerate(instructions)]
    return listing.fast_path("f", listing.functions(HEAD + "\n".join(lines))["f"], listing.RULES["x86_64"])


class Path(unittest.TestCase):
    def test_conditional_jumps_are_not_taken(self):
        self.assertEqual(path_of("test %rax,%rax", "je 10 <f+0x10>", "ret", "nop", "call 0 <f>"),
                         ["test %rax,%rax", "je slow", "ret"])

    def test_jumps_within_are_followed(self):
        self.assertEqual(path_of("jmp 8 <f+0x8>", "call 0 <f>", "ret"), ["ret"])

    def test_a_jump_out_ends_the_path(self):
        self.assertEqual(path_of("mov %rdi,%rsi", "jmp 99 <slow>"), ["mov %rdi,%rsi", "jmp 99 <slow>"])

    def test_a_path_without_end_is_refused(self):
        with self.assertRaises(listing.Bad):
            path_of("jmp 4 <f+0x4>", "nop")

    def test_relocations_name_the_symbol(self):
        text = HEAD + "   0:\tmov 0x0(%rip),%rax        # 7 <f+0x7>\n\t\t\t3: R_X86_64_GOTTPOFF\ttarn::local-0x4\n"
        self.assertEqual(listing.functions(text)["f"], [(0, "mov tarn::local,%rax")])


class Outlined(unittest.TestCase):
    def test_copies_of_the_fast_path_are_seen(self):
        for symbol in ("tarn::heap::deallocate(void*)",
                       "tarn::pooled<a::b<64ul> >::operator delete(void*, unsigned long)",
                       "void* tarn::detail::allocate<4>(tarn::detail::heap_front*)",
                       "tarn::allocator<a::b<64ul> >::deallocate(a::b<64ul>*, unsigned long) [clone .isra.0]"):
            self.assertEqual(len(listing.outlined(f"0000 T f\n0010 W {symbol}\n")), 1, symbol)

    def test_others_are_not(self):
        for symbol in ("tarn::heap::heap()", "std::basic_string<char, tarn::allocator<char> >::append(char const*)",
                       "unsigned long bench::slots<tarn::heap>(bench::share const&)"):
            self.assertEqual(listing.outlined(f"0010 W {symbol}\n"), [], symbol)


class Rules(unittest.TestCase):
    def refused(self, architecture, text):
        return listing.re.match(listing.RULES[architecture][3], text) is not None

    def test_calls_and_atomic_instructions_of_x86_64_are_refused(self):
        for text in ("call 0 <f>", "lock xadd %rax,(%rdi)", "xchg %rax,(%rdi)", "mfence", "syscall"):
            self.assertTrue(self.refused("x86_64", text), text)
        for text in ("mov %rax,(%rdi)", "je slow", "xchg %ax,%ax", "ret"):
            self.assertFalse(self.refused("x86_64", text), text)

    def test_calls_and_atomic_instructions_of_aarch64_are_refused(self):
        for text in ("bl 0 <f>", "blr x1", "ldaxr x0, [x1]", "casal x0, x1, [x2]", "swp x0, x1, [x2]", "dmb ish"):
            self.assertTrue(self.refused("aarch64", text), text)
        for text in ("ldr x0, [x1]", "b.eq slow", "cbz x0", "ldar x0, [x1]"):
            self.assertFalse(self.refused("aarch64", text), text)


class Arguments(unittest.TestCase):
    def test_a_call_without_an_object_or_a_verb_says_the_usage(self):
        for arguments in ([], ["write"], ["list", "file.o"]):
            with self.subTest(arguments):
                result = subprocess.run([sys.executable, "-B", listing.__file__, *arguments], capture_output=True,
                                        text=True, check=False)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertTrue(result.stderr.startswith("Usage: listing.py show|write|check|inlined OBJECT\n"),
                                result.stderr)


if __name__ == "__main__":
    unittest.main()
