// What a recording says of locks: which are needed, which of them are waited for, and who holds them then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

enum class lock_category {
  contended,    // threads wait for it
  uncontended,  // several threads take it, and hardly ever wait
  one_thread,   // each of them is only ever taken by one thread
  condition,    // is there to be waited for
};
const char* name(lock_category of);
const char* name(format::lock_type of);

// Waits at a site while another thread held the lock.
struct lock_wait {
  std::uint32_t holder_site = 0, holder = 0;  // where it had acquired it; a thread
  std::uint64_t waits = 0, nanoseconds = 0;
};

// What one function of the program, or of a library that is not the C library, does with a lock.
struct lock_site {
  std::uint32_t site = 0;        // the stack that takes it most often
  format::lock_counts sums{};    // over all threads; times in nanoseconds
  std::vector<lock_wait> waits;  // the longest first
};

// All locks of one type whose first use was at one site: mostly one, or the same member of many objects.
struct lock_group {
  format::lock_type type = format::lock_type::mutex;
  std::uint32_t first_site = 0;
  std::uint64_t address = 0;  // of the first of them
  std::uint32_t locks = 0, threads = 0;
  format::lock_counts sums{};  // over all sites; times in nanoseconds
  lock_category is = lock_category::uncontended;
  std::vector<lock_site> sites;                 // the longest waits first, then the most acquisitions
  std::map<std::uint32_t, std::size_t> places;  // in `sites`, by site of the recording
  std::string library;                          // an installed one that takes it; empty where it is the program itself
  std::string remedy;                           // one line; empty where there is nothing to gain
};

struct lock_findings {
  std::uint64_t acquisitions = 0, contended = 0, wait_nanoseconds = 0;  // without conditions
  std::vector<lock_group> groups;                                       // the longest waits first

  // Null for a lock that nobody took.
  const lock_group* group_of(const format::recording& in, std::uint32_t lock) const;
};

lock_findings find_locks(const format::recording& in);

}  // namespace tarn::analyse
