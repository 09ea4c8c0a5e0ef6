// Finds the blocks of a heap that no pointer reaches. Each aligned word counts as a possible pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "profiler/collect/residence.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::command {

struct heap_block {
  std::uint64_t address = 0, bytes = 0;
  std::uint32_t site = 0;
};

// Copies bytes of the process that is searched; returns false where not all of them can be read.
using memory_reader = std::function<bool(std::uint64_t address, void* target, std::size_t bytes)>;

// The places from which a program can reach blocks: readable addresses outside of blocks, and registers.
struct pointer_roots {
  std::vector<address_range> ranges;
  std::vector<std::uint64_t> register_values;
};

// Returns, for each site that has any, the blocks that neither the roots point to nor the blocks that these reach. A
// pointer to any byte of a block counts.
std::map<std::uint32_t, format::leak_facts> find_lost(std::vector<heap_block> blocks, const pointer_roots& roots,
                                                      const memory_reader& read);

}  // namespace tarn::command
