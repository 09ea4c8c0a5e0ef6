// What set_aside.cpp shares with others: see there.
#pragma once

#include "platform/mutex.hpp"

namespace tarn::heaps {

/// Held around a fork. No other lock is taken under it.
platform::mutex& set_aside_lock() noexcept;

}  // namespace tarn::heaps
