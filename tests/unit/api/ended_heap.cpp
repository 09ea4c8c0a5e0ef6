// With checks, a use of a block whose heap object has ended is named, and the heap too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <regex>
#include <string>
#include <thread>

#include "support/child.hpp"
#include "tarn/heap.hpp"

namespace {

using support::ending;
using support::in_child;
using support::written;

// The child ends at `use`, which gets a block of `bytes` of a heap that another thread has ended.
template <class Use>
void expect_named(std::size_t bytes, const std::string& verb, Use use) {
  const ending child_ending = in_child([&] {
    volatile char* block = nullptr;
    std::thread([&] {
      tarn::heap lane({.name = "worker"});
      block = static_cast<char*>(lane.allocate(bytes));
      std::fprintf(stderr, "%p\n", static_cast<void*>(const_cast<char*>(block)));
    }).join();
    use(block);
  });
  EXPECT_EQ(child_ending.signal, SIGABRT) << child_ending.error;
  const std::string address = child_ending.error.substr(0, child_ending.error.find('\n'));
  const std::regex expected(address +
                            "\ntarn: use after free: a block of heap \"worker\", which ended in thread \\d+, is " +
                            verb + " at address " + address + " at \\S+\\+0x[0-9a-f]+ by thread \\d+\n" +
                            "tarn: end every use of a heap's blocks before the heap ends, or allocate the block from a "
                            "heap that lives longer\n");
  EXPECT_TRUE(std::regex_match(child_ending.error, expected)) << child_ending.error;
}

void read_first(volatile char* block) { static_cast<void>(*block); }
void write_first(volatile char* block) { *block = 1; }

TEST(ended_heap, is_named_when_a_block_is_read) { expect_named(64, "read", read_first); }
TEST(ended_heap, is_named_when_a_block_is_written) { expect_named(20000, "written", write_first); }
TEST(ended_heap, is_named_for_a_block_of_whole_units) { expect_named(1 << 20, "written", write_first); }
TEST(ended_heap, is_named_for_a_block_with_a_mapping_of_its_own) { expect_named(64 << 20, "read", read_first); }

TEST(ended_heap, is_named_when_many_have_ended_before) {
  expect_named(64, "read", [](volatile char* block) {
    for (int count = 0; count < 200; ++count) {
      tarn::heap lane;
      static_cast<void>(lane.allocate(64));
    }
    read_first(block);
  });
}

// The oldest addresses become free again, so that the process does not run out of mappings.
TEST(ended_heap, gives_way_to_newer_ones) {
  EXPECT_EQ(in_child([] {
              for (int count = 0; count < 5000; ++count) {
                tarn::heap lane;
                static_cast<void>(lane.allocate(64));
              }
              std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "r"), std::fclose);
              int lines = 0;
              for (int byte = 0; (byte = std::fgetc(maps.get())) != EOF;) lines += byte == '\n';
              return lines < 4000 ? 0 : 1;
            }),
            ending{});
}

// Every other fault ends the program as before.
TEST(ended_heap, is_not_named_for_other_addresses) {
  EXPECT_EQ(in_child([] {
              {
                tarn::heap lane;
                static_cast<void>(lane.allocate(64));
              }
              write_first(reinterpret_cast<volatile char*>(4096));
            }),
            (ending{.signal = SIGSEGV, .status = 0, .error = {}}));
}

}  // namespace
