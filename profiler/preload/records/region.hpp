// Gives the recorded program access to the shared region (profiler/format/region.hpp has its layout).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "profiler/format/clock.hpp"
#include "profiler/format/process_page.hpp"
#include "profiler/format/refusal.hpp"
#include "profiler/format/region.hpp"
#include "profiler/preload/base/recorder_clock.hpp"

namespace tarn::preload {

// Maps the region that the environment names, if this is the process to record. Call it once, before the process has
// a second thread. Returns false when nothing is recorded here.
bool attach(const char* const* environment) noexcept;

// Maps the region of the file, and closes the file, in a process that has run without one. Returns false when it cannot
// be mapped.
bool attach_to(long file) noexcept;
// Unmaps the region that a child of fork has inherited.
void leave_inherited_region() noexcept;

// Takes a region of its own, in place of the parent's, in a child that fork made of a recorded process. The child's
// one thread calls it before anything else here. Returns false when children are not recorded, or no region is left.
bool follow_fork() noexcept;
// Counts a child that has a region, but no memory for what else it needs.
void note_unfollowed_child() noexcept;

// Holds the first region and some for children open, in this process, its children and their programs. Call it before
// this process has another user, root folder or namespace, and so may no longer open them.
void hold_regions_open() noexcept;

// Counts a child that is not recorded. Call it in the parent after each fork and vfork.
void note_unrecorded_fork() noexcept;
// Call it in the child of each fork.
void note_forked_child() noexcept;
// Counts such a child before it becomes a program by exec: its own, or the one that has borrowed the memory of this
// process. Returns the count, so that the caller can take that back; null when it is not one of those children.
std::atomic<std::uint64_t>* note_child_exec(bool is_borrowed) noexcept;

// Counts a program that a child becomes and that cannot load the recorder. Returns its count, so that the caller can
// take that back; null when there is no room for it.
std::atomic<std::uint32_t>* note_refused_program(const char* path, format::refusal why) noexcept;

// Call these before an exec of this process, and after one that failed. begin_exec() returns the region's descriptor,
// which the next program then has, or -1 when there is none.
int begin_exec(const char* path) noexcept;
void exec_failed() noexcept;
// These return the values of the variables that keep this process recorded after an exec.
const char* region_path() noexcept;
std::uint32_t process_number() noexcept;

// These return the image's number and the header. Call them after attach().
std::uint32_t image() noexcept;
extern constinit format::region_header* own_region;  // NOLINT(bugprone-dynamic-static-initializers)
inline format::region_header& header() noexcept { return *own_region; }

// The time of the timed pieces of work that have ended in the present one.
extern constinit thread_local std::uint64_t
    inner_work_ticks;  // NOLINT(bugprone-dynamic-static-initializers): constinit

// Threads add to counts of their own, mostly: where all add to one, its cache line takes a tenth of a microsecond from
// one processor to the next.
inline void count_work(format::work_counter counter, std::uint64_t amount) noexcept {
  const std::uint64_t thread = reinterpret_cast<std::uintptr_t>(&inner_work_ticks) * 0x9e3779b97f4a7c15ULL;
  header().work[thread >> (64 - std::bit_width(format::max_work_counts - 1))].counts[counter].fetch_add(
      amount, std::memory_order_relaxed);
}

// Times a piece of the recorder's work while it lives, without the pieces inside of it that are timed themselves. A
// thread that loses its processor meanwhile does not work, so a longer time than any work takes is replaced by the mean
// of its kind.
class work_timer {
 public:
  explicit work_timer(format::work_counter counter) noexcept
      : counter_(counter), inner_before_(inner_work_ticks), begun_(clock_ticks()) {}
  work_timer(const work_timer&) = delete;
  work_timer& operator=(const work_timer&) = delete;
  ~work_timer() {
    const std::uint64_t ticks = clock_ticks() - begun_, inner = inner_work_ticks - inner_before_;
    const std::uint64_t own_part = ticks > inner ? ticks - inner : 0;
    inner_work_ticks = inner_before_ + ticks;
    count_work(counter_, own_part < longest ? own_part : mean_ticks());
    count_work(pieces(), 1);
  }

