// Recordings made by hand, a site at a time, and a cost model that is easy to calculate with.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "analyse/costs.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

struct made_site {
  std::uint64_t blocks = 0;
  std::uint64_t size = 100;       // of each block
  std::uint64_t own_frees = 0;    // frees by the thread that allocated
  std::uint64_t between = 0;      // allocations between a block and its own free
  std::uint64_t other_frees = 0;  // frees by the second thread
  std::uint64_t early = 0, early_gone = 0, early_busy = 0;
};

// Returns a recording of one image with `threads` threads that lasts a second, half of it on processors.
inline format::recording recording_of(std::initializer_list<made_site> sites, unsigned threads = 2) {
  format::recording made;
  made.program = {1, 1'700'000'000, "a machine", "full", {"heap"}, {"./program"}};
  made.images = 1;
  for (unsigned number = 0; number < threads; ++number)
    made.threads.push_back({.image = 0, .id = 100 + number, .name = {}});
  made.sites.emplace_back();
  for (const made_site& each : sites) {
    const auto number = static_cast<std::uint32_t>(made.sites.size());
    made.sites.push_back({0, {0x1000U + number, 0x2000}});
    format::counts& own = made.cells[{number, 0, 0}];
    own[format::blocks] = each.blocks;
    own[format::bytes] = each.blocks * each.size;
    own[format::size_buckets + format::size_bucket(each.size)] = each.blocks;
    own[format::frees] = each.own_frees;
    own[format::life_buckets + format::life_bucket(each.between)] = each.own_frees;
    own[format::early] = each.early;
    own[format::early_gone] = each.early_gone;
    own[format::early_busy] = each.early_busy;
    if (each.other_frees != 0) {
      made.cells[{number, 0, 1}] = format::counts{};
      made.cells[{number, 0, 1}][format::frees] = each.other_frees;
    }
  }
  made.ended = true;
  made.end = {false, 0, 1'000'000, 400'000, 100'000};
  return made;
}

// Returns ns for each allocator, whatever the size: for the pattern soon 10, 20, 30 … by the allocator's position;
// busy, burst, cold, handed and met each cost 1 more than the pattern before.
inline costs simple_prices() {
  costs made;
  for (std::size_t by = 0; by < server_count; ++by) {
    for (std::size_t in = 0; in < pattern_count; ++in) {
      made.pairs[by][in].fill(10.0 * static_cast<double>(by + 1) + static_cast<double>(in));
    }
  }
  made.facts = {"machine", "library", "tarn", "today"};
  made.copy_ns = {0.01, 0.03};
  made.calls = {.stretch = 2, .buffered_ns = 3, .remembered_ns = 10, .plain_ns = {50, 100, 100, 200}};
  made.recorder_ns = 40;
  made.recorder_frame = 5;
  made.sampler_ns = 2;
  return made;
}

// Like simple_prices, but each allocator costs a tenth of malloc.
inline costs cheap_remedies() {
  costs made = simple_prices();
  for (std::size_t by = 0; by < server_count; ++by) {
    const bool is_now = by <= static_cast<std::size_t>(server::malloc);
    for (std::size_t in = 0; in < pattern_count; ++in) {
      made.pairs[by][in].fill((is_now ? 100.0 : 10.0) + static_cast<double>(in));
    }
  }
  return made;
}

}  // namespace tarn::analyse
