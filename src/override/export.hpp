// What the files of the drop-in share.
#pragma once

#include <cstddef>

/// A name that the drop-in takes from the C or C++ library.
#define TARN_EXPORT __attribute__((visibility("default")))

namespace tarn::override {

/// malloc and free without the names. Null and errno when there is no memory.
void* allocate(std::size_t bytes) noexcept;
void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;
void deallocate(void* block) noexcept;

}  // namespace tarn::override
