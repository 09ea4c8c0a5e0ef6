// Finds the use of the pages that a process has in memory, from /proc/PID/smaps and the recorder's notes.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::command {

struct address_range {
  std::uint64_t start = 0, end = 0;
};

// The uses of addresses that a list of mappings does not tell.
struct memory_uses {
  std::map<std::uint32_t, address_range> stacks;  // by the kernel's id of the thread, which may have ended
  std::vector<address_range> recorder;
  std::vector<address_range> modules;      // with the pages behind the file's that the loader adds
  std::set<std::uint64_t> heap_mebibytes;  // numbers of mebibytes of addresses that held a block
};

// Returns, for each page from `start` to `end`, whether it is in memory; nothing if that cannot be told.
using page_reader = std::function<std::vector<bool>(std::uint64_t start, std::uint64_t end)>;

// Sums the mappings in the format of /proc/PID/smaps. Returns nothing if there are none. Asks `pages` about mappings
// that are in part for one use and in part for another. Takes all stacks for those of running threads.
std::optional<format::residence_facts> residence_in(std::istream& smaps, const memory_uses& uses,
                                                    const page_reader& pages);

// Returns nothing if the process has ended or may not be looked at.
std::optional<format::residence_facts> residence_of(std::uint64_t process, memory_uses uses);

}  // namespace tarn::command
