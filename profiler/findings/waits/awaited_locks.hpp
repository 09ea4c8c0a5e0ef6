// Tells the locks that threads take from those that they wait for on purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// The locks whose purpose is to be waited for: condition variables, and semaphores that tell of an event. A semaphore
// is a lock where the thread that takes it mostly posts it, too, as in CPython. Semaphores that were first used at one
// site are of one kind. Where nobody has posted one that was taken, and threads wait for it, they wait for its holder.
class awaited_locks {
 public:
  explicit awaited_locks(const format::recording& recording);

  bool has(std::uint32_t lock) const { return is_awaited_[lock]; }

 private:
  std::vector<bool> is_awaited_;  // by index in `locks`
};

}  // namespace tarn::analyse
