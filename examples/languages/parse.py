"""Parses lines into dictionaries: docs/guide/languages.md records it."""
import json

total = 0
for number in range(20_000):
    record = json.loads('{"name": "lake %d", "depth": [1, 2, 3], "text": "%s"}' % (number, "x" * 600))
    total += len(record["text"])
print(total)
