#include "memory/heap/large_cache.hpp"

namespace tarn::heaps {

constexpr std::size_t large_cache::most_bytes_of(std::size_t bin) noexcept {
  std::size_t units = least_units;
  while (units < most_units && bin_of(units + 1) <= bin) {
    ++units;
  }
  return units * pages::unit_bytes * (bin < first_long_bin ? 2 : 1);
}

void large_cache::open(std::size_t units, pages::space& space) noexcept {
  if (!serves(units)) {
    return;
  }
  const std::size_t bin = bin_of(units);
  const std::uint64_t bit = std::uint64_t{1} << bin;
  if ((open_.load(std::memory_order_relaxed) & bit) != 0) {
    unused_.fetch_and(~bit, std::memory_order_relaxed);
  } else if (space.grant_caching(most_bytes_of(bin))) {
    unused_.fetch_and(~bit, std::memory_order_relaxed);
    used_.fetch_or(bit, std::memory_order_relaxed);
    // release: a thread that finds the bin open, and visits after its put, visits this bin.
    open_.fetch_or(bit, std::memory_order_release);
  }
}

pages::slab* large_cache::take_unused(slot& holder, bool everything, bool& empty) noexcept {
  // seq_cst: a visit on behalf of an owner that has just ended must not miss a run that was put in before (heap::retire
  // says why).
  word seen = holder.load(std::memory_order_seq_cst);
  while (seen != 0) {
    const bool gone = everything || (seen & marked) != 0;
    // acquire: pairs with the release in put().
    if (holder.compare_exchange_weak(seen, gone ? 0 : seen | marked, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      empty = empty && gone;
      return gone ? run_in(seen) : nullptr;
    }
  }
  return nullptr;
}

// A thread that frees may have seen the bin open before, and puts a run into it afterwards. The run waits there until
// the next visit.
void large_cache::note_unused(std::size_t bin, bool everything, pages::space& space) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << bin;
  const bool again = (unused_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0;
  if ((again || everything) && (open_.fetch_and(~bit, std::memory_order_relaxed) & bit) != 0) {
    space.end_caching(most_bytes_of(bin));
  }
}

large_cache::held large_cache::count() const noexcept {
  held now{};
  for (std::uint64_t left = used_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const auto bin = static_cast<std::size_t>(std::countr_zero(left));
    for (const slot* const source : {&owners_[bin], &shared_[bin]}) {
      const std::size_t units = units_in(source->load(std::memory_order_relaxed));
      now.runs += units != 0 ? 1 : 0;
      now.units += units;
    }
  }
  return now;
}

}  // namespace tarn::heaps
