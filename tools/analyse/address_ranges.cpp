#include "analyse/address_ranges.hpp"

#include <algorithm>

namespace tarn::analyse {

void address_ranges::close() {
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const piece& a, const piece& b) { return a.from < b.from; });
  std::uint64_t most = 0;
  for (const piece& each : pieces_) reached_.push_back(most = std::max(most, each.to));
}

std::vector<address_ranges::piece>::const_iterator address_ranges::past(std::uint64_t address) const {
  return std::upper_bound(pieces_.begin(), pieces_.end(), address,
                          [](std::uint64_t value, const piece& each) { return value < each.from; });
}

std::uint64_t address_ranges::reached(std::uint64_t address) const {
  const auto end = past(address);
  return end == pieces_.begin() ? 0 : reached_[static_cast<std::size_t>(end - pieces_.begin()) - 1];
}

std::optional<std::size_t> address_ranges::at(std::uint64_t address) const {
  const piece* innermost = nullptr;
  for (auto each = past(address); each != pieces_.begin();) {
    --each;
    if (reached_[static_cast<std::size_t>(each - pieces_.begin())] <= address) break;  // no earlier one has it
    if (each->to > address && (innermost == nullptr || each->depth > innermost->depth)) innermost = &*each;
  }
  if (innermost == nullptr) return std::nullopt;
  return innermost->what;
}

}  // namespace tarn::analyse
