#!/usr/bin/env python3
"""The licences that the SBOM names for other projects' packages: bill_test.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))

import package  # noqa: E402 (found by the path above)

HEAD = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"


class Licences(unittest.TestCase):
    def licence(self, text):
        with tempfile.TemporaryDirectory() as folder:
            documents = pathlib.Path(folder)
            (documents / "lib+one").mkdir()
            (documents / "lib+one/copyright").write_text(text, encoding="utf-8")
            return package.debian_licence("lib+one", documents)

    def test_a_licence_with_a_name_of_spdx(self):
        for stated, expected_name in [("Expat", "MIT"), ("BSD-3-clause or GPL-2", "BSD-3-Clause OR GPL-2.0-only"),
                                      ("BSD-2-Clause and Apache-2.0", "BSD-2-Clause AND Apache-2.0")]:
            text = f"{HEAD}Files: *\nCopyright: 2026 Somebody\n           and others\nLicense: {stated}\n"
            self.assertEqual(self.licence(text + "\nFiles: debian/*\nLicense: GPL-9\n"), (expected_name, None))

    def test_any_other_licence_is_quoted(self):
        for text in [f"{HEAD}Files: *\nCopyright: 2026 Somebody\nLicense: Expat with embedded exception\n",
                     f"{HEAD}Files: debian/*\nCopyright: 2026 Somebody\nLicense: Expat\n", "You may copy it.\n"]:
            self.assertEqual(self.licence(text), ("LicenseRef-lib-one", text))

    def test_the_bill_has_a_licence_for_each_part(self):
        parts = [("one", "1", "npm", "ISC", None), ("two", "2", "deb/debian", "LicenseRef-two", "You may.\n")]
        bill = package.bill_of_materials("1.0", 0, "commit", parts, [])
        self.assertEqual([(part["name"], part["licenseDeclared"]) for part in bill["packages"]],
                         [("tarn", "MIT"), ("one", "ISC"), ("two", "LicenseRef-two")])
        self.assertEqual(bill["hasExtractedLicensingInfos"],
                         [{"licenseId": "LicenseRef-two", "name": "licences of two", "extractedText": "You may.\n"}])


if __name__ == "__main__":
    unittest.main()
