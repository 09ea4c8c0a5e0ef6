#include "profiler/symbols/address_ranges.hpp"

#include <algorithm>

namespace tarn::analyse {

void address_ranges::finish() {
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const piece& a, const piece& b) { return a.begin < b.begin; });
  std::uint64_t furthest = 0;
  for (const piece& range : pieces_) furthest_ends_.push_back(furthest = std::max(furthest, range.end));
}

std::vector<address_ranges::piece>::const_iterator address_ranges::after_last_start(std::uint64_t address) const {
  return std::upper_bound(pieces_.begin(), pieces_.end(), address,
                          [](std::uint64_t start, const piece& range) { return start < range.begin; });
}

std::uint64_t address_ranges::furthest_end(std::uint64_t address) const {
  const auto end = after_last_start(address);
  return end == pieces_.begin() ? 0 : furthest_ends_[static_cast<std::size_t>(end - pieces_.begin()) - 1];
}

std::optional<std::size_t> address_ranges::find(std::uint64_t address) const {
  const piece* innermost = nullptr;
  for (auto range = after_last_start(address); range != pieces_.begin();) {
    --range;
    if (furthest_ends_[static_cast<std::size_t>(range - pieces_.begin())] <= address) break;  // no earlier one has it
    if (range->end > address && (innermost == nullptr || range->depth > innermost->depth)) innermost = &*range;
  }
  if (innermost == nullptr) return std::nullopt;
  return innermost->index;
}

}  // namespace tarn::analyse
