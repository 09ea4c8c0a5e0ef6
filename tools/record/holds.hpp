// Keeps the locks that a thread holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/region.hpp"

namespace tarn::record {

struct hold {
  const void* address;
  format::lock_cell* cell;  // the counters of the acquisition
  std::uint64_t since;      // of the clock; 0 while the thread waits for a condition
  bool shared;              // held as one of several readers
};

// The held locks of one thread. Locks beyond the limit are not timed.
class holds {
 public:
  void push(const hold& made) noexcept {
    if (count_ < most) all_[count_++] = made;
  }
  // Returns the newest hold of the lock, as locks are mostly released in reverse order; null when there is none.
  hold* find(const void* address) noexcept {
    for (std::size_t at = count_; at-- > 0;) {
      if (all_[at].address == address) return &all_[at];
    }
    return nullptr;
  }
  std::size_t count() const noexcept { return count_; }
  const hold& operator[](std::size_t at) const noexcept { return all_[at]; }
  void remove(const hold* which) noexcept {
    --count_;
    for (auto at = static_cast<std::size_t>(which - all_); at < count_; ++at) all_[at] = all_[at + 1];
  }

 private:
  static constexpr std::size_t most = 32;
  hold all_[most];
  std::size_t count_ = 0;
};

}  // namespace tarn::record
