#include "profiler/preload/count_calls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "base/futex.hpp"
#include "profiler/preload/call_facts.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/region.hpp"
#include "profiler/preload/sites.hpp"
#include "profiler/preload/windows.hpp"

namespace tarn::preload {
namespace {

// Adds to the variance of a cell's count, W (W - 1) y² for each block (windows.hpp), as the y-th call of the block
// comes. Threads that were made in one block begin alike, and count as one.
void count_spread(format::call_cell& cell, std::uint64_t weight) noexcept {
  constexpr unsigned bits = 24;
  const std::uint64_t block = std::uint64_t{own_window.block} << bits, last = cell.last_block;
  const std::uint64_t calls_before = (last >> bits << bits) == block ? last - block : 0;
  cell.last_block = block + std::min(calls_before + 1, (std::uint64_t{1} << bits) - 1);
  cell.value[format::call_spread].fetch_add(weight * (weight - 1) * (2 * (calls_before + own_window.siblings) + 1),
                                            std::memory_order_relaxed);
}

// A call of weight 0 only becomes the one before the next.
counted_call count(thread& self, std::uint32_t site, std::uint32_t number, std::uint64_t requested_bytes,
                   std::uint16_t weight) noexcept {
  const std::uint64_t key = format::cell_key(site, number);
  const bool follows_equal_call = std::exchange(own_window.last_call, key) == key;
  if (weight == 0) return {};
  format::call_cell* const cell = self.call_cell_of(site, number);
  if (cell == nullptr) {
    self.count_dropped();
    return {};
  }
  const auto add = [&](format::call_counter counter, std::uint64_t amount) {
    cell->value[counter].fetch_add(weight * amount, std::memory_order_relaxed);
  };
  add(format::calls, 1);
  if (follows_equal_call) add(format::in_a_row, 1);
  if (requested_bytes != 0) add(format::requested_bytes, requested_bytes);
  if (weight > 1) count_spread(*cell, weight);
  return {cell, weight};
}

}  // namespace

counted_call call_begins(const caller& caller, long said_number, const long* arguments) noexcept {
  if (!is_recorded()) return {};
  const std::uint16_t weight = window_weight();
  ++own_window.dispatched;
  if (weight != 0) note_dispatched_call();
  if (own_window.phase == window_phase::closed && !is_in_region()) return {};
  const auto number = said_number < 0 || said_number > format::max_call_number
                          ? format::max_call_number
                          : static_cast<std::uint32_t>(said_number);
  const std::uint8_t size_at = facts_of_call(number).size_at;
  const auto requested_bytes = size_at == call_facts::no_argument ? 0 : static_cast<std::uint64_t>(arguments[size_at]);
  if (is_inside()) {
    thread* const self = thread::current_in_signal(caller.stack);
    if (self == nullptr || weight == 0) return {};
    const bool is_kept =
        self->shared_lock() == nullptr && self->pending.push(caller, self->stack(), number, requested_bytes, weight);
    if (!is_kept) self->count_dropped();
    return {};
  }
  entry guard(entry::in_signal{caller.stack});
  if (!guard) return {};
  thread& self = guard.self();
  if (!self.pending.is_empty()) [[unlikely]] {
    self.pending.take_all([&](const pending_calls::call& call) {
      count(self, site_of(call.frames, call.depth), call.number, call.requested_bytes, call.weight);
    });
  }
  const std::uint32_t site = site_from(self, caller);
  if (is_in_region()) [[unlikely]]
    count_violation(
        self, number == SYS_futex && base::is_futex_wait(arguments[1]) ? format::lock_waits : format::system_calls,
        site);
  return count(self, site, number, requested_bytes, weight);
}

}  // namespace tarn::preload
