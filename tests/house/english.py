#!/usr/bin/env python3
"""Plain English: each sentence, comment and name that is not plain, with its file, line and cure.

    english.py [ROOT]
"""

import sys

import comments
import names
import prose
import tree

CHECKS = (prose.check, comments.check, names.check, names.check_vague, names.check_predicates)


def main(arguments):
    root = arguments[0] if arguments else "."
    return tree.report([finding for check in CHECKS for finding in check(root)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
