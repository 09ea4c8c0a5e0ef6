// lab-false-sharing: two threads on two processors each write to their own blocks; the forms differ only in the
// addresses of the blocks. Blocks of two threads on one cache line slow both down. Unit: one write of one thread.
// Counted: the share of the blocks that lie on a line with a block of the other thread.
#include <tarn/heap.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <set>

#include "pinned.hpp"
#include "together.hpp"
#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::size_t line_bytes = 64;
constexpr std::size_t block_bytes = 16;
constexpr std::size_t blocks = 32;  // for each thread
using word = std::uint64_t;
using places = std::array<word*, blocks>;  // the blocks of one thread

word* made_by_malloc() {
  void* const block = std::malloc(block_bytes);
  if (block == nullptr) std::abort();
  return ::new (block) word(0);
}

std::uintptr_t line_of(const word* block) { return reinterpret_cast<std::uintptr_t>(block) / line_bytes; }

double share_on_common_lines(const places& first, const places& second) {
  std::set<std::uintptr_t> lines;
  for (const word* block : second) lines.insert(line_of(block));
  const auto common =
      std::count_if(first.begin(), first.end(), [&](const word* block) { return lines.contains(line_of(block)); });
  return static_cast<double>(common) / static_cast<double>(first.size());
}

void write(const places& blocks_written, std::uint64_t times) {
  for (std::uint64_t index = 0; index < times; ++index) {
    volatile word* const block = blocks_written[index % blocks];
    *block = *block + 1;
  }
}

/// Each thread calls `assign` with its number and its array to fill.
template <class Place>
outcome write_both(const settings& parameters, Place assign) {
  const std::uint64_t times = parameters["writes"];
  outcome result{.units = times};
  places blocks_of_threads[2];
  lab::run_together(
      2, result,
      [&](unsigned self) {
        lab::pin("false-sharing", self, 2);  // two threads on one processor share its cache
        assign(self, blocks_of_threads[self]);
        write(blocks_of_threads[self], times / 16);
      },
      [&](unsigned self) { write(blocks_of_threads[self], times); });
  for (const places& blocks_of_thread : blocks_of_threads) {
    for (const word* block : blocks_of_thread) result.checksum += *block;
  }
  result.counts = {{"on_common_lines", share_on_common_lines(blocks_of_threads[0], blocks_of_threads[1])}};
  return result;
}

/// Takes blocks of one array in turn for the two threads; `Apart` is the distance in bytes.
template <std::size_t Apart>
outcome by_turns(const settings& parameters) {
  struct alignas(line_bytes) array {
    std::array<word, 2 * blocks * Apart / sizeof(word)> machine_words = {};
  };
  array blocks_of_both;
  return write_both(parameters, [&](unsigned self, places& own_blocks) {
    for (std::size_t index = 0; index < blocks; ++index)
      own_blocks[index] = &blocks_of_both.machine_words[(2 * index + self) * Apart / sizeof(word)];
  });
}

/// One thread allocates all blocks, in turn for the two threads, as a thread that distributes work does.
outcome handed_out(const settings& parameters) {
  places blocks_of_threads[2];
  for (std::size_t index = 0; index < blocks; ++index) {
    for (places& blocks_of_thread : blocks_of_threads) blocks_of_thread[index] = made_by_malloc();
  }
  return write_both(parameters, [&](unsigned self, places& own_blocks) { own_blocks = blocks_of_threads[self]; });
}

/// Each thread allocates its own blocks.
template <word* (*Make)()>
outcome own_heaps(const settings& parameters) {
  return write_both(parameters,
                    [](unsigned, places& own_blocks) { std::generate(own_blocks.begin(), own_blocks.end(), Make); });
}

word* made_by_heap() { return ::new (tarn::current_heap().allocate(block_bytes)) word(0); }

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "false-sharing", {{.name = "writes", .usual = 20'000'000}},
                      {{"one-array", by_turns<block_bytes>},
                       {"lines-apart", by_turns<2 * line_bytes>},
                       {"handed-out", handed_out},
                       {"own-malloc", own_heaps<made_by_malloc>},
                       {"own-heap", own_heaps<made_by_heap>}});
}
