// Analyses the waits that had begun before the recording of a running process, and had not ended when it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// Adds those of `modules` that the recording does not have at their addresses.
void add_modules(format::recording& recording, std::vector<format::module_facts> modules);

// Adds the stacks of these waits to the sites, whose indexes they then have, and their modules to the others.
format::recording with_lasting_stacks(format::recording recording);

// Threads that wait for one mutex, or for the end of one thread.
struct lasting_group {
  format::awaited kind = format::awaited::mutex;
  std::uint64_t address = 0;
  std::vector<std::uint32_t> threads;  // the kernel's numbers
  std::uint32_t site = 0;              // of the first of them
  std::uint32_t holder = 0;            // the kernel's number of the thread that they wait for; 0: unknown
  std::uint32_t holder_site = 0;       // where the holder waits for something else; 0: unknown, or it runs
  bool waits_in_turn = false;          // the holder waits for another mutex, or for the end of a thread
  bool is_deadlock = false;            // the holder waits for one of these threads, perhaps by way of others
};
struct lasting_findings {
  std::vector<lasting_group> groups;  // deadlocks first, then mutexes, then those with the most threads
  std::size_t in_deadlock = 0;        // threads that wait for each other, or for themselves
  std::size_t for_mutexes = 0;        // threads
  std::size_t for_words = 0;          // threads of which cannot be told who ends their wait
};

// `recording` comes from with_lasting_stacks().
lasting_findings find_lasting_waits(const format::recording& recording);

}  // namespace tarn::analyse
