import hashlib
import os
import tempfile
import unittest
from pathlib import Path

import folder  # noqa: F401
import allocators
from runner import loaded, peers
import loop
from workloads import redis, rocksdb

BINDINGS = """\
      71:\tbinding file /lib/x/libc.so.6 [0] to /opt/libnew.so [0]: normal symbol `malloc' [GLIBC_2.2.5]
      71:\tbinding file prog [0] to /opt/libnew.so [0]: normal symbol `free' [GLIBC_2.2.5]
      71:\tbinding file prog [0] to /lib/x/libc.so.6 [0]: normal symbol `printf' [GLIBC_2.2.5]
      71:\tbinding file prog [0] to /opt/libnew.so [0]: weak symbol `nothing'
a line of the program itself
"""

MAPS = """\
55d0c0000000-55d0c0001000 r--p 00000000 fe:00 12 /usr/bin/prog
7f0000000000-7f0000001000 r-xp 00000000 fe:00 13 /opt/with space/libnew.so
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0 [stack]
"""


LOAD = """\
starting benchmark...
finished in 2.03s, 29568.81 req/s, 562.34MB/s
requests: 60000 total, 60000 started, 60000 done, 60000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 60000 2xx, 0 3xx, 0 4xx, 0 5xx
"""


class LoadTest(unittest.TestCase):
    def test_the_requests_of_a_load_are_read(self):
        self.assertEqual(loop.parse_load(LOAD), 29568.81)

    def test_a_request_without_its_answer_is_a_failure(self):
        for wrong in (LOAD.replace("60000 2xx, 0 3xx", "59999 2xx, 1 3xx"), "the connection was refused\n"):
            with self.assertRaisesRegex(loop.Failed, "not 60000 answers"):
                loop.parse_load(wrong)


class LoadedTest(unittest.TestCase):
    def test_mapped_files_are_read_with_spaces_in_their_names(self):
        self.assertEqual(loaded.mapped_files(MAPS), {"/usr/bin/prog", "/opt/with space/libnew.so"})

    def test_bindings_of_the_family_only(self):
        self.assertEqual(loaded.parse_bindings(BINDINGS.splitlines(True)), {
            ("/lib/x/libc.so.6", "/opt/libnew.so", "malloc"), ("prog", "/opt/libnew.so", "free")})

    def test_all_bound_to_the_library(self):
        self.assertEqual(loaded.wrong_bindings({("prog", "/opt/libnew.so", "free")}, "/opt/libnew.so"), [])

    def test_a_function_bound_to_another_library_is_wrong(self):
        wrong = ("prog", "/lib/libc.so.6", "free")
        self.assertEqual(loaded.wrong_bindings({wrong, ("prog", "/opt/libnew.so", "malloc")}, "/opt/libnew.so"),
                         [wrong])

    def test_another_allocator_may_bind_for_itself(self):
        library = ("/usr/lib/libjemalloc.so.2", "/usr/lib/libjemalloc.so.2", "malloc")
        self.assertEqual(loaded.wrong_bindings({library}, "/opt/libnew.so"), [])

    def test_a_stub_of_the_program_is_followed(self):
        to_stub, onwards = ("/lib/libc.so.6", "prog", "free"), ("prog", "/opt/libnew.so", "free")
        self.assertEqual(loaded.wrong_bindings({to_stub, onwards}, "/opt/libnew.so"), [])
        self.assertEqual(loaded.wrong_bindings({to_stub}, "/opt/libnew.so"), [to_stub])

    def test_own_process_has_loaded_libc_and_not_something_else(self):
        program = os.path.realpath("/proc/self/exe")
        libc = [f for f in loaded.mapped_files(Path("/proc/self/maps").read_text()) if "/libc." in f or "/libc-" in f]
        self.assertTrue(libc)
        self.assertTrue(loaded.has_loaded(os.getpid(), program, libc[0]))
        self.assertFalse(loaded.has_loaded(os.getpid(), program, "/opt/libnew.so"))
        self.assertFalse(loaded.has_loaded(os.getpid(), "/bin/another", libc[0]))


