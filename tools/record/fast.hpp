// malloc, free and calloc for the calls that are not sampled (fast.cpp), and for all others (malloc.cpp).
#pragma once

#include <cstddef>

#include "record/events.hpp"

namespace tarn::record {

// As the program's functions of these names, jumped to from them: the program is the caller that they see.
[[gnu::noinline]] void* malloc_counted(std::size_t bytes) noexcept;
[[gnu::noinline]] void free_counted(void* block) noexcept;
[[gnu::noinline]] void* calloc_counted(std::size_t count, std::size_t each, charged how) noexcept;

}  // namespace tarn::record
