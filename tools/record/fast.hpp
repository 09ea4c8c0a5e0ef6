// malloc and its family for the calls that are not sampled (fast.cpp), and for all others (malloc.cpp).
#pragma once

#include <cstddef>

#include "record/events.hpp"

namespace tarn::record {

// As the program's functions of these names, jumped to from them: the program is the caller that they see.
[[gnu::noinline]] void* malloc_counted(std::size_t bytes, charged how) noexcept;
[[gnu::noinline]] void free_counted(void* block) noexcept;
[[gnu::noinline]] void* calloc_counted(std::size_t count, std::size_t each, charged how) noexcept;
[[gnu::noinline]] void* realloc_counted(void* block, std::size_t bytes, charged how) noexcept;
[[gnu::noinline]] int posix_memalign_counted(void** to_block, std::size_t alignment, std::size_t bytes,
                                             charged how) noexcept;
[[gnu::noinline]] void* aligned_alloc_counted(std::size_t alignment, std::size_t bytes, charged how) noexcept;
[[gnu::noinline]] void* memalign_counted(std::size_t alignment, std::size_t bytes, charged how) noexcept;

// Set by all that counts where it goes the long way: malloc, free, and the operators. Each thread's own, as another one
// may allocate while this one tries an operator out.
extern constinit thread_local bool was_called;  // NOLINT(bugprone-dynamic-static-initializers): constinit

}  // namespace tarn::record
