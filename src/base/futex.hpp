// Tells from the operation of a futex(2) call whether the call waits.
#pragma once

#include <linux/futex.h>

namespace tarn::base {

/// Returns whether a futex call with this operation waits: for a mutex, a condition variable or an atomic.
constexpr bool is_futex_wait(long operation) noexcept {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI: return true;
    default: return false;
  }
}

}  // namespace tarn::base
