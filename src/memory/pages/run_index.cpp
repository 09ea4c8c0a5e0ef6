#include "memory/pages/run_index.hpp"

#include <bit>

namespace tarn::pages {
namespace {

/// A search checks at most this many segments of the bin in which the wanted length falls, because only some of that
/// bin have enough.
constexpr int max_tried = 4;

constexpr std::size_t steps_per_doubling = 8;

}  // namespace

// The lengths 1 to 7 have a bin each; from 8 units on, a bin spans an eighth of a power of two.
std::size_t run_index::bin_of(std::size_t units) noexcept {
  if (units < steps_per_doubling) return units - 1;
  const auto width = static_cast<std::size_t>(std::bit_width(units));
  const std::size_t bin = steps_per_doubling * (width - 4) + (units >> (width - 4)) - 1;
  return bin < bin_count ? bin : bin_count - 1;
}

void run_index::enter_bin(segment& entered) noexcept {
  if (entered.longest_run == 0) return;
  const std::size_t bin = bin_of(entered.longest_run);
  segment*& first = bins_[bin];
  entered.bin = static_cast<std::uint8_t>(bin + 1);
  entered.bin_previous = nullptr;
  entered.bin_next = first;
  if (first != nullptr) first->bin_previous = &entered;
  first = &entered;
  occupied_ |= std::uint64_t{1} << bin;
}

void run_index::leave_bin(segment& left) noexcept {
  if (left.bin == 0) return;
  const std::size_t bin = left.bin - 1U;
  (left.bin_previous != nullptr ? left.bin_previous->bin_next : bins_[bin]) = left.bin_next;
  if (left.bin_next != nullptr) left.bin_next->bin_previous = left.bin_previous;
  if (bins_[bin] == nullptr) {
    occupied_ &= ~(std::uint64_t{1} << bin);
  }
  left.bin = 0;
}

void run_index::insert(segment& added) noexcept {
  clean_.push_back(&added);
  added.indexed_dirty = 0;
  enter_bin(added);
  update(added);
}

// Counts `now` dirty units of a segment instead of those that are counted.
void run_index::add_dirty(const segment& changed, std::size_t now) noexcept {
  if (!changed.is_reserved) dirty_units_.store(dirty_units() + now - changed.indexed_dirty, std::memory_order_relaxed);
}

void run_index::remove(segment& removed) noexcept {
  leave_bin(removed);
  if (removed.indexed_dirty != 0) {
    dirty_.remove(&removed);
    add_dirty(removed, 0);
    --dirty_count_;
  } else {
    clean_.remove(&removed);
  }
}

void run_index::update(segment& changed) noexcept {
  const std::size_t bin = changed.longest_run == 0 ? 0 : bin_of(changed.longest_run) + 1;
  if (bin != changed.bin) {
    leave_bin(changed);
    enter_bin(changed);
  }
  if (changed.dirty_units == changed.indexed_dirty) return;
  if (changed.indexed_dirty == 0) {
    clean_.remove(&changed);
    dirty_.push_back(&changed);
    ++dirty_count_;
  } else if (changed.dirty_units == 0) {
    dirty_.remove(&changed);
    clean_.push_back(&changed);
    --dirty_count_;
  }
  add_dirty(changed, changed.dirty_units);
  changed.indexed_dirty = changed.dirty_units;
}

segment* run_index::find(std::size_t units) const noexcept {
  const std::size_t bin = bin_of(units);
  int tried = 0;
  for (segment* candidate = bins_[bin]; candidate != nullptr && tried < max_tried;
       candidate = candidate->bin_next, ++tried) {
    ++steps_;
    if (candidate->longest_run >= units) return candidate;
  }
  // All segments of the next bins have enough. It takes two shifts, because a shift by 64 is undefined.
  const std::uint64_t larger = occupied_ >> bin >> 1;
  if (larger == 0) return nullptr;
  ++steps_;
  return bins_[bin + 1 + static_cast<std::size_t>(std::countr_zero(larger))];
}

bool run_index::is_valid() const noexcept {
  bool is_consistent = clean_.is_valid() && dirty_.is_valid();
  std::size_t segments = 0;
  std::size_t dirty = 0;
  std::size_t dirty_segments = 0;
  std::size_t without_room = 0;
  for_each([&](const segment& indexed) {
    ++segments;
    dirty += indexed.is_reserved ? 0 : indexed.dirty_units;
    dirty_segments += indexed.dirty_units != 0 ? 1 : 0;
    without_room += indexed.longest_run == 0 ? 1 : 0;
    is_consistent = is_consistent && indexed.is_valid() && indexed.indexed_dirty == indexed.dirty_units;
  });
  for (std::size_t bin = 0; bin < bin_count; ++bin) {
    is_consistent = is_consistent && (bins_[bin] != nullptr) == ((occupied_ >> bin & 1) != 0);
    for (const segment* member = bins_[bin]; member != nullptr; member = member->bin_next) {
      is_consistent =
          is_consistent && member->bin == bin + 1 && member->longest_run != 0 && bin_of(member->longest_run) == bin;
      --segments;
    }
  }
  return is_consistent && segments == without_room && dirty == dirty_units() && dirty_segments == dirty_count_;
}

}  // namespace tarn::pages
