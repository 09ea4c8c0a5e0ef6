#include "memory/heap/large_cache.hpp"

namespace tarn::heaps {

constexpr std::size_t large_cache::max_bytes_of(std::size_t bin) noexcept {
  if (bin == spare_bin) return spare_count * max_spare_units * pages::unit_bytes;
  std::size_t units = min_units;
  while (units < max_units && bin_of(units + 1) <= bin) ++units;
  return units * pages::unit_bytes * (bin < first_long_bin ? 2 : 1);
}

void large_cache::open(std::size_t units, pages::space& space) noexcept {
  if (!serves(units)) return;
  const std::size_t bin = bin_of(units);
  const bool was_open = is_open(bin);
  open_bin(bin, space);
  if (was_open && units <= max_spare_units && has_refused_.load(std::memory_order_relaxed)) {
    has_refused_.store(false, std::memory_order_relaxed);
    open_bin(spare_bin, space);
  }
}

void large_cache::open_bin(std::size_t bin, pages::space& space) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << bin;
  if (is_open(bin)) {
    unused_.fetch_and(~bit, std::memory_order_relaxed);
  } else if (space.grant_caching(max_bytes_of(bin), bin == spare_bin ? spare_least : pages::space::min_cached)) {
    unused_.fetch_and(~bit, std::memory_order_relaxed);
    used_bins_.fetch_or(bit, std::memory_order_relaxed);
    // release: a thread that finds the bin open, and visits after its put, visits this bin.
    open_.fetch_or(bit, std::memory_order_release);
  }
}

bool large_cache::put_spare(word entry) noexcept {
  if (!is_open(spare_bin)) {
    has_refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  for (slot& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) == 0 && put_anywhere(spare, entry)) return true;
  }
  return false;
}

pages::slab* large_cache::take_spare(std::size_t units) noexcept {
  for (slot& spare : spares_) {
    word entry = spare.load(std::memory_order_relaxed);
    while (units_in(entry) >= units && units_in(entry) <= units + units / 8) {
      // acquire: pairs with the release in put_anywhere().
      if (spare.compare_exchange_weak(entry, 0, std::memory_order_acquire, std::memory_order_relaxed)) {
        platform::note_acquire(&spare);
        return run_in(entry);
      }
    }
  }
  return nullptr;
}

pages::slab* large_cache::take_unused(slot& holder, bool must_empty, bool& is_unused) noexcept {
  // seq_cst: a visit on behalf of an owner that has just ended must not miss a run that was put in before (heap::retire
  // says why).
  word entry = holder.load(std::memory_order_seq_cst);
  while (entry != 0) {
    const bool must_leave = must_empty || (entry & marked) != 0;
    // acquire: pairs with the release in put().
    if (holder.compare_exchange_weak(entry, must_leave ? 0 : entry | marked, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      is_unused = is_unused && must_leave;
      return must_leave ? run_in(entry) : nullptr;
    }
  }
  return nullptr;
}

// A thread that frees may have seen the bin open before, and puts a run into it afterwards. The run waits there until
// the next visit.
void large_cache::note_unused(std::size_t bin, bool must_empty, pages::space& space) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << bin;
  const bool was_unused = (unused_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0;
  if ((was_unused || must_empty) && (open_.fetch_and(~bit, std::memory_order_relaxed) & bit) != 0) {
    space.end_caching(max_bytes_of(bin));
  }
}

large_cache::content large_cache::count() const noexcept {
  content now{};
  for (std::uint64_t left = used_bins_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const auto bin = static_cast<std::size_t>(std::countr_zero(left));
    for_each_slot(*this, bin, [&](const slot& source) {
      const std::size_t units = units_in(source.load(std::memory_order_relaxed));
      now.runs += units != 0 ? 1 : 0;
      now.units += units;
    });
  }
  return now;
}

}  // namespace tarn::heaps
