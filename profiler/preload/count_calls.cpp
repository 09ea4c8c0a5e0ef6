#include "profiler/preload/count_calls.hpp"

#include <sys/syscall.h>

#include <utility>

#include "base/futex.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/records/call_facts.hpp"
#include "profiler/preload/records/long_calls.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/records/sites.hpp"
#include "profiler/preload/windows.hpp"

namespace tarn::preload {
namespace {

// A call of weight 0 is only remembered as the previous call. `may_be_awaited` is false for a call that was kept as
// pending (pending_calls.hpp).
counted_call count(thread& self, std::uint32_t site, std::uint32_t number, std::uint64_t requested_bytes,
                   std::uint16_t weight, bool may_be_awaited) noexcept {
  const std::uint64_t key = format::cell_key(site, number);
  const bool follows_equal_call = std::exchange(own_window.last_call, key) == key;
  if (weight == 0) return {};
  format::call_cell* const cell = self.call_cell_of(site, number);
  if (cell == nullptr) {
    self.count_dropped();
    return {};
  }
  if (may_be_awaited && own_awaited_call.number == number) {
    own_awaited_call.is_in_window = true;
    if (weight > 1) {  // its weight is known when it ends
      own_awaited_call.cell = cell;
      own_awaited_call.follows_equal_call = follows_equal_call;
      own_awaited_call.requested_bytes = requested_bytes;
      return {cell, weight};
    }
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

std::uint64_t requested_by(std::uint32_t number, const long* arguments) noexcept {
  const std::uint8_t size_at = facts_of_call(number).size_at;
  return size_at == call_facts::no_argument ? 0 : static_cast<std::uint64_t>(arguments[size_at]);
}

}  // namespace

void count_long_call(thread& self, const caller& caller, std::uint32_t number, const long* arguments, long result,
                     std::uint64_t ticks) noexcept {
  const std::uint32_t site = site_from(self, caller);
  format::call_cell* const cell = count(self, site, number, requested_by(number, arguments), 1, false).cell;
  if (cell == nullptr) return;
  const auto add = [&](format::call_counter counter, std::uint64_t amount) {
    cell->value[counter].fetch_add(amount, std::memory_order_relaxed);
  };
  add(format::call_ticks, ticks);
  if (static_cast<int>(result) == -1) return add(format::errors, 1);
  if (!facts_of_call(number).returns_bytes) return;
  add(format::returned_bytes, static_cast<std::uint64_t>(result));
  if (requested_by(number, arguments) == 0) add(format::requested_bytes, static_cast<std::uint64_t>(result));
}

counted_call call_begins(const caller& caller, long raw_number, const long* arguments) noexcept {
  if (!is_recorded()) return {};
  const std::uint16_t weight = window_weight();
  ++own_window.dispatched;
  if (weight != 0) note_dispatched_call();
  if (own_window.phase == window_phase::closed && !is_in_region()) return {};
  const auto number = raw_number < 0 || raw_number > format::max_call_number ? format::max_call_number
                                                                             : static_cast<std::uint32_t>(raw_number);
  const std::uint64_t requested_bytes = requested_by(number, arguments);
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
    self.pending.take_all([&](pending_calls::call& call) {
      count(self, site_of(call.frames, call.depth), call.number, call.requested_bytes, call.weight, false);
    });
  }
  const std::uint32_t site = site_from(self, caller);
  if (is_in_region()) [[unlikely]]
    count_violation(
        self, number == SYS_futex && base::is_futex_wait(arguments[1]) ? format::lock_waits : format::system_calls,
        site);
  return count(self, site, number, requested_bytes, weight, true);
}

}  // namespace tarn::preload
