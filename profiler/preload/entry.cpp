#include "profiler/preload/entry.hpp"

#include <pthread.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "profiler/preload/base/filter.hpp"
#include "profiler/preload/dispatch.hpp"
#include "profiler/preload/live_blocks.hpp"
#include "profiler/preload/locks.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/own_malloc.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/records/long_calls.hpp"
#include "profiler/preload/records/python_codes.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/records/sites.hpp"
#include "profiler/preload/sampled_blocks.hpp"
#include "profiler/preload/stacks/stack_cache.hpp"

namespace tarn::preload {

constinit thread_local bool detail::is_inside_recorder = false, detail::is_heap_hidden = false;
constinit std::atomic<bool> detail::has_started = false;
constinit std::atomic<bool> detail::is_heap_off = false;
constinit std::atomic<bool> detail::is_lock_off = false;

namespace {

using detail::has_started;
using detail::is_inside_recorder;

constinit bool has_fork_handlers = false;  // a child of fork has them, too
constinit bool has_block_table = false;    // of this process

bool has(format::kind source) noexcept { return (header().sources & format::source_bit(source)) != 0; }

bool set_up_blocks() noexcept {
  if (header().interval == 0) return live_blocks::set_up();
  if (!set_up_sampled()) return false;
  for (std::size_t index = 0; early_block(index) != nullptr; ++index) {  // free() must take the slow path for these
    filter_of(early_block(index)).store(filter_full, std::memory_order_relaxed);
  }
  return true;
}
bool set_up() noexcept {
  has_block_table = has(format::heap_kind) && set_up_blocks();
  return has_block_table == has(format::heap_kind) && set_up_sites();
}

void forget_parent() noexcept {
  begin_memory_anew();
  begin_python_codes_anew();
  begin_threads_anew();
  begin_thread_starts_anew();
  begin_waits_anew();
  begin_locks_anew();
  begin_regions_anew();
}

// A child of fork shares the parent's region and must not count there. It counts in a region of its own, or not at
// all if there is none: the kernel has wiped the page that marks this process as recorded.
void in_child() noexcept {
  if (!has_started.load(std::memory_order_relaxed)) return;
  is_inside_recorder = true;
  note_forked_child();
  forget_parent();
  const bool is_followed = follow_fork(), keeps_recording = is_followed && set_up();
  if (is_followed && !keeps_recording) note_unfollowed_child();
  if (keeps_recording && has(format::heap_kind)) note_own_malloc_anew();
  is_inside_recorder = false;
#if defined(__x86_64__)
  if (keeps_recording && has(format::call_kind)) start_dispatch();
#endif
}

// Does everything early that takes locks of the C library or memory of the program's heap: a hook may be called while
// the program holds any lock, or in the middle of its allocator (docs/design/recorder-calls.md). The loader calls
// this before every other constructor (-z initfirst), so there is only one thread and no event has been missed.
bool start() noexcept {
  if (!set_up()) return false;
  prepare_threads();
  if (!std::exchange(has_fork_handlers, true)) ::pthread_atfork(nullptr, note_unrecorded_fork, in_child);
  has_started.store(true, std::memory_order_release);  // release: a thread that sees it sees the tables
  return true;
}
void begin(int, char**, char** environment) noexcept {
  // A malloc that is preloaded in front of this library may read its options at its first call, which comes from here.
  if (environ == nullptr) environ = environment;
  const hidden_thread hidden;
  (void)next();
  look_for_python();
  const bool is_recording = attach(environment) && start();
  detail::is_heap_off.store(!is_recording || !has(format::heap_kind), std::memory_order_relaxed);
  detail::is_lock_off.store(!is_recording || !has(format::lock_kind), std::memory_order_relaxed);
}
// The attribute `constructor` cannot be used: the compiler may merge such functions, and then passes no arguments.
using constructor = void (*)(int, char**, char**);
[[gnu::used, gnu::section(".init_array.00100")]] constinit const constructor first_constructor = begin;

std::uint32_t walk_to_site(thread& self, const caller& caller, stack_reads& reads) noexcept {
  const work_timer timer(format::walk_ticks);
  std::uintptr_t* const frames = self.workspace.frames;
  return site_of(frames, walk(caller, self.stack(), frames, reads));
}
std::uint32_t walk_with_python_to_site(thread& self, const caller& caller, stack_reads& reads) noexcept {
  const work_timer timer(format::walk_ticks);
  return site_of(self.workspace.frames, walk_with_python(caller, self.stack(), self.workspace, reads));
}

[[gnu::noinline]] stack_cache::cached_stack& make_known(thread& self, const caller& caller) noexcept {
  stack_cache::cached_stack& cached = self.stacks()->slot_for(caller);
  stack_cache::keep(cached, caller, walk_to_site(self, caller, cached.reads));
  return cached;
}

void read_python_frames(thread& self, const caller& caller) noexcept {
  const work_timer timer(format::walk_ticks);
  read_python_stack(caller, self.stack(), self.met_codes(), self.workspace.chain, self.workspace.python);
}

// Returns 0 where they must be read.
[[gnu::always_inline]] inline std::uint64_t known_python_frames(thread& self, const caller& caller) noexcept {
  met_python_codes* const met = self.met_codes();
  return met == nullptr ? 0 : known_python_stack(caller, self.stack(), *met);
}

[[gnu::noinline]] stack_cache::cached_stack& new_python_stack(thread& self, const caller& caller,
                                                              std::uint64_t known_hash) noexcept {
  read_python_frames(self, caller);
  const std::uint64_t hash = self.workspace.python.hash;
  if (known_hash == 0) {
    if (stack_cache::cached_stack* const cached = self.stacks()->find(caller, hash)) return *cached;
  }
  stack_cache::cached_stack& new_stack = self.stacks()->slot_for(caller, hash);
  stack_cache::keep(new_stack, caller, walk_with_python_to_site(self, caller, new_stack.reads));
  return new_stack;
}

[[gnu::always_inline]] inline stack_cache::cached_stack& python_stack_at(thread& self, const caller& caller) noexcept {
  const std::uint64_t known_hash = known_python_frames(self, caller);
  stack_cache::cached_stack* const cached = known_hash == 0 ? nullptr : self.stacks()->find(caller, known_hash);
  return cached != nullptr ? *cached : new_python_stack(self, caller, known_hash);
}

[[gnu::noinline]] stack_cache::cached_stack& known_stack(thread& self, const caller& caller) noexcept {
  if (runs_python()) [[unlikely]] {
    std::optional<brief_work_timer> timer;
    if (self.timed_python_reads.take()) timer.emplace(format::walk_ticks);
    return python_stack_at(self, caller);
  }
  stack_cache::cached_stack* const cached = self.stacks()->find(caller);
  return cached != nullptr ? *cached : make_known(self, caller);
}

[[gnu::noinline]] std::uint32_t site_without_memory(thread& self, const caller& caller) noexcept {
  self.note_walk();
  stack_reads& reads = self.workspace.reads;
  if (!runs_python()) return walk_to_site(self, caller, reads);
  read_python_stack(caller, self.stack(), nullptr, self.workspace.chain, self.workspace.python);
  return walk_with_python_to_site(self, caller, reads);
}

}  // namespace

void begin_thread_anew() noexcept {
  thread::forget_own();
  leave_all_regions();
}

void begin_process_anew() noexcept {
  is_inside_recorder = false;
  forget_parent();
  leave_inherited_region();
}

bool set_up_late_blocks() noexcept {
  if (has(format::heap_kind) && !has_block_table) has_block_table = set_up_blocks();
  return has_block_table || !has(format::heap_kind);
}

bool start_late(long file) noexcept {
  detail::is_heap_off.store(false, std::memory_order_relaxed);
  detail::is_lock_off.store(false, std::memory_order_relaxed);
  note_thread_name();  // threads may have set one before
  look_for_python();
  return next() != nullptr && attach_to(file) && start();
}

counting_site find_heap_site(thread& self, const caller& caller) noexcept {
  if (self.stacks() == nullptr) [[unlikely]] {
    const std::uint32_t site = site_without_memory(self, caller);
    return {site, self.cell_of(site, self.number())};
  }
  stack_cache::cached_stack& stack = runs_python() ? python_stack_at(self, caller) : known_stack(self, caller);
  if (stack.cell == nullptr) stack.cell = self.cell_of(stack.site, self.number());
  return {stack.site, stack.cell};
}

std::uint32_t site_from(thread& self, const caller& caller) noexcept {
  if (self.stacks() == nullptr) [[unlikely]]
    return site_without_memory(self, caller);
  return known_stack(self, caller).site;
}

}  // namespace tarn::preload
