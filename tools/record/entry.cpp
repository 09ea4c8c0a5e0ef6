#include "record/entry.hpp"

#include <pthread.h>

#include "record/births.hpp"
#include "record/dispatch.hpp"
#include "record/known_stacks.hpp"
#include "record/locks.hpp"
#include "record/quiet.hpp"
#include "record/region.hpp"
#include "record/sites.hpp"

namespace tarn::record {
namespace {

constinit thread_local bool inside = false;

constinit lock starting;
constinit std::atomic<int> started = 0;  // 1: all is set up; -1: it could not be

bool has(format::kind source) noexcept { return (header().sources & format::source_bit(source)) != 0; }

bool set_up() noexcept { return (!has(format::heap_kind) || set_up_births(header().interval != 0)) && set_up_sites(); }

// The child shares the parent's region, and must not count there. It counts in one of its own or, where there is none,
// nothing: its page that says whether it is recorded has been wiped.
void in_child() noexcept {
  if (started.load(std::memory_order_relaxed) != 1) return;
  inside = true;
  begin_memory_anew();
  begin_threads_anew();
  begin_locks_anew();
  begin_regions_anew();
  starting.begin_anew();
  const bool follows = follow_fork() && set_up();
  inside = false;
#if defined(__x86_64__)
  if (follows && has(format::call_kind)) start_dispatch();
#endif
}

bool start() noexcept {
  const holding held(starting);
  if (started.load(std::memory_order_relaxed) == 0) {
    inside = true;  // pthread_atfork may allocate
    const bool done = set_up();
    ::pthread_atfork(nullptr, nullptr, in_child);
    inside = false;
    started.store(done ? 1 : -1, std::memory_order_release);  // who sees 1 sees the tables
  }
  return started.load(std::memory_order_relaxed) == 1;
}

std::uint32_t walk_to_site(thread& self, const caller& from, stack_reads& reads) noexcept {
  std::uintptr_t frames[format::most_frames];
  return site_of(frames, walk(from, self.stack(), frames, reads));
}

[[gnu::noinline]] known_stacks::known& make_known(thread& self, const caller& from) noexcept {
  known_stacks::known& made = self.stacks()->place_for(from);
  known_stacks::keep(made, from, walk_to_site(self, from, made.reads));
  return made;
}

[[gnu::noinline]] std::uint32_t site_without_memory(thread& self, const caller& from) noexcept {
  stack_reads reads;
  return walk_to_site(self, from, reads);
}

}  // namespace

bool is_inside() noexcept { return inside; }

bool records_anything() noexcept {
  if (inside) return false;
  if (started.load(std::memory_order_acquire) <= 0) [[unlikely]] {
    if (started.load(std::memory_order_relaxed) < 0 || !attach()) return false;
    if (!start()) return false;
  }
  return is_recorded();
}

bool records(format::kind source) noexcept { return records_anything() && has(source); }

entry::entry() noexcept : entry((inside = true, thread::own())) {}
entry::entry(in_signal at) noexcept : entry((inside = true, thread::own_in_signal(at.stack))) {}
entry::entry(thread* self) noexcept : self_(self) {
  if (self_ != nullptr && self_->shared_lock() != nullptr) [[unlikely]]
    self_->shared_lock()->acquire();
}

entry::~entry() {
  if (self_ != nullptr && self_->shared_lock() != nullptr) [[unlikely]]
    self_->shared_lock()->release();
  inside = false;
}

place heap_place(thread& self, const caller& from) noexcept {
  if (self.stacks() == nullptr) [[unlikely]] {
    const std::uint32_t site = site_without_memory(self, from);
    return {site, self.cell_of(site, self.number())};
  }
  known_stacks::known* known = self.stacks()->find(from);
  if (known == nullptr) known = &make_known(self, from);
  if (known->cell == nullptr) known->cell = self.cell_of(known->site, self.number());
  return {known->site, known->cell};
}

std::uint32_t site_from(thread& self, const caller& from) noexcept {
  if (self.stacks() == nullptr) [[unlikely]]
    return site_without_memory(self, from);
  known_stacks::known* const known = self.stacks()->find(from);
  return known != nullptr ? known->site : make_known(self, from).site;
}

}  // namespace tarn::record
