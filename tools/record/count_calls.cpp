#include "record/count_calls.hpp"

#include <sys/syscall.h>

#include "base/futex.hpp"
#include "record/call_facts.hpp"
#include "record/entry.hpp"
#include "record/quiet.hpp"
#include "record/region.hpp"
#include "record/sites.hpp"

namespace tarn::record {
namespace {

format::call_cell* count(thread& self, std::uint32_t site, std::uint32_t number, std::uint64_t asked) noexcept {
  format::call_cell* const to = self.call_cell_of(site, number);
  if (to == nullptr) {
    self.count_forgotten();
    return nullptr;
  }
  to->value[format::calls].fetch_add(1, std::memory_order_relaxed);
  if (self.last_call == to) to->value[format::in_a_row].fetch_add(1, std::memory_order_relaxed);
  self.last_call = to;
  if (asked != 0) to->value[format::asked].fetch_add(asked, std::memory_order_relaxed);
  return to;
}

}  // namespace

format::call_cell* call_begins(const caller& from, long said_number, const long* words) noexcept {
  if (!is_recorded()) return nullptr;
  const auto number = said_number < 0 || said_number > format::most_call_number
                          ? format::most_call_number
                          : static_cast<std::uint32_t>(said_number);
  const std::uint8_t size_at = facts_of_call(number).size_at;
  const auto asked = size_at == call_facts::none ? 0 : static_cast<std::uint64_t>(words[size_at]);
  if (is_inside()) {
    thread* const self = thread::own_in_signal(from.stack);
    if (self == nullptr) return nullptr;
    const bool is_kept = self->shared_lock() == nullptr && self->pending.push(from, self->stack(), number, asked);
    if (!is_kept) self->count_forgotten();
    return nullptr;
  }
  entry here(entry::in_signal{from.stack});
  if (!here) return nullptr;
  thread& self = here.self();
  if (!self.pending.is_empty()) [[unlikely]] {
    self.pending.take_all([&](const std::uintptr_t* frames, std::size_t depth, std::uint32_t of, std::uint64_t bytes) {
      count(self, site_of(frames, depth), of, bytes);
    });
  }
  const std::uint32_t site = site_from(self, from);
  if (is_in_region()) [[unlikely]]
    hear(self, number == SYS_futex && base::is_futex_wait(words[1]) ? format::lock_waits : format::system_calls, site);
  return count(self, site, number, asked);
}

}  // namespace tarn::record