class AllocatorsTest(unittest.TestCase):
    def test_a_path_that_the_preload_list_cannot_hold_gets_a_link(self):
        with tempfile.TemporaryDirectory(prefix="with space") as spaced:
            path = os.path.join(spaced, "lib.so")
            Path(path).touch()
            with tempfile.TemporaryDirectory() as links:
                allocator = allocators.make_allocator("tarn", path, links)
                self.assertNotIn(" ", allocator.path)
                self.assertEqual(os.path.realpath(allocator.path), allocator.file)
                self.assertEqual(allocator.file, os.path.realpath(path))

    def test_the_child_sees_its_own_preload_and_no_foreign_settings(self):
        before = dict(os.environ)
        try:
            os.environ.update(LD_PRELOAD="/bad.so", MALLOC_ARENA_MAX="1", GLIBC_TUNABLES="x", TARN_STATS="json")
            settings = allocators.Allocator("a", "/good.so", "/good.so").environment({"K": "v"})
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.assertEqual(settings["LD_PRELOAD"], "/good.so")
        self.assertEqual(settings["K"], "v")
        self.assertEqual(settings["TARN_STATS"], "json")  # a setting of Tarn is a wish of the user
        self.assertNotIn("MALLOC_ARENA_MAX", settings)
        self.assertNotIn("GLIBC_TUNABLES", settings)

    def test_a_missing_library_is_none(self):
        self.assertIsNone(peers.library_path("libthere-is-none.so.9"))


class RedisTest(unittest.TestCase):
    OUTPUT = ('"test","rps","avg_latency_ms"\n"SET","886917.94","0.343"\n'
              '"LPUSH (needed to benchmark LRANGE)","1.00","0.2"\n'
              '"LRANGE_100 (first 100 elements)","119047.62","1.1"\n')

    def test_the_rates_of_redis_benchmark_are_read(self):
        self.assertEqual(redis.parse_benchmark(self.OUTPUT), {"set": 886917.94, "lrange": 119047.62})
        self.assertEqual(redis.parse_benchmark(""), {})

    def test_a_command_is_encoded_for_redis(self):
        self.assertEqual(redis.encode("SET", "k", 12, "\r\n"),
                         b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n12\r\n$2\r\n\r\n\r\n")

    def test_the_data_set_is_deterministic_and_uses_every_kind(self):
        digests = [hashlib.sha256(repr(list(redis.data_set())).encode()).digest() for _ in range(2)]
        self.assertEqual(*digests)
        self.assertEqual({command[0] for command in redis.data_set()},
                         {"SET", "APPEND", "DEL", "RPUSH", "HSET", "SADD", "ZADD", "LTRIM"})


class RocksDBTest(unittest.TestCase):
    OUTPUT = """\
fillrandom   :      12.156 micros/op 275503 ops/sec 1.452 seconds 400000 operations;   30.5 MB/s
compact      : 1072179.000 micros/op 3 ops/sec 0.268 seconds 1 operations;
seekrandom   :      19.326 micros/op 205489 ops/sec 1.460 seconds 300000 operations; (73581 of 75000 found)
"""

    def test_the_rates_and_counts_of_db_bench_are_read(self):
        rates, counts = rocksdb.parse_bench(self.OUTPUT)
        self.assertEqual(rates, {"fill": 275503, "seek": 205489})
        self.assertEqual(counts, ["fillrandom 400000", "seekrandom 300000 found 73581/75000"])
        self.assertEqual(rocksdb.parse_bench("Segmentation fault"), ({}, []))

    def test_keys_count_and_values_do_not(self):
        first = ["0x01 : 0xAA\n", "0x02 : 0xBB\n", "a warning\n"]
        other = ["0x01 : 0xCC\n", "0x02 : 0xDD\n"]
        self.assertEqual(rocksdb.key_digest(first), rocksdb.key_digest(other))
        self.assertEqual(rocksdb.key_digest(first)[0], 2)
        self.assertNotEqual(rocksdb.key_digest(first), rocksdb.key_digest(["0x01 : 0xAA\n", "0x03 : 0xBB\n"]))


if __name__ == "__main__":
    unittest.main()
