"""The python workload: makes, looks up, sorts, prints and parses many small objects; prints a digest of them."""

import hashlib
import json
import random

ROUNDS = 4
RECORDS = 9_000


def make_records(draw):
    records = []
    for number in range(RECORDS):
        records.append({
            "id": number,
            "name": "".join(draw.choices("abcdefghijklmnop", k=draw.randrange(4, 40))),
            "tags": [f"tag-{draw.randrange(500)}" for _ in range(draw.randrange(8))],
            "place": {"x": draw.randrange(10_000) / 8, "y": draw.randrange(10_000) / 8},
            "note": None if number % 5 else "n" * draw.randrange(300),
        })
    return records


def index_by_tag(records):
    index = {}
    for record in records:
        for tag in record["tags"]:
            index.setdefault(tag, []).append((record["name"], record["id"]))
    return {tag: sorted(entries) for tag, entries in index.items()}


def count_words(text):
    counts = {}
    for word in text.replace('"', " ").replace(",", " ").split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def main():
    draw = random.Random(2)
    digest = hashlib.sha256()
    survivors = []  # survives each round, so that live and dead objects mix
    for turn in range(ROUNDS):
        records = make_records(draw)
        text = json.dumps(records)
        decoded = json.loads(text)
        assert decoded == records
        index = index_by_tag(decoded)
        counts = count_words(text)
        lines = [f"{tag}={len(entries)}:{entries[0][0]}" for tag, entries in sorted(index.items())]
        joined = ""
        for line in lines:
            joined += line  # grows by realloc
        unique = {record["name"][:6] for record in records} | set(counts)
        survivors.append(records[turn::7])
        digest.update(text.encode())
        digest.update(joined.encode())
        digest.update(repr(sorted(unique)[:2_000]).encode())
        digest.update(repr(sorted(counts.items())).encode())
    digest.update(json.dumps(survivors, sort_keys=True).encode())
    print("result:", digest.hexdigest())


main()
