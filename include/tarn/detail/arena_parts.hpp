// The data in an arena's memory beside the blocks: chunk headers, records of marks, and how to destroy an object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <tarn/detail/config.hpp>
#include <tarn/detail/fast_path.hpp>

namespace tarn {
class arena;
}

namespace tarn::detail {

inline constexpr std::size_t default_first_chunk = TARN_SMALL ? 256 : 4096;

/// Separates blocks under AddressSanitizer, so that an overrun is detected.
inline constexpr std::size_t arena_gap = TARN_ADDRESS_SANITIZER ? block_alignment : 0;

/// Returns the bytes that a block takes of its chunk: a multiple of 16, so that the next block is aligned without a
/// check. (Rounding the address instead would delay the computation of the next block's address: 13 % of the time of
/// a request.) Requires bytes <= PTRDIFF_MAX.
constexpr std::size_t arena_bytes_of(std::size_t bytes) noexcept {
  return ((bytes + (block_alignment - 1)) & ~(block_alignment - 1)) + arena_gap;
}

/// The position of an arena without memory: it has an address, but no room.
alignas(block_alignment) inline constinit std::byte arena_nothing[block_alignment] = {};

/// Header at the start of each chunk; the blocks follow.
struct alignas(block_alignment) arena_chunk {
  arena_chunk* older;  ///< in its list; in the spare chunks: the next sibling
  arena_chunk* child;  ///< only in the spare chunks: the first of those no larger than this
  std::size_t bytes;   ///< size of the chunk with this header; a multiple of 16

  char* begin() noexcept { return reinterpret_cast<char*>(this + 1); }
  char* end() noexcept { return reinterpret_cast<char*>(this) + bytes; }
};

/// A function to run before the memory after it can be used again. The object follows.
struct arena_finaliser {
  arena_finaliser* older;
  void (*run)(arena_finaliser*) noexcept;
};

/// A mark: the position of the arena when it was set. Rewinding frees the memory from the record's own address on.
struct arena_record {
  arena_record* older;
  std::uint64_t number;
  arena_chunk* current;
  arena_chunk* single_block_chunks;
  arena_finaliser* finalisers;
  std::uintptr_t base;
};
static_assert(sizeof(arena_record) == 48 && sizeof(arena_record) % block_alignment == 0);

/// An object after its finaliser, in one block.
template <class T>
struct arena_object {
  static constexpr std::size_t alignment = std::max(alignof(T), alignof(arena_finaliser));
  static constexpr std::size_t offset = std::max(sizeof(arena_finaliser), alignof(T));
  static constexpr std::size_t bytes = offset + sizeof(T);

  static void* object(void* block) noexcept { return static_cast<char*>(block) + offset; }
  static void finish(arena_finaliser* finaliser) noexcept { std::destroy_at(static_cast<T*>(object(finaliser))); }
};

/// An array after its finaliser; it is destroyed from the last element to the first.
template <class T>
struct arena_array : arena_finaliser {
  std::size_t count;

  static constexpr std::size_t alignment = std::max(alignof(T), alignof(arena_finaliser));
  static constexpr std::size_t offset =
      (sizeof(arena_finaliser) + sizeof(std::size_t) + alignof(T) - 1) / alignof(T) * alignof(T);

  static void finish(arena_finaliser* finaliser) noexcept {
    T* const first = reinterpret_cast<T*>(reinterpret_cast<char*>(finaliser) + offset);
    for (std::size_t left = static_cast<arena_array*>(finaliser)->count; left != 0; --left) {
      std::destroy_at(first + left - 1);
    }
  }
};

/// A base class before `arena`, so that the bytes exist when the arena is constructed.
template <std::size_t Bytes>
struct arena_bytes {
  arena_bytes() noexcept {}  // not zeroed
  alignas(block_alignment) std::byte bytes[Bytes];
};

/// Gives a block back unless it is kept, for example when a constructor throws.
template <class Arena>
class arena_rollback {
 public:
  arena_rollback(Arena& owner, void* block, std::size_t bytes) noexcept : owner_(owner), block_(block), bytes_(bytes) {}
  ~arena_rollback() {
    if (block_ != nullptr) owner_.deallocate(block_, bytes_);
  }
  arena_rollback(const arena_rollback&) = delete;
  arena_rollback& operator=(const arena_rollback&) = delete;
  void keep() noexcept { block_ = nullptr; }

 private:
  Arena& owner_;
  void* block_;
  std::size_t bytes_;
};

}  // namespace tarn::detail
