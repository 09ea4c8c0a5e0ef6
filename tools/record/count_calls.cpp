#include "record/count_calls.hpp"

#include "record/call_facts.hpp"
#include "record/entry.hpp"
#include "record/region.hpp"

namespace tarn::record {

format::call_cell* call_begins(const caller& from, long number, const long* words) noexcept {
  if (calls_for_itself || !is_recorded()) return nullptr;
  if (is_inside()) {
    // A handler of the program's that came in the middle of counting something else, whose tables cannot be used now.
    if (thread* const self = thread::own_in_signal(from.stack)) self->count_forgotten();
    return nullptr;
  }
  entry here(entry::in_signal{from.stack});
  if (!here) return nullptr;
  thread& self = here.self();
  if (number < 0 || number > format::most_call_number) number = format::most_call_number;
  const std::uint32_t site = site_from(self, from);
  format::call_cell* const to = self.call_cell_of(site, static_cast<std::uint32_t>(number));
  if (to == nullptr) {
    self.count_forgotten();
    return nullptr;
  }
  to->value[format::calls].fetch_add(1, std::memory_order_relaxed);
  if (self.last_call == to) to->value[format::in_a_row].fetch_add(1, std::memory_order_relaxed);
  self.last_call = to;
  const call_facts facts = facts_of_call(number);
  if (facts.size_at != call_facts::none) {
    to->value[format::asked].fetch_add(static_cast<std::uint64_t>(words[facts.size_at]), std::memory_order_relaxed);
  }
  return to;
}

}  // namespace tarn::record
