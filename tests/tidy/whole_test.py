#!/usr/bin/env python3
"""Loads the plugin into clang-tidy and looks at what no page of cases shows: whole_test.py PLUGIN CLANG-TIDY"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PLUGIN = CLANG_TIDY = None
HEADER = """#pragma once
#include <vector>
inline std::vector<int> twice(const std::vector<int>& values) {
  std::vector<int> result;
  for (int value : values) result.push_back(2 * value);
  return result;
}
"""
INCLUDES = pathlib.Path(__file__).resolve().parents[2] / "include"
RECYCLING = """#pragma once
#include <string>
#include <vector>
inline std::size_t length(const std::vector<std::string>& parts) {
  std::string whole;
  for (const std::string& part : parts) whole += part;
  return whole.size();
}
"""


class Whole(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-tidy-")).resolve()
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def tidy(self, *arguments, checks="tarn-reserve", sites=None, folder=None):
        settings = {}
        if sites is not None:
            settings = {"CheckOptions": [{"key": f"{checks}.Sites", "value": str(sites)}]}
        return subprocess.run(
            [CLANG_TIDY, f"--load={PLUGIN}", f"--checks=-*,{checks}", f"--config={json.dumps(settings)}", "--quiet",
             *map(str, arguments), "--", "-std=c++20"],
            capture_output=True, text=True, check=False, cwd=folder or self.folder)

    def test_all_checks_are_there(self):
        result = self.tidy("--list-checks", checks="tarn-*")
        self.assertEqual(result.stdout.split()[2:], ["tarn-buffered", "tarn-copy", "tarn-hoist", "tarn-make-shared",
                                                     "tarn-move", "tarn-pooled", "tarn-recycle", "tarn-reserve",
                                                     "tarn-sites"])

    def test_a_header_gets_the_same_edit_from_each_unit(self):
        self.write("shared.hpp", HEADER)
        edited = []
        for name in ("first.cpp", "second.cpp"):
            folder = self.folder / name.removesuffix(".cpp")
            folder.mkdir()
            shutil.copy(self.folder / "shared.hpp", folder)
            unit = folder / name
            unit.write_text(f'#include <string>\n#include "shared.hpp"\nstd::vector<int> of_{unit.stem}() '
                            "{ return twice({1, 2}); }\n", encoding="utf-8")
            result = self.tidy("--header-filter=shared", "--fix", unit, folder=folder)
            self.assertIn("reserve(values.size())", result.stdout)
            edited.append((folder / "shared.hpp").read_text(encoding="utf-8"))
        self.assertEqual(edited[0], edited[1])
        self.assertIn("  result.reserve(values.size());\n  for", edited[0])

    def test_both_units_in_one_run_edit_a_header_once(self):
        header = self.write("shared.hpp", HEADER)
        units = [self.write(f"{name}.cpp", '#include "shared.hpp"\n') for name in ("first", "second")]
        self.tidy("--header-filter=shared", "--fix", *units)
        self.assertEqual(header.read_text(encoding="utf-8").count("reserve"), 1)

    def test_a_header_of_the_system_is_left_alone(self):
        include = self.folder / "include"
        include.mkdir()
        header = include / "shared.hpp"
        header.write_text(HEADER, encoding="utf-8")
        unit = self.write("unit.cpp", "#include <shared.hpp>\n")
        result = self.tidy("--header-filter=.*", "--system-headers", "--fix", unit, f"--extra-arg=-isystem{include}")
        self.assertNotIn("reserve", result.stdout)
        self.assertEqual(header.read_text(encoding="utf-8"), HEADER)

    def test_the_count_of_an_array_is_its_std_size_since_cpp17(self):
        unit = self.write("unit.cpp", HEADER.removeprefix("#pragma once\n").replace(
            "const std::vector<int>& values) {", "int first) {\n  const int values[8] = {first};"))
        for language, count in ("c++17", "std::size(values)"), ("c++14", "8"):
            self.assertIn(f"reserve({count})", self.tidy(unit, f"--extra-arg=-std={language}").stdout)

    def test_a_file_of_sites_that_cannot_be_read_is_an_error(self):
        unit = self.write("unit.cpp", "#include <vector>\n")
        for text, problem in [
                (None, "No such file"), ("{", "Expected"), ("[]", 'it has no array "sites"'),
                ('{"sites": [{"line": 1, "check": "a"}]}', 'a site needs "file", "line" and "check"'),
                ('{"sites": [{"file": "a", "line": 0, "check": "a"}]}', 'a site needs "file", "line" and "check"'),
                ('{"sites": [{"file": "a", "line": 1, "check": "a", "bytes": -1}]}', 'fewer than 0 "bytes"')]:
            sites = self.folder / "sites.json"
            sites.unlink(missing_ok=True)
            if text is not None:
                self.write("sites.json", text)
            result = self.tidy(unit, sites=sites)
            self.assertIn("cannot read the sites in", result.stdout + result.stderr, text)
            self.assertIn(problem, result.stdout + result.stderr)
            self.assertNotEqual(result.returncode, 0, text)

    def test_many_sites_in_one_run_have_answers_of_their_own(self):
        unit = self.write("unit.cpp", HEADER.removeprefix("#pragma once\n"))
        questions = (4, "tarn-reserve.0"), (3, "tarn-recycle.1"), (4, "tarn-reserve.2"), (2, "tarn-none.3")
        sites = self.write("sites.json", json.dumps({"sites": [
            {"file": str(unit), "line": line, "check": name, "bytes": 0} for line, name in questions]}))
        edits = self.folder / "edits"
        options = [{"key": "Sites", "value": str(sites)}, {"key": "Edits", "value": str(edits)}]
        result = self.tidy(unit, f"--config={json.dumps({'CheckOptions': options})}", "--fix",
                           checks="tarn-sites,tarn-*.*")
        self.assertRegex(result.stdout, r"unit.cpp:4:3: warning: 'result' grows .*\[tarn-reserve.0,tarn-reserve.2\]\n")
        self.assertRegex(result.stdout, r"unit.cpp:3:3: warning: no edit: .*\[tarn-recycle.1\]\n")
        self.assertEqual(unit.read_text(encoding="utf-8"), HEADER.removeprefix("#pragma once\n"))
        self.assertEqual({path.name for path in edits.iterdir()}, {"tarn-reserve.0", "tarn-reserve.2"})
        for folder in edits.iterdir():
            subprocess.run(["clang-apply-replacements-16", folder], check=True)
            self.assertEqual(unit.read_text(encoding="utf-8").count("result.reserve(values.size());"), 1)
            unit.write_text(HEADER.removeprefix("#pragma once\n"), encoding="utf-8")

    def test_a_unit_with_other_code_says_so(self):
        header = self.write("shared.hpp", """#ifdef USE_LIST
