// Analyses the locks of a recording: the locks that are not needed, the waits for the others, and their holders.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/findings/waits/read_mostly.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

enum class lock_category {
  contended,    // threads wait for it
  uncontended,  // several threads take it and hardly ever wait
  one_thread,   // only one thread ever takes each of them
  condition,    // its purpose is to be waited for (awaited_locks)
};
const char* name(lock_category category);
const char* name(format::lock_type type);

// A smaller part of the acquisitions or of the program's run time does not count.
constexpr double negligible_share = 0.01;

// The waits at a site for one holder of the lock.
struct lock_wait {
  std::uint32_t holder_site = 0, holder = 0;  // where the lock had been acquired, and by which thread
  std::uint64_t waits = 0, nanoseconds = 0;
};

// A wait for a lock that had not ended when the recording ended.
struct unfinished_wait {
  std::uint32_t thread = 0, site = 0;
  std::uint64_t nanoseconds = 0;
  bool has_holder = false;                    // the recording knows who held the lock then
  std::uint32_t holder = 0, holder_site = 0;  // the thread, and where it had acquired the lock
  bool is_deadlock = false;                   // the holder waited for this thread in turn, perhaps by way of others
};

// The acquisitions of a lock from one call stack.
struct lock_stack {
  std::uint32_t site = 0;
  std::uint64_t acquisitions = 0, held_ns = 0;
};

// The use of a lock by one function of the program, or of a library other than the C library.
struct lock_site {
  std::uint32_t site = 0;          // the stack that takes it most often
  std::vector<lock_stack> stacks;  // the most frequent first; they differ behind the function that takes the lock
  format::lock_counts sums{};      // sums over all threads; times in nanoseconds
  double error = 0;                // relative error of the acquisitions, not exceeded in 95 of 100 recordings; 0: exact
  std::vector<lock_wait> waits;    // the longest first
};

// Calls of one kind that threads make while they hold a lock, as far as stacks and times tell.
struct call_inside {
  std::string name;
  std::uint32_t site = 0;  // the stack with most of the time
  std::uint64_t calls = 0, nanoseconds = 0;
};

// All locks of one type with the same site of first use: usually one lock, or the same member of many objects.
struct lock_group {
  format::lock_type type = format::lock_type::mutex;
  std::uint32_t first_site = 0;
  std::uint64_t address = 0;             // the address of the first of them
  std::uint32_t locks = 0, threads = 0;  // and the threads that have acquired one of them
  bool may_have_more_threads = false;    // as of thread_count
  bool is_process_shared = false;        // other processes may use it, too
  bool is_held_elsewhere = false;        // its one thread waited for it: nobody saw who had it
  format::lock_counts sums{};            // sums over all sites; times in nanoseconds
  double error = 0;                      // as of a site
  std::uint64_t typical_hold_ns = 0;  // the mean hold of its call stacks, each by the time for which it holds the lock
  lock_category category = lock_category::uncontended;
  std::vector<lock_site> sites;                        // sorted by longest waits, then by most acquisitions
  std::map<std::uint32_t, std::size_t> index_by_site;  // indexes into `sites`, by site of the recording
  std::string library;                                 // the installed library that takes it; empty if the program does
  std::optional<read_mostly_use> read_mostly;          // empty if the lock guards no such object, as far as can be told
  std::vector<call_inside> calls_inside;               // the longest first; set by add_calls_inside()
  std::vector<unfinished_wait> still_waiting;          // the longest first; none where that is on purpose
  // Of a condition variable: how often a thread that was woken waited again, at least. It had acquired no mutex anew.
  std::uint64_t idle_wakeups = 0;
  std::uint32_t still_held = 0;  // holds that had not ended when the recording ended
  std::string remedy;            // one line; empty if there is nothing to gain
};
// Returns the part of the waits in which another thread had the lock. In the rest the lock was free, and the waiting
// thread waited for a processor.
std::uint64_t held_wait_ns(const lock_group& group);
// Returns whether a lock is held so long that the work under it causes the waits.
bool is_held_long(const lock_group& group);
// Returns the mean time of a hold; 0 if no hold was seen.
std::uint64_t mean_hold(const lock_group& group);

struct lock_findings {
  std::uint64_t acquisitions = 0, contended = 0, wait_nanoseconds = 0;  // without waits on purpose
  double error = 0;                                                     // as of a site
  std::uint64_t still_waiting = 0, in_deadlock = 0;                     // threads, when the recording ended
  std::vector<lock_group> groups;                                       // the longest waits first

  bool has_remedy() const {
    return std::any_of(groups.begin(), groups.end(), [](const lock_group& group) { return !group.remedy.empty(); });
  }
  // Returns null for a lock that no thread took.
  const lock_group* group_of(const format::recording& recording, std::uint32_t lock) const;
};

lock_findings find_locks(const format::recording& recording);

}  // namespace tarn::analyse
