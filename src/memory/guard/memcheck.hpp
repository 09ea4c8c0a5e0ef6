// Tells Valgrind's memcheck about guarded blocks, so that it reports every read and write of a freed block of a pool,
// and behind a block. Without Valgrind each call is a few instructions that do nothing.
#pragma once

#include <cstddef>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else  // built without Valgrind's headers
#define VALGRIND_MALLOCLIKE_BLOCK(block, bytes, fence, zeroed) static_cast<void>(0)
#define VALGRIND_FREELIKE_BLOCK(block, fence) static_cast<void>(0)
#define VALGRIND_MAKE_MEM_NOACCESS(start, bytes) static_cast<void>(0)
#define VALGRIND_MAKE_MEM_DEFINED(start, bytes) static_cast<void>(0)
#endif

namespace tarn::guard::memcheck {

/// The program gets [block, block + bytes), and must not touch the bytes that follow up to `end`.
inline void handed_out([[maybe_unused]] char* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] char* end,
                       [[maybe_unused]] bool is_zeroed) noexcept {
  VALGRIND_MALLOCLIKE_BLOCK(block, bytes, 0, is_zeroed);
  VALGRIND_MAKE_MEM_NOACCESS(block + bytes, static_cast<std::size_t>(end - block) - bytes);
}
/// The program frees the block.
inline void freed([[maybe_unused]] char* block) noexcept { VALGRIND_FREELIKE_BLOCK(block, 0); }
/// The guard is about to read [begin, end) itself.
inline void look_at([[maybe_unused]] char* begin, [[maybe_unused]] char* end) noexcept {
  VALGRIND_MAKE_MEM_DEFINED(begin, static_cast<std::size_t>(end - begin));
}

}  // namespace tarn::guard::memcheck
