#include "memory/thread/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/fork.hpp"
#include "memory/thread/idle_purge.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::detail {
constinit thread_local heap_front* local_heap = &heaps::no_heap;
}

namespace tarn::threads {
namespace {

using heaps::registry;

constexpr std::size_t first_segment_bytes = std::size_t{4} << 20;

constinit char** environment = nullptr;

enum class stage : int { nothing, started, ready, failed };
constinit std::atomic<stage> progress{stage::nothing};
constinit heaps::heap* process = nullptr;
constinit pthread_key_t exit_key = 0;
constinit std::atomic<bool> has_first_heap{false};

// Writes a line about an option, which begins with "tarn: ", and names the process: all children of a shell with a
// wrong option write such a line.
void report(std::string_view line) noexcept {
  char program[16] = {};
  syscall(SYS_prctl, PR_GET_NAME, program);
  line.remove_prefix(std::string_view("tarn: ").size());
  base::text_buffer<640> out;
  out.append("tarn[").decimal(static_cast<std::uint64_t>(getpid())).append("] ");
  out.append_escaped({program, std::strlen(program)}).append(": ").append(line).write_to(2);
}

/// The bytes that threads' heaps may still reserve; `unread` before the first of them.
constexpr std::size_t unread = SIZE_MAX;
constinit std::atomic<std::size_t> reservable{unread};

// Returns true if a new heap may reserve `bytes`. The available memory is read for the first heap only: a program may
// restrict itself later, and a filter of system calls may end it when a thread opens a file.
bool may_reserve(std::size_t bytes) noexcept {
  if (!pages::space::must_check_memory(bytes)) return true;
  std::size_t remaining = reservable.load(std::memory_order_relaxed);
  if (remaining == unread) {
    const std::size_t available = std::min(platform::available_memory(), unread - 1);
    if (reservable.compare_exchange_strong(remaining, available, std::memory_order_relaxed)) remaining = available;
  }
  while (remaining >= bytes) {
    if (reservable.compare_exchange_weak(remaining, remaining - bytes, std::memory_order_relaxed)) return true;
  }
  return false;
}

void report_missing_initial(std::size_t bytes) noexcept {
  static constinit std::atomic<bool> was_reported{false};
  if (!was_reported.exchange(true, std::memory_order_relaxed)) {
    base::text_buffer<128> line;
    line.append("tarn: option TARN_INITIAL: there is no memory for ").decimal(bytes);
    report(line.append(" bytes; threads start without\n").view());
  }
}

// With the option thread_heaps, so many threads at a time have heaps of their own. The others share these heaps, which
// are made at the start: a fork must find each of them. A thread keeps the heap that it gets, and takes its lock in
// each call. With four heaps for each processor, two threads that run at once seldom want the same lock
// (docs/design/thread-heaps.md).
constexpr std::uint32_t shared_heaps_of_processor = 4;
constexpr std::uint32_t max_shared_heaps = 64;
constinit heaps::heap* shared_heaps[max_shared_heaps] = {};
constinit std::uint32_t shared_heap_count = 0;
constinit std::atomic<std::uint32_t> heap_threads{0};    ///< threads that have heaps of their own
constinit std::atomic<std::uint32_t> shared_threads{0};  ///< threads that have got a shared heap so far

// Makes a heap that any thread may use, under its lock.
heaps::heap* make_shared_heap(const char* name, const base::options& options) noexcept {
  heaps::heap* const heap = registry::create(heaps::central(), name);
  if (heap == nullptr) return nullptr;
  heap->add_trait(heaps::heap_trait::shared);
  if (options.stats != base::stats_mode::off) heap->add_trait(heaps::heap_trait::counting);
  if (options.uses_guard) heap->add_trait(heaps::heap_trait::exact);
  return heap;
}

void make_shared_heaps(const base::options& options) noexcept {
  if (options.thread_heaps == 0 || options.uses_guard) return;
  cpu_set_t allowed;
  const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const std::uint32_t processors = is_known ? static_cast<std::uint32_t>(CPU_COUNT(&allowed)) : max_shared_heaps;
  const std::uint32_t count = std::min(processors * shared_heaps_of_processor, max_shared_heaps);
  while (shared_heap_count < count) {
    heaps::heap* const heap = make_shared_heap("shared", options);
    if (heap == nullptr) return;
    shared_heaps[shared_heap_count++] = heap;
  }
}

// Returns true if the calling thread may have a heap of its own, and counts it.
bool take_own_heap() noexcept {
  if (shared_heap_count == 0) return true;
  std::uint32_t threads = heap_threads.load(std::memory_order_relaxed);
  while (threads < base::current_options().thread_heaps) {
    if (heap_threads.compare_exchange_weak(threads, threads + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}
void give_own_heap_up() noexcept {
  if (shared_heap_count != 0) heap_threads.fetch_sub(1, std::memory_order_relaxed);
}

// Runs when a thread with a heap ends, after its C++ thread_local destructors. Destructors of other keys may run
// later and allocate or free: they find the process's heap, so nothing needs to be registered again.
void leave(void* value) noexcept {
  auto* const heap = static_cast<heaps::heap*>(value);
  detail::local_heap = process;
  heap->retire();
  registry::give_idle(heap);
  give_own_heap_up();
}

bool set_up() noexcept {
  base::options& options = base::process_options;
  base::load_from_environment(options, environ != nullptr ? environ : environment, report);
  pages::space_options space_settings;
  pages::space::limit_process(options.limit);
  if (options.purge_delay_ms == 0) space_settings.purge = pages::purging::at_once;
  space_settings.asks_for_huge = options.thp == base::thp_mode::enabled;
  space_settings.refuses_huge = options.thp == base::thp_mode::disabled;
  space_settings.first_units = first_segment_bytes / pages::unit_bytes;
  if (options.increment != 0) {
    const std::size_t units = base::divide_up(options.increment, pages::unit_bytes);
    space_settings.segment_units = units < 32 ? 32 : units > pages::max_units ? pages::max_units : units;
    space_settings.first_units = space_settings.segment_units;
  }
  heaps::central().configure(space_settings);
  process = make_shared_heap("process", options);
  if (process == nullptr || pthread_key_create(&exit_key, leave) != 0) return false;
  make_shared_heaps(options);
  return true;
}

// A plugin with this library inside should be linked with -z nodelete, as the package's link options specify. A
// plugin without it may be unloaded while threads still run, and these must not call unmapped code when they end. From
// here on the key may belong to another library. Objects that are destroyed later allocate from the process's heap.
constinit std::atomic<bool> was_unloaded{false};
[[gnu::destructor]] void unload() noexcept {
  if (progress.load(std::memory_order_acquire) == stage::ready && !was_unloaded.exchange(true)) {
    pthread_key_delete(exit_key);
    if (platform::is_unloadable()) {  // the end of other processes waits for no helper
      end_idle_purge();
    }
  }
}

}  // namespace

void start_engine(int, char**, char** environment_entries) noexcept {
  environment = environment_entries;
  initialise();
}

bool initialise() noexcept {
  stage now = progress.load(std::memory_order_acquire);
  if (now == stage::ready) return true;
  if (now == stage::nothing && progress.compare_exchange_strong(now, stage::started, std::memory_order_acq_rel)) {
    now = set_up() ? stage::ready : stage::failed;
    // release: a thread that sees `ready` sees all of the above.
    progress.store(now, std::memory_order_release);
    if (now == stage::ready) {
      install_fork_handlers();  // it may allocate, so it comes after the store
      install_idle_purge();
    }
    return now == stage::ready;
  }
  while ((now = progress.load(std::memory_order_acquire)) == stage::started) sched_yield();
  return now == stage::ready;
}

heaps::heap* process_heap() noexcept { return initialise() ? process : nullptr; }

heaps::heap* start() noexcept {
  if (detail::local_heap != &heaps::no_heap) {  // the caller may have read `local_heap` before this thread had a heap
    return static_cast<heaps::heap*>(detail::local_heap);
  }
  if (!initialise()) return nullptr;
  if (was_unloaded.load(std::memory_order_relaxed)) return process;
  if (process->policy.is_exact()) {
    detail::local_heap = process;  // all threads share one heap, so that every free is checked at once
    return process;
  }
  if (!take_own_heap()) {
    const std::uint32_t number = shared_threads.fetch_add(1, std::memory_order_relaxed);
    heaps::heap* const shared_heap = shared_heaps[number % shared_heap_count];
    detail::local_heap = shared_heap;
    return shared_heap;
  }
  heaps::heap* const heap = registry::acquire();
  if (heap == nullptr) {
    give_own_heap_up();
    return process;
  }
  const base::options& options = base::current_options();
  heap->owner_thread.store(platform::thread_number(), std::memory_order_relaxed);
  {
    const heaps::owner_scope hold(*heap);
    if (options.stats != base::stats_mode::off && !heap->policy.is_counting()) {
      heap->add_trait(heaps::heap_trait::counting);
    }
    if (options.sample_guards == 1 && !heap->policy.is_closed()) {
      heap->add_trait(heaps::heap_trait::guarded);  // the drop-in is asked to sample each call
    }
    // The first thread is the only one of most programs. Only the drop-in's malloc looks up classes in the heap.
    if (has_first_heap.exchange(true, std::memory_order_relaxed) && heaps::marks_blocks) heap->share_blocks();
  }
  detail::local_heap = heap;  // this precedes the key, because setting it may allocate
  if (pthread_setspecific(exit_key, heap) != 0) {
    detail::local_heap = process;
    heap->retire();
    registry::give_idle(heap);
    give_own_heap_up();
    return process;
  }
  if (options.initial > heap->eager_bytes) {  // otherwise the heap was adopted, with the memory that it had reserved
    heap->eager_bytes = options.initial;
    // A lack of memory for the reservation is no reason to fail this allocation.
    if (!may_reserve(options.initial) || !heap->space->reserve_unchecked(options.initial)) {
      report_missing_initial(options.initial);
    }
  }
  return heap;
}

std::span<heaps::heap* const> heaps_of_several() noexcept { return {shared_heaps, shared_heap_count}; }

void count_threads_of_child() noexcept { heap_threads.store(own_heap() != nullptr ? 1 : 0, std::memory_order_relaxed); }

heaps::heap* own_heap() noexcept {
  return was_unloaded.load(std::memory_order_relaxed) ? nullptr
                                                      : static_cast<heaps::heap*>(pthread_getspecific(exit_key));
}

}  // namespace tarn::threads
