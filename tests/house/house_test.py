#!/usr/bin/env python3
"""The rules of the house find what they name: each on a small tree that breaks it, once."""

import unittest

import files
import headers
import levels
import small_tree

GOOD = {
    "dev": "command_test() { :; }\n",
    "README.md": "Run `./dev test`; see [the engine](src/base/bits.hpp).\n",
    "include/tarn/heap.hpp": "#pragma once\n#include <cstddef>\n#include <tarn/detail/fast.hpp>\n",
    "include/tarn/detail/fast.hpp": "// Why.\n#pragma once\n",
    "include/tarn/tarn.h": "#ifndef TARN_TARN_H\n#define TARN_TARN_H\n#include <stddef.h>\n#endif\n",
    "src/base/bits.hpp": "#pragma once\n#include <tarn/detail/fast.hpp>\n",
    "src/memory/pages/slab.hpp": '#pragma once\n#include "base/bits.hpp"\n',
    "src/memory/pages/slab.cpp": '#include "memory/pages/slab.hpp"\n',
    "src/memory/heap/owner.hpp": '#pragma once\n#include "memory/pages/slab.hpp"\n',
    "src/memory/drop_in/malloc.cpp": '#include "memory/heap/owner.hpp"\n',
    "src/CMakeLists.txt": "set(pages memory/pages/slab.cpp)\nset(drop_in memory/drop_in/malloc.cpp)\n",
    "profiler/cli/main.cpp": '#include "memory/heap/owner.hpp"\n#include <tarn/heap.hpp>\n',
    "profiler/CMakeLists.txt": "set(cli cli/main.cpp)\n",
}


def compile_headers(root):
    return headers.check(root, "c++", "cc", [])


