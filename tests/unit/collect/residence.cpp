// Tests the attribution of a process's pages, with made lists of mappings.
#include "profiler/collect/residence.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace tarn::command {
namespace {

using format::memory_kind;
using format::residence_facts;

// A mapping of 4 MiB, 2,048 KiB of which are in memory.
std::string mapped(const char* range, const char* rights, const char* path, const char* further_fields = "") {
  return std::string(range) + ' ' + rights + " 00000000 00:00 0                          " + path +
         "\nSize:               4096 kB\nRss:                2048 kB\nPss:                1024 kB\n" + further_fields +
         "VmFlags: rd wr mr mw me ac sd\n";
}
constexpr std::uint64_t half = 2 << 20;

residence_facts residence(
    const std::string& smaps, const memory_uses& uses = {},
    const page_reader& pages = [](std::uint64_t, std::uint64_t) { return std::vector<bool>(); }) {
  std::istringstream text(smaps);
  return residence_in(text, uses, pages).value_or(residence_facts{});
}

TEST(residence, names_tell_what_most_mappings_are_for) {
  const memory_uses uses{.stacks = {}, .recorder = {}, .modules = {{0x10000000, 0x10400000}}, .heap_mebibytes = {}};
  const std::string program = mapped("10000000-10400000", "r-xp", "/usr/bin/program with spaces");
  EXPECT_EQ(residence(program, uses).bytes_of(memory_kind::program), half);
  EXPECT_EQ(residence(program).bytes_of(memory_kind::files), half) << "no module of the program";
  EXPECT_EQ(residence(mapped("20000000-20400000", "rw-p", "[heap]")).bytes_of(memory_kind::heap), half);
  EXPECT_EQ(residence(mapped("20000000-20400000", "rw-p", "[stack]")).bytes_of(memory_kind::stacks), half);
  EXPECT_EQ(residence(mapped("20000000-20400000", "r-xp", "[vdso]")).bytes_of(memory_kind::program), half);
  for (const char* const path :
       {"/dev/zero (deleted)", "/dev/shm/queue", "/memfd:wayland (deleted)", "/SYSV0000 (deleted)"})
    EXPECT_EQ(residence(mapped("20000000-20400000", "rw-s", path)).bytes_of(memory_kind::shared_memory), half) << path;
  for (const char* const path : {"/memfd:tarn-record (deleted)", "/opt/tarn/lib/libtarn-record.so"})
    EXPECT_EQ(residence(mapped("20000000-20400000", "rw-s", path)).bytes_of(memory_kind::recorder), half) << path;
  EXPECT_EQ(residence(mapped("20000000-20400000", "rw-s", "")).bytes_of(memory_kind::shared_memory), half);
  EXPECT_EQ(residence(mapped("20000000-20400000", "rw-p", "")).bytes_of(memory_kind::remainder), half);
  EXPECT_EQ(residence(mapped("20000000-20400000", "rw-p", "[anon: a runtime]")).bytes_of(memory_kind::remainder), half);
}

TEST(residence, the_recorder_tells_what_mappings_without_a_name_are_for) {
  const std::string smaps = mapped("20000000-20400000", "rw-p", "");
  memory_uses uses;
  uses.heap_mebibytes = {0x200, 0x201, 0x202, 0x203};
  EXPECT_EQ(residence(smaps, uses).bytes_of(memory_kind::heap), half);
  uses.stacks = {{7, {0x1f000000, 0x20400000}}};
  EXPECT_EQ(residence(smaps, uses).bytes_of(memory_kind::stacks), half);
  uses.recorder = {{0x20000000, 0x20400000}};
  EXPECT_EQ(residence(smaps, uses).bytes_of(memory_kind::recorder), half);
  const memory_uses loaded{.stacks = {}, .recorder = {}, .modules = {{0x1fff0000, 0x20400000}}, .heap_mebibytes = {}};
  EXPECT_EQ(residence(smaps, loaded).bytes_of(memory_kind::program), half) << "what the loader adds behind a file";
}

TEST(residence, a_mapping_of_two_uses_is_divided_by_its_pages) {
  const std::string smaps = mapped("20000000-20400000", "rw-p", "");
  memory_uses uses;
  uses.heap_mebibytes = {0x200};
  const residence_facts by_size = residence(smaps, uses);
  EXPECT_EQ(by_size.bytes_of(memory_kind::heap), half / 4) << "no pages are known";
  EXPECT_EQ(by_size.bytes_of(memory_kind::remainder), half - half / 4);
  const auto first_and_last = [](std::uint64_t start, std::uint64_t end) {
    std::vector<bool> pages;
    for (std::uint64_t page = start; page < end; page += 4096) pages.push_back(page < 0x20100000 || page >= 0x20300000);
    return pages;
  };
  const residence_facts by_page = residence(smaps, uses, first_and_last);
  EXPECT_EQ(by_page.bytes_of(memory_kind::heap), half / 2);
  EXPECT_EQ(by_page.bytes_of(memory_kind::remainder), half / 2);
  EXPECT_EQ(by_page.sum(), half);
}

TEST(residence, only_the_pages_that_have_a_use_are_read_of_a_mapping_of_terabytes) {
  memory_uses uses;
  uses.heap_mebibytes = {0x200, 0x201, 0x90000};
  std::uint64_t read_bytes = 0;
  const auto all_resident = [&](std::uint64_t start, std::uint64_t end) {
    read_bytes += end - start;
    return std::vector<bool>((end - start) / 4096, start < 0x30000000);
  };
  const residence_facts facts = residence(mapped("10000000-500010000000", "rw-p", ""), uses, all_resident);
  EXPECT_EQ(read_bytes, 3U << 20);
  EXPECT_EQ(facts.bytes_of(memory_kind::heap), half);
  EXPECT_EQ(facts.bytes_of(memory_kind::remainder), 0U);
}

TEST(residence, further_facts_are_sums_over_all_mappings) {
  const char* const further_fields =
      "Shared_Clean:         64 kB\nShared_Dirty:          4 kB\nAnonHugePages:      2048 kB\nSwap:  12 kB\nSwapPss: "
      "12 kB\n";
  const residence_facts facts = residence(mapped("20000000-20400000", "rw-p", "[heap]", further_fields) +
                                          mapped("30000000-30400000", "rw-p", "/tmp/file", further_fields));
  EXPECT_EQ(facts.shared_bytes, 2 * 68 * 1024U);
  EXPECT_EQ(facts.huge_page_bytes, 2 * half);
  EXPECT_EQ(facts.swapped_bytes, 2 * 12 * 1024U);
  EXPECT_EQ(facts.sum(), 2 * half);
}

TEST(residence, nothing_is_no_residence) {
  for (const char* const text : {"", "Rss: 12 kB\n", "zzz\n\n-\n20000000\n20000000-\n20000000-1 rw-p 0 0 0\n"}) {
    std::istringstream smaps(text);
    EXPECT_FALSE(residence_in(smaps, {}, nullptr)) << text;
  }
}

}  // namespace
}  // namespace tarn::command
