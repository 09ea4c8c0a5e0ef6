#include "profiler/preload/count_calls.hpp"

#include <sys/syscall.h>

#include "base/futex.hpp"
#include "profiler/preload/call_facts.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/region.hpp"
#include "profiler/preload/sites.hpp"

namespace tarn::preload {
namespace {

format::call_cell* count(thread& self, std::uint32_t site, std::uint32_t number, std::uint64_t asked) noexcept {
  format::call_cell* const cell = self.call_cell_of(site, number);
  if (cell == nullptr) {
    self.count_dropped();
    return nullptr;
  }
  cell->value[format::calls].fetch_add(1, std::memory_order_relaxed);
  if (self.last_call == cell) cell->value[format::in_a_row].fetch_add(1, std::memory_order_relaxed);
  self.last_call = cell;
  if (asked != 0) cell->value[format::asked].fetch_add(asked, std::memory_order_relaxed);
  return cell;
}

}  // namespace

format::call_cell* call_begins(const caller& caller, long said_number, const long* arguments) noexcept {
  if (!is_recorded()) return nullptr;
  const auto number = said_number < 0 || said_number > format::most_call_number
                          ? format::most_call_number
                          : static_cast<std::uint32_t>(said_number);
  const std::uint8_t size_at = facts_of_call(number).size_at;
  const auto asked = size_at == call_facts::no_argument ? 0 : static_cast<std::uint64_t>(arguments[size_at]);
  if (is_inside()) {
    thread* const self = thread::current_in_signal(caller.stack);
    if (self == nullptr) return nullptr;
    const bool is_kept = self->shared_lock() == nullptr && self->pending.push(caller, self->stack(), number, asked);
    if (!is_kept) self->count_dropped();
    return nullptr;
  }
  entry guard(entry::in_signal{caller.stack});
  if (!guard) return nullptr;
  thread& self = guard.self();
  if (!self.pending.is_empty()) [[unlikely]] {
    self.pending.take_all([&](const std::uintptr_t* frames, std::size_t depth, std::uint32_t pending_number,
                              std::uint64_t bytes) { count(self, site_of(frames, depth), pending_number, bytes); });
  }
  const std::uint32_t site = site_from(self, caller);
  if (is_in_region()) [[unlikely]]
    count_violation(
        self, number == SYS_futex && base::is_futex_wait(arguments[1]) ? format::lock_waits : format::system_calls,
        site);
  return count(self, site, number, asked);
}

}  // namespace tarn::preload