class House(small_tree.SmallTree):
    good = GOOD
    checks = (levels.check, files.check, compile_headers)

    def test_good_tree_passes(self):
        self.assertEqual(self.findings(), [])

    def test_an_include_of_a_higher_level_is_a_finding(self):
        self.write("src/memory/pages/slab.cpp", '\n\n#include "memory/heap/owner.hpp"\n')
        self.expect("src/memory/pages/slab.cpp:3:", "src/memory/heap/ is above src/memory/pages/",
                    "let src/memory/heap/ pass it in")

    def test_components_beside_each_other(self):
        self.write("src/io/reader.hpp", '#pragma once\n#include "base/bits.hpp"\n')
        self.assertEqual(self.findings(), [])
        self.write("src/io/reader.hpp", '#pragma once\n#include "memory/pages/slab.hpp"\n')
        self.expect("src/io/reader.hpp:2:", "src/io/ and src/memory/pages/ stand beside each other", "lower")
        self.write("src/io/reader.hpp", "#pragma once\n")
        self.write("src/memory/heap/owner.hpp", '#pragma once\n#include "io/reader.hpp"\n')
        self.expect("src/memory/heap/owner.hpp:2:", "src/memory/heap/ and src/io/ stand beside each other")

    def test_upward_include_with_odd_spacing(self):
        self.write("src/memory/pages/slab.cpp", '/* #include "x"\n*/ #  include"memory/heap/owner.hpp"  // why\n')
        self.expect("src/memory/pages/slab.cpp:2:", "src/memory/heap/ is above src/memory/pages/")

    def test_commented_include_is_no_include(self):
        self.write("src/memory/pages/slab.cpp",
                   '// #include "memory/heap/owner.hpp"\n/*\n#include "memory/heap/owner.hpp"\n*/\n')
        self.assertEqual(self.findings(), [])

    def test_nothing_includes_the_drop_in(self):
        self.write("src/memory/drop_in/entry.hpp", "#pragma once\n")
        self.write("src/memory/drop_in/malloc.cpp", '#include "memory/drop_in/entry.hpp"\n')
        self.assertEqual(self.findings(), [])
        self.write("profiler/cli/main.cpp", '#include "memory/drop_in/entry.hpp"\n')
        self.expect("profiler/cli/main.cpp:1:", "nothing links the drop-in", "src/memory/api/ or lower")

    def test_public_header_stands_alone(self):
        self.write("include/tarn/heap.hpp", '#pragma once\n#include "base/bits.hpp"\n')
        self.expect("include/tarn/heap.hpp:2:", "must stand alone", "include/tarn/detail/")

    def test_detail_includes_only_detail(self):
        self.write("include/tarn/more.hpp", "#pragma once\n")
        self.write("include/tarn/detail/fast.hpp", "#pragma once\n#include <tarn/more.hpp>\n")
        self.expect("include/tarn/detail/fast.hpp:2:", "inline fast paths only")

    def test_engine_includes_no_tool(self):
        self.write("profiler/cli/main.hpp", "#pragma once\n")
        self.write("src/memory/pages/slab.cpp", '#include "../profiler/cli/main.hpp"\n')
        self.expect("src/memory/pages/slab.cpp:1:", "write \"level/file.hpp\"")

    def test_include_that_leads_nowhere(self):
        self.write("src/memory/pages/slab.cpp", '#include "slab.hpp"\n')
        self.expect("src/memory/pages/slab.cpp:1:", "no file of the project", "from src/ on")

    def test_include_by_macro(self):
        self.write("src/memory/pages/slab.cpp", "#include SLAB\n")
        self.expect("src/memory/pages/slab.cpp:1:", "names no file")

    def test_file_in_no_level(self):
        self.write("src/extra/thing.hpp", "#pragma once\n")
        self.expect("src/extra/thing.hpp:1:", "stands in no level")

    def test_a_cycle_of_headers_is_a_finding(self):
        self.write("src/base/bits.hpp", '#pragma once\n#include "base/more.hpp"\n')
        self.write("src/base/more.hpp", '#pragma once\n#include "base/bits.hpp"\n')
        self.expect("src/base/bits.hpp:2:",
                    "src/base/bits.hpp -> src/base/more.hpp -> src/base/bits.hpp", "a header of its own")

    def test_header_without_guard(self):
        self.write("src/memory/pages/slab.hpp", '#include "base/bits.hpp"\n#pragma once\n')
        self.expect("src/memory/pages/slab.hpp:1:", "#pragma once is not its first line of code")

    def test_c_header_with_the_guard_of_another(self):
        self.write("include/tarn/more.h", GOOD["include/tarn/tarn.h"])
        self.expect("include/tarn/more.h:1:", "TARN_MORE_H")

    def test_header_that_needs_another_first(self):
        self.write("src/memory/pages/slab.hpp", "#pragma once\ninline std::size_t slabs = 1;\n")
        self.write("src/memory/pages/slab.cpp",  # where it comes first, the build would fail
                   "#include <cstddef>\n\n" + (self.root / "src/memory/pages/slab.cpp").read_text(encoding="utf-8"))
        self.expect("src/memory/pages/slab.hpp:1:", "does not compile on its own")

    def test_c_header_is_compiled_as_c(self):
        self.write("include/tarn/tarn.h", "#pragma once\nnamespace tarn {}\n")
        self.expect("include/tarn/tarn.h:1:", "does not compile on its own")

    def test_file_that_is_not_built(self):
        self.write("src/memory/pages/forgotten.cpp", '#include "memory/pages/slab.hpp"\n')
        self.write("src/CMakeLists.txt", GOOD["src/CMakeLists.txt"] + "# memory/pages/forgotten.cpp\n")
        self.expect("src/memory/pages/forgotten.cpp:1:", "is not built", "src/CMakeLists.txt")

    def test_a_long_file_is_a_finding(self):
        self.write("src/memory/pages/slab.cpp", '#include "memory/pages/slab.hpp"\n' * 601)
        self.expect("src/memory/pages/slab.cpp:601:", "601 lines, more than 600", "one idea a file")

    def test_a_folder_of_many_sources_is_a_finding(self):
        for number in range(files.MAX_SOURCES):
            self.write(f"tests/unit/case_{number}.cpp", "int main() {}\n")
        self.assertEqual(self.findings(), [])
        self.write("tests/unit/helper.py", "pass\n")
        self.expect("tests/unit:1:", "31 sources in one folder")

    def test_white_space_tab_and_last_line(self):
        self.write("src/base/bits.hpp", "#pragma once \n")
        self.expect("src/base/bits.hpp:1:", "white space")
        self.write("src/base/bits.hpp", "#pragma once\nstruct\tbits;\n")
        self.expect("src/base/bits.hpp:2:", "a tab")
        self.write("src/base/bits.hpp", "#pragma once\nstruct bits;")
        self.expect("src/base/bits.hpp:2:", "does not end with a newline")
        self.write("src/base/bits.hpp", "#pragma once\n")
        self.write("docs/a.py", "names = [\n    " + "x" * 117 + "]\n")
        self.expect("docs/a.py:2:", "a line of 122 columns")

    def test_promise_instead_of_work(self):
        self.write("src/base/bits.hpp", "#pragma once\n// TO" + "DO later\n")
        self.expect("src/base/bits.hpp:2:", "TO" + "DO")

    def test_document_that_links_nowhere(self):
        self.write("README.md", "See [that](https://example.org) and\n[this](docs/none.md).\n")
        self.expect("README.md:2:", "docs/none.md")

    def test_document_that_shows_code_of_no_example(self):
        self.write("examples/one.cpp", "int main() {\n  int one = 1;\n  return one;\n}\n")
        self.write("docs/page.md", "```cpp\nint one = 1;\n\nreturn two;\n```\n")
        self.expect("docs/page.md:4:", "shows code that no example has")

    def test_document_that_shows_a_project_or_a_unit_of_no_example(self):
        self.write("examples/one/CMakeLists.txt", "find_package(Tarn)\n")
        self.write("examples/one/one.service", "Type=notify\n")
        self.write("docs/page.md", "```cmake\nfind_package(Tarn)\n```\n```ini\nType=notify\n```\n")
        self.assertEqual(self.findings(), [])
        self.write("docs/page.md", "```cmake\nfind_package(Tarn)\n```\n```ini\nType=simple\n```\n")
        self.expect("docs/page.md:5:", "shows code that no example has")
        self.write("docs/page.md", "```cmake\nType=notify\n```\n")
        self.expect("docs/page.md:2:", "shows code that no example has")

    def test_document_that_quotes_an_example(self):
        self.write("examples/one.cpp", "int main() {\n  int one = 1;\n  return one;\n}\n")
        self.write("docs/page.md", "```cpp\nint one = 1;\n\nreturn one;\n}\n```\n")
        self.assertEqual([str(finding) for finding in files.check(self.root)], [])

    def test_document_that_names_no_command(self):
        self.write("README.md", "Run `./dev tset`.\n")
        self.expect("README.md:1:", "./dev tset", "help, test")


if __name__ == "__main__":
    unittest.main()
