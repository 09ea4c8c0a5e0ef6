// Recordings made by hand, a site at a time, and a cost model that is easy to calculate with.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "profiler/format/recording.hpp"
#include "profiler/predict/cost_model.hpp"

namespace tarn::analyse {

struct made_site {
  std::uint64_t blocks = 0;
  std::uint64_t size = 100;       // of each block
  std::uint64_t own_frees = 0;    // frees by the thread that allocated
  std::uint64_t lifetime = 0;     // allocations between a block and its own free
  std::uint64_t other_frees = 0;  // frees by the second thread
  std::uint64_t start_up_blocks = 0, start_up_frees = 0, busy_start_up_frees = 0;
};

// Returns a recording of one image with `threads` threads that lasts a second, half of it on processors.
inline format::recording recording_of(std::initializer_list<made_site> sites, unsigned threads = 2) {
  format::recording recording;
  recording.program = {1, 1'700'000'000, "a machine", "full", {"heap"}, {"./program"}};
  recording.images = 1;
  for (unsigned number = 0; number < threads; ++number)
    recording.threads.push_back({.image = 0, .id = 100 + number, .name = {}});
  recording.sites.emplace_back();
  for (const made_site& site : sites) {
    const auto number = static_cast<std::uint32_t>(recording.sites.size());
    recording.sites.push_back({0, {0x1000U + number, 0x2000}});
    format::heap_counts& own_value = recording.cells[{number, 0, 0}];
    own_value[format::blocks] = site.blocks;
    own_value[format::bytes] = site.blocks * site.size;
    own_value[format::size_buckets + format::size_bucket(site.size)] = site.blocks;
    own_value[format::frees] = site.own_frees;
    own_value[format::life_buckets + format::life_bucket(site.lifetime)] = site.own_frees;
    own_value[format::early_blocks] = site.start_up_blocks;
    own_value[format::early_frees_alone] = site.start_up_frees;
    own_value[format::early_frees_threaded] = site.busy_start_up_frees;
    if (site.other_frees != 0) {
      recording.cells[{number, 0, 1}] = format::heap_counts{};
      recording.cells[{number, 0, 1}][format::frees] = site.other_frees;
    }
  }
  recording.has_ended = true;
  recording.end = {false, 0, 1'000'000, 400'000, 100'000};
  return recording;
}

// Returns ns for each allocator, whatever the size: for the pattern soon 10, 20, 30 … by the allocator's position;
// busy, burst, cold, handed and met each cost 1 more than the pattern before.
inline cost_model simple_costs() {
  cost_model costs;
  for (std::size_t allocator = 0; allocator < allocator_count; ++allocator) {
    for (std::size_t pattern = 0; pattern < pattern_count; ++pattern) {
      costs.pairs[allocator][pattern].fill(10.0 * static_cast<double>(allocator + 1) + static_cast<double>(pattern));
    }
  }
  costs.facts = {"machine", "library", "tarn", "today"};
  costs.copy_ns = {0.01, 0.03};
  costs.calls = {.slowdown = 2, .buffered_ns = 3, .cached_ns = 10, .plain_ns = {50, 100, 100, 200}};
  return costs;
}

// Like simple_costs, but each allocator costs a tenth of malloc.
inline cost_model cheap_remedies() {
  cost_model costs = simple_costs();
  for (std::size_t allocator = 0; allocator < allocator_count; ++allocator) {
    const bool is_now = allocator <= static_cast<std::size_t>(allocator_kind::malloc);
    for (std::size_t pattern = 0; pattern < pattern_count; ++pattern) {
      costs.pairs[allocator][pattern].fill((is_now ? 100.0 : 10.0) + static_cast<double>(pattern));
    }
  }
  return costs;
}

}  // namespace tarn::analyse
