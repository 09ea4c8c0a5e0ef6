#!/usr/bin/env python3
"""The site's builder turns documents into pages, its checker finds what is broken, and so does the one of comments."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
import api
import api_pages
import build
import check
import pages

import documented

LINKED_HEADING = re.compile(r"\]\(([^):#]+\.md)#")
HEADER = """// Boxes, one for each thread.
#pragma once
namespace tarn {
/// A box.
///
/// tarn::box<int> one;
/// one.open(3);
///
/// Opens at once. Threads: one at a time. Errors: its constructor throws std::bad_alloc.
template <class T>
class [[nodiscard("keep it")]] box {
 public:
  box() = default;
  /// Opens the box after `delay_ms` milliseconds.
  template <class... Arguments>
    requires(sizeof...(Arguments) > 0)
  explicit(sizeof...(Arguments) == 1) box(int delay_ms, Arguments&&...) : open_{delay_ms} {}
  int open(int a = {}) const noexcept { return a; }

 private:
  int open_ = 0;
};
namespace detail {
struct hidden {};
}
}  // namespace tarn
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tarn site "))
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


class Checker(Folder):
    def setUp(self):
        super().setUp()
        self.write("index.html", '<a href="guide/a.html#there">a</a><img src="p.png"><a href="https://x.y/">out</a>')
        self.write("guide/a.html", '<h1 id="there">A</h1><a href="../index.html">back</a><a href="#there">here</a>')
        self.write("p.png", "")

    def expect(self, *parts):
        findings = list(check.check(self.root))
        self.assertEqual(len(findings), len(parts), findings)
        for part, finding in zip(parts, findings):
            self.assertIn(part, finding)

    def test_good_site_passes(self):
        self.expect()

    def test_a_link_to_a_missing_page_is_a_finding(self):
        self.write("guide/a.html", '<h1 id="there">A</h1>\n<a href="b.html">b</a>')
        self.expect("guide/a.html:2: links to b.html, which is not there")

    def test_a_link_to_a_missing_anchor_is_a_finding(self):
        self.write("guide/a.html", '<h1 id="where">A</h1>')
        self.expect("index.html:1: links to guide/a.html#there, whose anchor is not there")

    def test_a_link_to_a_missing_picture_is_a_finding(self):
        (self.root / "p.png").unlink()
        self.expect("links to p.png")

    def test_a_script_from_another_host_is_a_finding(self):
        self.write("more.html", '<script src="https://x.y/a.js"></script>')
        self.expect("more.html:1: loads https://x.y/a.js from another host")

    def test_a_site_without_pages_is_a_finding(self):
        shutil.rmtree(self.root)
        self.root.mkdir()
        self.expect("has no pages")


class Documents(Folder):
    def test_lists_are_four_columns_deep(self):
        text = "Text:\n- one\n  goes on\n  - inner\n\n    more\n- two\n\n| a |\n|---|\n"
        self.assertEqual(pages.indented(text),
                         "Text:\n\n- one\n    goes on\n\n    - inner\n\n        more\n- two\n\n| a |\n|---|\n")

    def test_code_is_not_changed(self):
        text = "```\n- no list\n  | no table |\n```\n"
        self.assertEqual(pages.indented(text), text)

    def test_links_lead_to_pages_and_to_sources(self):
        self.write("src/a.cpp", "int a;\n")
        self.write("docs/guide/a.md", "[b](b.md#x) [c](../../src/a.cpp) [d](https://x.y)\n```\n[e](f.md)\n```\n")
        site = pages.Site(self.root, self.root / "out",
                          {"docs/guide/a.md": "guide/a.md", "docs/guide/b.md": "guide/b.md"})
        site.write_document("docs/guide/a.md", "guide/a.md")
        site.write_sources()
        self.assertEqual((self.root / "out/guide/a.md").read_text(encoding="utf-8"),
                         "[b](b.md#x) [c](../source/src/a.cpp.md) [d](https://x.y)\n```\n[e](f.md)\n```\n")
        self.assertIn("int a;", (self.root / "out/source/src/a.cpp.md").read_text(encoding="utf-8"))

    def test_link_to_nothing(self):
        self.write("a.md", "[b](b.cpp)\n")
        site = pages.Site(self.root, self.root / "out", {"a.md": "a.md"})
        site.write_document("a.md", "a.md")
        with self.assertRaisesRegex(SystemExit, "links to b.cpp"):
            site.write_sources()


