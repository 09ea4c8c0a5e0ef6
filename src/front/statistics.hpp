// The figures of the process, gathered from all heaps, and their printing.
#pragma once

#include <tarn/statistics.hpp>

#include "heap/heap.hpp"

namespace tarn::front {

/// Any thread.
process_statistics process_now() noexcept;

/// Prints them where and as the options say; text on standard error if `stats` is
/// off. Does not allocate.
void print_now() noexcept;

}  // namespace tarn::front