 private:
  friend class brief_work_timer;
  static constexpr std::uint64_t longest = std::uint64_t{1} << 16;  // some 25 us
  format::work_counter pieces() const noexcept {
    return static_cast<format::work_counter>(counter_ + format::timed_counters);
  }
  std::uint64_t mean_ticks() const noexcept {
    const std::uint64_t count = format::sum_of_work(header(), pieces());
    return count == 0 ? longest : format::sum_of_work(header(), counter_) / count;
  }

  format::work_counter counter_;
  std::uint64_t inner_before_, begun_;
};

// Chooses the pieces of brief work that are timed, by their count in a thread.
class timed_turns {
 public:
  // A prime, so that a loop of the program has no part that is always timed, or never.
  static constexpr std::uint64_t weight = 251;

  // Threads begin at different counts, so that the first pieces of brief threads are timed as often as later ones.
  void set_up(std::uint32_t thread) noexcept { next_ = (thread * 97 + weight / 2) % weight; }
  bool is_due(std::uint64_t count) const noexcept { return count >= next_; }
  // Returns true if this piece is to be timed, and chooses the next one then.
  bool take(std::uint64_t count) noexcept {
    const bool is_due_now = is_due(count);
    if (is_due_now) next_ = count + weight;
    return is_due_now;
  }

 private:
  std::uint64_t next_ = 0;
};

// Counts the pieces, too, where nothing else does.
class counting_turns {
 public:
  void set_up(std::uint32_t thread) noexcept { turns_.set_up(thread); }
  bool take() noexcept { return turns_.take(count_++); }

 private:
  timed_turns turns_;
  std::uint64_t count_ = 0;
};

// Times a piece that is about as short as reading the clock, and counts it for all those that timed_turns leaves out.
class brief_work_timer {
 public:
  explicit brief_work_timer(format::work_counter counter) noexcept
      : counter_(counter), inner_before_(inner_work_ticks) {
    const std::uint64_t before = clock_after_all();
    begun_ = clock_after_all();
    clock_ = begun_ - before;
  }
  brief_work_timer(const brief_work_timer&) = delete;
  brief_work_timer& operator=(const brief_work_timer&) = delete;
  ~brief_work_timer() {
    const std::uint64_t ticks = clock_after_all() - begun_;
    const std::uint64_t others = clock_ + (inner_work_ticks - inner_before_);
    inner_work_ticks = inner_before_ + ticks;
    if (ticks > others && ticks - others < work_timer::longest)
      count_work(counter_, (ticks - others) * timed_turns::weight);
    if (counter_ < format::timed_counters)
      count_work(static_cast<format::work_counter>(counter_ + format::timed_counters), 1);
  }

 private:
  // Reads the clock when the instructions before have ended. Those of longer pieces need not be waited for.
  static std::uint64_t clock_after_all() noexcept {
#if defined(__x86_64__)
    asm volatile("lfence" ::: "memory");
#endif
    return clock_ticks();
  }
  format::work_counter counter_;
  std::uint64_t inner_before_, begun_, clock_;
};

// Lets hand_out() do without the kernel from now on. Call it before the program restricts its system calls.
void set_region_aside() noexcept;

// Returns the offset of zeroed memory in the region, aligned to 16 bytes, or 0 when the region is full.
format::offset hand_out(std::size_t bytes) noexcept;
template <class Record>
Record* record_at(format::offset offset) noexcept {
  return reinterpret_cast<Record*>(reinterpret_cast<char*>(&header()) + offset);
}

// A child that fork made shares the region with its parent and must record nothing. The page begins at one of the
// kernel's and fills it, whatever the size of those.
#if defined(__aarch64__)
constexpr std::size_t largest_page_bytes = 65536;
#else
constexpr std::size_t largest_page_bytes = 4096;
#endif
struct alignas(largest_page_bytes) process_page : format::process_page {};
extern constinit process_page own_page;  // NOLINT(bugprone-dynamic-static-initializers)
// Ends the recording of this process, which continues unrecorded. resume_recording() takes that back.
inline void end_recording() noexcept { own_page.is_recorded.store(0, std::memory_order_relaxed); }
inline void resume_recording() noexcept { own_page.is_recorded.store(1, std::memory_order_relaxed); }
extern constinit bool has_region;  // NOLINT(bugprone-dynamic-static-initializers)
inline bool is_attached() noexcept { return has_region; }
inline bool is_recorded() noexcept { return own_page.is_recorded.load(std::memory_order_relaxed) != 0; }

}  // namespace tarn::preload