#include <list>
using container = std::list<int>;
#else
#include <vector>
using container = std::vector<int>;
#endif
inline container copy_of(const container& values) {
  container result;
  for (int value : values) result.push_back(value);
  return result;
}
""")
        sites = self.write("sites.json", json.dumps({"sites": [
            {"file": str(header), "line": 10, "check": "tarn-reserve.0", "bytes": 0}]}))
        options = f"--config={json.dumps({'CheckOptions': [{'key': 'Sites', 'value': str(sites)}]})}"
        for text, answer in (('#include "shared.hpp"', "'result' grows"), ("", None),
                             ('#define USE_LIST\n#include "shared.hpp"', "silent: "),
                             ('#include "shared.hpp"\n#define USE_LIST\nnamespace second {\n#include "shared.hpp"\n}',
                              "silent: ")):
            if "second" in text:
                text = "#include <list>\n" + text
            unit = self.write("unit.cpp", text + "\n")
            result = self.tidy(unit, options, "--header-filter=.*", checks="tarn-sites,tarn-*.*")
            self.assertEqual("[tarn-reserve.0]" in result.stdout, answer is not None, result.stdout)
            self.assertIn(answer or "", result.stdout)

    def test_a_site_is_found_through_another_name_of_its_file(self):
        unit = self.write("unit.cpp", HEADER.removeprefix("#pragma once\n"))
        alias = self.folder / "alias.cpp"
        alias.symlink_to(unit)
        for entry in (unit, alias, self.folder / "." / "unit.cpp"):
            sites = self.write("sites.json", json.dumps(
                {"sites": [{"file": str(entry), "line": 4, "check": "tarn-reserve", "bytes": 0}]}))
            self.assertIn("reserve(values.size())", self.tidy(unit, sites=sites).stdout, entry)
        sites = self.write("sites.json", json.dumps(
            {"sites": [{"file": str(unit), "line": 4, "check": "tarn-copy", "bytes": 0}]}))
        self.assertNotIn("reserve", self.tidy(unit, sites=sites).stdout)

    def recycle(self, *arguments, name="shared.hpp"):
        """Asks tarn-recycle for an edit of the text in RECYCLING, and returns the answer and the text after it."""
        header = self.write(name, RECYCLING)
        unit = self.write("unit.cpp", f'#include "{name}"\n')
        sites = self.write("sites.json", json.dumps(
            {"sites": [{"file": str(header), "line": 6, "check": "tarn-recycle", "bytes": 0}]}))
        other = self.write("other.cpp", f'#include "{name}"\n#include <map>\n')
        result = self.tidy("--header-filter=.*", "--fix", unit, other, *arguments, checks="tarn-recycle", sites=sites)
        return result.stdout + result.stderr, header.read_text(encoding="utf-8")

    def test_a_header_that_recycles_gets_one_include(self):
        answer, text = self.recycle(f"--extra-arg=-I{INCLUDES}")
        self.assertNotIn("no edit", answer)
        self.assertEqual(text, RECYCLING.replace("#include <vector>", "#include <tarn/recycle.hpp>\n#include <vector>")
                         .replace("  std::string whole;", "  auto kept_whole = tarn::recycle<std::string>();\n"
                                                          "  std::string& whole = *kept_whole;"))

    def test_recycling_needs_the_header_and_its_language(self):
        for arguments, reason in [
                ([], "no include folder of the unit has <tarn/recycle.hpp>"),
                ([f"--extra-arg=-I{INCLUDES}", "--extra-arg=-std=c++17"], "compiled for a C++ before C++20")]:
            answer, text = self.recycle(*arguments)
            self.assertIn(reason, answer)
            self.assertEqual(text, RECYCLING)
        # A folder of the system will do as well.
        self.assertIn("tarn::recycle", self.recycle(f"--extra-arg=-isystem{INCLUDES}")[1])

    def test_a_class_in_a_shared_library_is_to_review(self):
        text = "struct node {\n  node() {} ~node() {}\n};\nnode* make_node() { return new node; }\n"
        for option, start in ("-fPIE", ": 'node' is made"), ("-fPIC", ": review: 'node' is made"):
            unit = self.write("unit.cpp", text)
            sites = self.write("sites.json", json.dumps(
                {"sites": [{"file": str(unit), "line": 4, "check": "tarn-pooled", "bytes": 0}]}))
            result = self.tidy(unit, f"--extra-arg=-I{INCLUDES}", f"--extra-arg={option}", checks="tarn-pooled",
                               sites=sites)
            self.assertIn(f"unit.cpp:1:8: warning{start}", result.stdout)
        # Only its own unit can end an object of a class without linkage.
        unit.write_text(f"namespace {{\n{text}}}\n", encoding="utf-8")
        self.write("sites.json", sites.read_text(encoding="utf-8").replace('"line": 4', '"line": 5'))
        result = self.tidy(unit, f"--extra-arg=-I{INCLUDES}", "--extra-arg=-fPIC", checks="tarn-pooled", sites=sites)
        self.assertIn("unit.cpp:2:8: warning: 'node' is made", result.stdout)

    def test_each_unit_with_a_class_is_asked(self):
        header = self.write("node.hpp", "#pragma once\nstruct node {\n  node() {} ~node() {}\n};\n")
        sites = self.write("sites.json", json.dumps(
            {"sites": [{"file": str(header), "line": 2, "check": "tarn-pooled", "bytes": 0}]}))
        for text, answer in (("void use(node*) {}", "warning: 'node' is made on the heap"),
                             ("void end(node* last) { ::delete last; }", "warning: no edit: ::delete frees"),
                             ("static_assert(sizeof(node) == 1);", "warning: no edit: an assertion speaks")):
            unit = self.write("unit.cpp", f"#include \"node.hpp\"\n{text}\n")
            result = self.tidy(unit, "--header-filter=.*", f"--extra-arg=-I{INCLUDES}", checks="tarn-pooled",
                               sites=sites)
            self.assertIn(answer, result.stdout)

    def test_an_include_stands_below_the_guard_of_a_header(self):
        body = "struct node {\n  node() {}\n};\n"
        pooled = body.replace("node {", "node : public tarn::pooled<node> {", 1)
        unit = self.write("unit.cpp", '#include "node.hpp"\nnode* make_node() { return new node; }\n')
        sites = self.write("sites.json", json.dumps(
            {"sites": [{"file": str(unit), "line": 2, "check": "tarn-pooled", "bytes": 0}]}))
        for guard, end in ("#pragma once", ""), ("// Of Ann.\n#ifndef NODE\n#define NODE", "#endif\n"):
            header = self.write("node.hpp", f"{guard}\n\n// A node.\n{body}{end}")
            self.tidy(unit, "--header-filter=.*", "--fix", f"--extra-arg=-I{INCLUDES}", checks="tarn-pooled",
                      sites=sites)
            self.assertEqual(header.read_text(encoding="utf-8"),
                             f"{guard}\n\n#include <tarn/pooled.hpp>\n\n// A node.\n{pooled}{end}")

    def pool(self, text):
        """Asks tarn-pooled for an edit of a unit that makes a node, and returns the answer and the text after it."""
        unit = self.write("unit.cpp", text)
        line = text[:text.index("new node")].count("\n") + 1
        sites = self.write("sites.json", json.dumps(
            {"sites": [{"file": str(unit), "line": line, "check": "tarn-pooled", "bytes": 0}]}))
        result = self.tidy(unit, "--fix", f"--extra-arg=-I{INCLUDES}", f"--extra-arg=-I{self.folder}",
                           checks="tarn-pooled", sites=sites)
        return result.stdout + result.stderr, unit.read_text(encoding="utf-8")

    def test_an_include_stands_where_it_means_the_same_in_each_configuration(self):
        node = "struct node {\n  node() {} ~node() {}\n};\nnode* make_node() { return new node; }\n"
        pooled = node.replace("node {", "node : public tarn::pooled<node> {", 1)
        self.write("own.hpp", "#pragma once\n")
        self.write("z.inc", "inline int last() { return 3; }\n")
        line = "#include <tarn/pooled.hpp>\n"
        for before, after in [
                ('extern "C" {\n#include <stdio.h>\n}\n#include "own.hpp"\n', "@"),
                ('#ifdef _WIN32\n#include <windows.h>\n#else\n#include <unistd.h>\n#endif\n#include "own.hpp"\n', "@"),
                ('#if 0\n#include <zlib.h>\n#elif 1\n#include <unistd.h>\n#endif\n#include "own.hpp"\n', "@"),
                ('#define private public\n#include <vector>\n#undef private\n#include "own.hpp"\n', "@"),
                ('#pragma pack(push, 1)\n#include <vector>\n#pragma pack(pop)\n#include "own.hpp"\n', "@"),
                ('namespace later {\n#include <z.inc>\n}\n', "#"),
                ('/* The first\n*/ #include <string>\n#include "own.hpp"  // ours\n', "@"),
                ('#include "own.hpp"\n\n#include <cstdio>\n  #include <vector>\nint number;\n#include <list>\n',
                 '#include "own.hpp"\n\n#include <cstdio>\n#include <tarn/pooled.hpp>\n  #include <vector>\n'
                 'int number;\n#include <list>\n'),
                ('#include <cstdio>\n#include <map>\n\n#include <vector>\n',
                 '#include <cstdio>\n#include <map>\n#include <tarn/pooled.hpp>\n\n#include <vector>\n'),
                ('#ifdef NODE\n#include <tarn/pooled.hpp>\n#endif\n#include "own.hpp"\n', "@"),
                ('#ifndef NODE\n#define NODE\n#endif\n#include "own.hpp"\n', "@"),
                ("", f"{line}\n")]:
            answer, text = self.pool(before + node)
            self.assertIn("'node' is made on the heap", answer)
            expected = {"@": before + line, "#": f"{line}\n{before}"}.get(after, after)
            self.assertEqual(text, expected + pooled)

    def test_an_edit_without_a_sure_place_for_its_include_is_not_made(self):
        node = "struct node {\n  node() {} ~node() {}\n};\nnode* make_node() { return new node; }\n"
        for before in ("#define NDEBUG\n#ifdef __linux__\n#include <cassert>\n#endif\n",
                       "#ifndef NODE\n#define NODE\n#endif\n"):
            answer, text = self.pool(before + node)
            self.assertIn("no edit: no place is sure for #include <tarn/pooled.hpp>", answer)
            self.assertEqual(text, before + node)
        # The file is a part of a namespace.
        body = self.write("body.inc", node)
        unit = self.write("unit.cpp", "namespace app {\n#include \"body.inc\"\n}\n")
        sites = self.write("sites.json", json.dumps(
            {"sites": [{"file": str(body), "line": 4, "check": "tarn-pooled", "bytes": 0}]}))
        result = self.tidy(unit, "--header-filter=.*", "--fix", f"--extra-arg=-I{INCLUDES}", checks="tarn-pooled",
                           sites=sites)
        self.assertIn("no edit: no place is sure", result.stdout)
        self.assertEqual(body.read_text(encoding="utf-8"), node)

    def test_nothing_is_recycled_without_a_recording(self):
        unit = self.write("unit.cpp", RECYCLING.removeprefix("#pragma once\n"))
        result = self.tidy(unit, f"--extra-arg=-I{INCLUDES}", checks="tarn-recycle")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_a_parameter_in_an_included_file_is_to_review(self):
        text = "static std::size_t length(std::string text) { return text.size(); }\n"
        call = "const std::string name;\nstd::size_t size() { return length(name); }\n"
        for text_of_header, text_of_unit, start in ("", text, ": 'text'"), (text, "", ": review: 'text'"):
            self.write("length.hpp", f"#include <string>\n{text_of_header}")
            unit = self.write("unit.cpp", f'#include "length.hpp"\n{text_of_unit}{call}')
            sites = self.write("sites.json", json.dumps(
                {"sites": [{"file": str(unit), "line": 4 if text_of_unit else 3, "check": "tarn-copy", "bytes": 0}]}))
            result = self.tidy(unit, "--header-filter=.*", checks="tarn-copy", sites=sites)
            self.assertIn(f":2:39: warning{start} is only read", result.stdout)

    def test_lines_end_as_they_did(self):
        text = HEADER.removeprefix("#pragma once\n").replace("\n", "\r\n")
        unit = self.folder / "unit.cpp"
        unit.write_bytes(text.encode())
        self.tidy("--fix", unit)
        self.assertIn(b"  result.reserve(values.size());\r\n  for", unit.read_bytes())
        self.assertEqual(unit.read_bytes().count(b"\n"), unit.read_bytes().count(b"\r\n"))
        for includes in "#include <string>\n#include <vector>\n", "#pragma once\n#include <string>\n":
            text = includes + ("std::string text_of(std::string* place) {\n  std::string text = *place;\n"
                               "  *place = text;\n  return {};\n}\n")
            unit.write_bytes(text.replace("\n", "\r\n").encode())
            sites = self.write("sites.json", json.dumps({"sites": [
                {"file": str(unit), "line": 5, "check": "tarn-move", "bytes": 0}]}))
            self.tidy("--fix", unit, checks="tarn-move", sites=sites)
            self.assertIn(b"#include <utility>\r\n", unit.read_bytes())
            self.assertEqual(unit.read_bytes().count(b"\n"), unit.read_bytes().count(b"\r\n"))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PLUGIN, CLANG_TIDY = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
