#include "memory/guard/quarantine.hpp"

namespace tarn::guard {

void quarantine::push(const freed_block& block) noexcept {
  const platform::locked hold(mutex_);
  slot(come_++) = block;
  held_bytes_ += block.held_bytes;
}

bool quarantine::pop(freed_block& oldest, bool takes_young) noexcept {
  const platform::locked hold(mutex_);
  while (come_ != left_ && (takes_young || come_ - left_ > max_blocks || held_bytes_ > max_bytes)) {
    oldest = slot(left_++);
    if (oldest.held_bytes != 0) {
      held_bytes_ -= oldest.held_bytes;
      return true;
    }
  }
  return false;
}

bool quarantine::recall(const void* block, freed_block& last) noexcept {
  const platform::locked hold(mutex_);
  const std::uint64_t remembered_count = come_ < remembered ? come_ : remembered;
  for (std::uint64_t distance = 1; distance <= remembered_count; ++distance) {
    if (slot(come_ - distance).record.block == block) {
      last = slot(come_ - distance);
      return true;
    }
  }
  return false;
}

}  // namespace tarn::guard
