# Python with its own allocator switched off: dictionaries, sorting, regular expressions, JSON, threads.
#@ needs python3
#@ broken-by realloc_drops
export PYTHONMALLOC=malloc PYTHONHASHSEED=1
exec python3 -E -s -c '
import hashlib, json, re, threading, zlib
def work(seed, out):
    table = {}
    for i in range(20000):
        seed = (seed * 1103515245 + 12345) % 2**31
        table.setdefault(str(seed % 997), []).append("x" * (seed % 300))
    text = json.dumps(table, sort_keys=True)
    assert json.loads(text) == table
    words = sorted(re.findall(r"x{20,40}", text), key=len)
    packed = zlib.compress(text.encode())
    assert zlib.decompress(packed).decode() == text
    out[threading.current_thread().name] = (hashlib.sha256(text.encode()).hexdigest(), len(words), len(packed))
out = {}
threads = [threading.Thread(target=work, args=(n, out), name=str(n)) for n in range(4)]
[each.start() for each in threads]
[each.join() for each in threads]
print(json.dumps(out, sort_keys=True))
print(sum(1 << n for n in range(3000)) % 10**50)
'
