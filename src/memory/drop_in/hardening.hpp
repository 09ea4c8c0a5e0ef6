// Hardening: cheap checks of every block of the drop-in, for programs that run with them all the time (the option
// `harden`). docs/guide/guard.md says what is found; docs/design/hardening.md has the reasons and the figures.
//
// Every heap is closed, so that each call takes the slow path, which calls these functions. free checks the canary
// behind the block and the stated size, zeroes the block, and puts it into the quarantine of its thread's heap. Later
// the block is freed as usual. malloc hands a block out only if it is still zero.
//
// All functions may be called on any thread. `site` is the address that the program's call returns to.
#pragma once

#include <cstddef>

#include <tarn/detail/size_class.hpp>

namespace tarn::hardening {

/// These allocate a block. They return null and set errno without memory.
void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept;
void* allocate_zeroed(std::size_t count, std::size_t element_bytes, const void* site) noexcept;
/// Resizes a block that is not sampled; null is allowed. If it returns null, the block is untouched.
void* reallocate(void* block, std::size_t bytes, const void* site) noexcept;
/// Frees a block; null is allowed. `stated_bytes` is the size that the program states, or guard::no_stated_size.
void deallocate(void* block, std::size_t stated_bytes, const void* site) noexcept;
/// Does the same for a block of class `index` of the calling thread's heap.
void deallocate_own(void* block, std::size_t stated_bytes, const void* site, detail::size_class index) noexcept;
/// Returns the requested size of a small block.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

/// Reports a block that carries the mark of a free one.
[[noreturn]] void fault_freed_twice(const char* entry, const void* block) noexcept;

}  // namespace tarn::hardening
