#!/usr/bin/env python3
"""The rules of plain English find what they name: each on a small tree that breaks it, once."""

import contextlib
import io
import unittest

import english
import small_tree

GOOD = {
    "README.md": "# Title\n\nA short sentence. Another one with `code of code` in it.\n\n| a table | may be long |\n"
                 "|---|---|\n",
    "src/base/text.hpp": "// Formats numbers.\n#pragma once\n\nint sum(int left, int right);  ///< adds two numbers\n",
}
LONG_SENTENCE = " ".join(["w"] * 41) + ".\n"


class English(small_tree.SmallTree):
    good = GOOD
    checks = english.CHECKS

    def test_good_tree_passes(self):
        self.assertEqual(self.findings(), [])

    def test_a_long_sentence_is_a_finding(self):
        self.write("README.md", LONG_SENTENCE)
        self.expect("README.md:1:", "a sentence of 41 words")

    def test_sentences_end_at_code(self):
        self.write("README.md", "Twenty" + " w" * 25 + ".\n`code`" + " w" * 25 + ".\n")
        self.assertEqual(self.findings(), [])

    def test_a_long_line_is_a_finding(self):
        self.write("README.md", "w " * 10 + "x" * 90 + "\n")
        self.expect("README.md:1:", "a line of 110 columns")

    def test_long_line_in_code_and_table_is_allowed(self):
        self.write("README.md", "```\n" + "w " * 60 + "\n```\n\n| " + "w " * 60 + "|\n|---|\n")
        self.assertEqual(self.findings(), [])

    def test_a_long_paragraph_is_a_finding(self):
        self.write("README.md", "Short.\n" * 7)
        self.expect("README.md:1:", "a paragraph of 7 lines")

    def test_a_retired_word_is_a_finding(self):
        self.write("README.md", "It saves 12 ms/s.\n")
        self.expect("README.md:1:", "% of the processor's time")

    def test_retired_word_in_code_is_allowed(self):
        self.write("README.md", "The option `ms/s` is old.\n")
        self.assertEqual(self.findings(), [])

    def test_a_comment_that_is_a_fragment_is_a_finding(self):
        self.write("src/base/text.cpp", "\n// What it was.\n")
        self.expect("src/base/text.cpp:2:", 'opens with "What"')

    def test_fragment_behind_code(self):
        self.write("src/base/text.cpp", "int count = 0;  ///< of all\n")
        self.assertEqual(self.findings(), [])
        self.write("src/base/text.cpp", "int count = 0;  // Whether it is\n")
        self.expect("src/base/text.cpp:1:", 'opens with "Whether"')

    def test_fragment_in_typescript(self):
        self.write("web/src/view.tsx", "const a = 'b';  // what it is\n// Of each node\n// the name\nconst c = 1;\n")
        self.expect("web/src/view.tsx:2:", 'opens with "Of"')
        self.write("web/src/view.tsx", "// Returns the name of each node\n// Of this line nothing is an opening.\n")
        self.assertEqual(self.findings(), [])

    def test_subordinate_clause_is_allowed(self):
        self.write("src/base/text.cpp", "// Where it is missing, this is a call.\n")
        self.assertEqual(self.findings(), [])

    def test_text_that_looks_like_a_comment(self):
        self.write("src/base/text.cpp",
                   'const char* a = "// What"; const char* b = R"(\n// What\n)"; char c = \'"\';\n')
        self.assertEqual(self.findings(), [])

    def test_name_in_backticks_that_no_code_has(self):
        self.write("src/base/text.hpp", "// Adds `left` and `of`, as `sum()` does.\n#pragma once\n\n"
                                        "int sum(int left, int right);\n")
        self.assertEqual([str(finding).split(": ")[1] for finding in self.findings()],
                         ["a comment names `of`, which no code has"])

    def test_a_refused_name_is_a_finding(self):
        for text in ("void f(int of);\n", "struct s { int of_; };\n", "void f() { int of = 0; }\n",
                     "template <class T> void f(unknown<T>& of);\n", "enum class e { of };\n",
                     "void f() { for (auto& of : unknown::list()) {} }\n", "auto f = [](unknown::type of) {};\n",
                     "void f() { for (const auto& [key, of] : unknown::map()) {} }\n", "#define F(of) (of)\n",
                     "void f(std::unknown of = std::unknown::current()) {}\n"):
            with self.subTest(text):
                self.write("src/base/text.cpp", text)
                self.expect("src/base/text.cpp:1:", 'has the name "of"')

    def test_a_vague_name_is_a_finding(self):
        self.write("src/base/text.cpp", "void f(int held);\n")
        self.expect("src/base/text.cpp:1:", 'has the name "held"')
        self.write("src/base/text.cpp", "void f(int held_locks) { list.held(); }\n")
        self.assertEqual(self.findings(), [])
        self.write("tests/house/text.py", "def f(*words):\n    return words.count(0)\n")
        self.expect("tests/house/text.py:1:", 'binds "words"')

    def test_a_limit_without_max_or_min_is_a_finding(self):
        self.write("src/base/text.cpp", "constexpr int most_bytes = 1;\n")
        self.expect("src/base/text.cpp:1:", 'has the name "most_bytes"')
        self.write("src/base/text.cpp", "constexpr int max_bytes = 1, most_frequent = 2;\n")
        self.assertEqual(self.findings(), [])

    def test_truth_value_without_predicate(self):
        for text in ("bool open = true;\n", "void f(int count, bool open);\n", "struct s { bool is_open, ready; };\n",
                     "struct s { bool open_{false}; };\n"):
            with self.subTest(text):
                self.write("src/base/text.cpp", text)
                self.expect("src/base/text.cpp:1:", "names a truth value")
        self.write("src/base/text.cpp", "bool try_lock(); bool is_open = true, keeps_order; // bool open;\n")
        self.assertEqual(self.findings(), [])

    def test_word_that_is_no_name(self):
        self.write("src/base/text.cpp",
                   '// Adds all of these.\n#include <of>\n#error "any" of these\nchar c = \'"\';\nauto text = "of"; '
                   'auto raw = R"-(of)-"; auto size = 1\'000of + list.all() + list->at(2) + std::any();\n')
        self.assertEqual(self.findings(), [])

    def test_name_that_a_base_class_gives(self):
        self.write("src/base/text.cpp", "struct e : std::exception { const char* what() const noexcept override; };\n")
        self.assertEqual(self.findings(), [])
        self.write("src/base/text.cpp", "struct e : std::exception { const char* what() const noexcept; };\n")
        self.expect("src/base/text.cpp:1:", 'has the name "what"')

    def test_name_that_the_interface_gives(self):
        function = "template <detail::some_shared A, class F> decltype(auto) with(A& a, F&& f) {}\n"
        self.write("include/tarn/with.hpp", function)
        self.assertEqual(self.findings(), [])
        self.write("include/tarn/with.hpp", "void lock(int with);\n")
        self.expect("include/tarn/with.hpp:1:", 'has the name "with"')
        self.write("include/tarn/with.hpp", "")
        self.write("include/tarn/other.hpp", function)
        self.expect("include/tarn/other.hpp:1:", 'has the name "with"')

    def test_a_finding_ends_the_command_with_an_error(self):
        def run():
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                return english.main([str(self.root)]), printed.getvalue()

        self.assertEqual(run(), (0, ""))
        self.write("src/base/text.cpp", "// What it was.\n")
        status, printed = run()
        self.assertEqual(status, 1)
        self.assertIn("src/base/text.cpp:1:", printed)

    def test_a_refused_name_in_python_is_a_finding(self):
        self.write("docs/a.py", "lines = [each for each in ()]\n")
        self.expect("docs/a.py:1:", 'binds "each"')
        self.write("docs/a.py", "def take(found):\n    return found\n")
        self.expect("docs/a.py:1:", 'binds "found"')

    def test_member_of_json(self):
        for code in ('json f() { return {{"at", 1}}; }\n', 'auto a = document["same"];\n',
                     'auto a = "{\\"not\\":1}";\n', 'json a = {{"fine", 1},\n{"what", 2}};\n'):
            with self.subTest(code):
                self.write("profiler/base/text.cpp", code)
                self.expect(f"profiler/base/text.cpp:{code.count(chr(10))}:", "writes the JSON member")
        self.write("profiler/base/text.cpp",
                   'json a = {{"takes_at", "at"}}; print(b ? "at" : "by", 2); list c = {"one"};\n')
        self.assertEqual(self.findings(), [])
        self.write("profiler/export/speedscope.cpp", 'json a = {{"at", 1}};\n')
        self.assertEqual(self.findings(), [])

    def test_documented_member_of_json(self):
        self.write("docs/reference/report-json.md", "| `by_thread`, `at.stack[]` | the part of the run |\n")
        self.expect("docs/reference/report-json.md:1:", 'documents the JSON member "at"')

    def test_right_operand_in_python_is_allowed(self):
        self.write("docs/a.py", "def is_less(self, other):\n    return self < other\n")
        self.assertEqual(self.findings(), [])


if __name__ == "__main__":
    unittest.main()
