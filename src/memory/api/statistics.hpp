// Gathers the statistics of the process from all heaps, and prints them.
#pragma once

#include <tarn/statistics.hpp>

#include "memory/heap/heap.hpp"

namespace tarn::api {

/// Returns the present statistics. Any thread may call it.
process_statistics process_now() noexcept;

/// Prints them where and how the options say; as text on standard error if `stats` is off. Does not allocate.
void print_now() noexcept;

}  // namespace tarn::api
