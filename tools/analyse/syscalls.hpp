// What a recording says of system calls: who makes them, and what would end them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

enum class call_category {
  small,     // many that move few bytes each: a buffer
  repeated,  // many with equal arguments, mostly with equal answers: a cache
  batch,     // many of one kind after another
  memory,    // of the heap, which asks for memory and gives it back
  waits,     // for other threads, time or events
  needed,    // none of these
};
const char* name(call_category of);

// All calls of one number from one function of the program, or of a library that is not the C library.
struct call_site {
  std::uint32_t site = 0, number = 0;  // the site with the most of the calls
  std::uint32_t stacks = 0;            // sites
  std::string name;
  format::call_counts sums{};  // over all threads
  std::uint64_t nanoseconds = 0;
  std::uint32_t threads = 0;
  call_category is = call_category::needed;
  std::string remedy;  // one line; empty where there is nothing to gain, or below 0.5 % of the processor's time
};

struct call_findings {
  std::uint64_t calls = 0, nanoseconds = 0;
  std::vector<call_site> sites;  // the most calls first

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;  // in `sites`, by site and number of the call
  // Null for what is in none.
  const call_site* site_of(std::uint32_t site, std::uint32_t number) const {
    const auto found = places.find({site, number});
    return found == places.end() ? nullptr : &sites[found->second];
  }
};

// Calls that read, or write, what follows what came before or lies at a place.
bool is_reading(std::string_view name);
bool is_writing(std::string_view name);

call_findings find_calls(const format::recording& in);

}  // namespace tarn::analyse
