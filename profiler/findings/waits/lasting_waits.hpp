// Analyses the waits that had begun before the recording of a running process, and had not ended when it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// Adds those of `modules` that the recording does not have. Addresses of the stacks in a module become those of its
// generation (profiler/format/generations.hpp) in the recording.
void join_modules(format::recording& recording, std::vector<format::module_facts> modules,
                  std::vector<format::site_facts>& stacks);

// Adds the stacks of these waits to the sites, whose indexes they then have, and their modules to the others.
format::recording with_lasting_stacks(format::recording recording);

// Returns whether threads have what such a wait is for, until they release it.
bool is_for_lock(format::awaited kind);

struct named_thread {
  std::uint32_t id = 0;   // the kernel's number
  std::string name = {};  // empty if it is the program's
};

// Threads that wait for one lock, or for the end of one thread.
struct lasting_group {
  format::awaited kind = format::awaited::mutex;
  std::uint64_t address = 0;
  std::vector<named_thread> threads;                    // the one in a circle first
  std::uint32_t site = 0;                               // of the first of them
  named_thread holder;                                  // that they wait for; number 0: unknown
  format::ownership owner = format::ownership::thread;  // whose the holder's number is
  std::uint32_t holder_site = 0;                        // where the holder is; 0: unknown, or it runs
  bool waits_in_turn = false;                           // the holder is in another group
  bool is_deadlock = false;        // the holder waits for the first of these threads, perhaps by way of others
  bool may_be_deadlock = false;    // likewise, if the holders in the circle are not ended threads of the same numbers
  bool is_deadlock_later = false;  // a wait of the circle began while the process was recorded, or was interrupted
};
struct lasting_findings {
  std::vector<lasting_group> groups;  // deadlocks first, then locks, then those with the most threads
  std::size_t in_deadlock = 0;        // threads that wait for each other, or for themselves
  std::size_t for_mutexes = 0;        // threads that wait for a mutex, a reader-writer lock or a FILE
  std::size_t for_words = 0;          // threads of which cannot be told who ends their wait
  std::size_t interrupted = 0;        // threads in no group that were in the same wait at the end, but ran in between
};

// `recording` comes from with_lasting_stacks().
lasting_findings find_lasting_waits(const format::recording& recording);

}  // namespace tarn::analyse