class Interface(Folder):
    def setUp(self):
        super().setUp()
        self.write("include/tarn/box.hpp", HEADER)

    def test_declarations_are_as_written(self):
        (box,) = api.read(self.root)[pathlib.Path("include/tarn/box.hpp")]
        self.assertEqual(box.text, 'template <class T>\nclass [[nodiscard("keep it")]] box')
        self.assertEqual([member.name for member in box.members], ["box<T>", "box<T>", "open"])
        self.assertEqual(box.members[1].text, "template <class... Arguments>\n  requires(sizeof...(Arguments) > 0)\n"
                         "explicit(sizeof...(Arguments) == 1) box(int delay_ms, Arguments&&...)")
        self.assertEqual(box.members[2].text, "int open(int a = {}) const noexcept")

    def test_a_page_has_the_documentation_of_its_header(self):
        (header, entities), = api.read(self.root).items()
        page = api_pages.page(header, HEADER, entities)
        self.assertIn("# tarn/box.hpp", page)
        self.assertIn("Boxes, one for each thread.", page)
        self.assertIn("```cpp\ntarn::box<int> one;\none.open(3);\n```", page)
        self.assertIn("Opens the box after `delay_ms` milliseconds.", page)
        self.assertNotIn("hidden", page)
        self.assertNotIn("open_", page)

    def expect(self, text, *parts):
        self.write("include/tarn/box.hpp", text)
        findings = [str(finding) for finding in documented.check(self.root)]
        self.assertEqual(len(findings), len(parts), findings)
        for part, finding in zip(parts, findings):
            self.assertIn(part, finding)

    def test_good_comments_pass(self):
        self.expect(HEADER.replace("  int open(", "  /// Opens it `a` times.\n  int open("))

    def test_name_without_comment(self):
        self.expect(HEADER.replace("int open(int a = {})", "int open()").replace("return a", "return 0"),
                    "open has no comment")

    def test_type_constant_and_alias_without_comment(self):
        self.expect("#pragma once\nstruct box {};\nenum class kind { round };\nusing other = box;\n",
                    "box has no comment", "kind has no comment", "kind::round has no comment", "other has no comment")

    def test_overload_shares_the_comment(self):
        self.expect("#pragma once\n/// Opens it, in any thread.\nvoid open() noexcept;\nvoid open(char a) noexcept;\n")
        self.expect("#pragma once\n/// Opens it, in any thread.\nvoid open() noexcept;\n\n"
                    "void open(char a) noexcept;\n", "open has no comment", "open does not say which threads")

    def test_parameter_without_unit(self):
        opens = "#pragma once\n/// Opens it after {}. Any thread may call it.\nvoid open(int {}) noexcept;\n"
        self.expect(opens.format("`delay`", "delay"), "include/tarn/box.hpp:3: open: delay is a number without a unit")
        self.expect(opens.format("`delay` milliseconds", "delay"))
        self.expect(opens.format("a delay", "delay_ms"))

    def test_field_without_unit(self):
        self.expect("#pragma once\n/// A box.\nstruct box {\n  int room = 0;  ///< how large it is\n};\n",
                    "box::room is a number without a unit")

    def test_function_without_threads_or_errors(self):
        self.expect("#pragma once\n/// Opens it. Throws std::bad_alloc.\nvoid open();\n",
                    "include/tarn/box.hpp:3: open does not say which threads may use it")
        self.expect("#pragma once\n/// Opens it. Any thread may call it.\nvoid open();\n",
                    "include/tarn/box.hpp:3: open does not say what it throws or returns on an error")
        self.expect("#pragma once\n/// Opens it. Any thread may call it. Throws std::bad_alloc.\nvoid open();\n")

    def test_header_states_threads_and_errors_for_all(self):
        self.expect("// Any thread may call these functions, which throw std::bad_alloc.\n#pragma once\n"
                    "/// Opens it.\nvoid open();\n")
        self.expect("// A thread that throws.\n#pragma once\n/// Opens it.\nvoid open();\n",
                    "which threads", "on an error")

    def test_class_without_threads_or_errors(self):
        lid = "#pragma once\n/// A lid.{}\nclass lid {{\n public:\n  /// Opens it.{}\n  void open();\n}};\n"
        self.expect(lid.format("", ""), "include/tarn/box.hpp:3: lid does not say which threads",
                    "lid does not say what it throws")
        self.expect(lid.format(" Threads: any.", ""), "lid does not say what it throws")
        self.expect(lid.format(" Threads: any.", " Throws std::bad_alloc."))
        self.expect(lid.format(" Threads: any.", "").replace("open()", "open() noexcept"))
        self.expect(lid.format("", " Any thread may call it, and it throws nothing."), "lid does not say which threads")

    def test_data_and_exceptions_need_neither(self):
        self.expect("#pragma once\n/// A box.\nstruct box {\n  int lids = 0;  ///< number of lids\n};\n"
                    "/// The box is full.\nclass full {\n public:\n  /// Made by a box.\n  full(const char* name);\n"
                    "  const char* what() const noexcept;\n};\n")

    def test_private_and_detail_need_none(self):
        self.expect("#pragma once\n/// A box.\nclass box {\n  int room = 0;\n};\nnamespace detail {\nstruct lid {};\n"
                    "}\n")

    def test_header_of_a_library_that_is_not_installed(self):
        self.write("include/tarn/sink.hpp", "#pragma once\n#include <no/such/library.h>\nvoid sink();\n")
        with contextlib.redirect_stderr(io.StringIO()) as notes:
            self.expect(HEADER.replace("  int open(", "  /// Opens it `a` times.\n  int open("))
        self.assertIn("sink.hpp: left out", notes.getvalue())

    def test_headers_that_do_not_compile(self):
        self.write("include/tarn/box.hpp", "#pragma once\nmissing open();\n")
        with self.assertRaisesRegex(SystemExit, "do not compile"):
            documented.check(self.root)


class Index(unittest.TestCase):
    def test_it_names_each_page_and_no_other(self):
        documents = build.documents()
        self.assertEqual(build.unlisted(documents), [], f"add a line to {build.INDEX}")
        for part in build.PARTS:
            for page in build.entries(part):
                self.assertIn(page, documents.values(), f"{build.INDEX} names a page that is not there")

    def test_a_page_that_is_not_named_is_found(self):
        self.assertEqual(build.unlisted({"docs/guide/new.md": "guide/new.md", "README.md": "index.md"}),
                         ["guide/new.md"])


class Headings(unittest.TestCase):
    def test_a_link_to_a_heading_leads_to_a_page(self):
        documents = build.documents()
        for path in documents:
            for link in LINKED_HEADING.findall((build.ROOT / path).read_text(encoding="utf-8")):
                target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                with self.subTest(document=path):
                    self.assertIn(target, documents, "name it in docs/site/build.py: a page of source has no headings")


if __name__ == "__main__":
    unittest.main()
