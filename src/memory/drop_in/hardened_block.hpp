// The layout of a block of a hardened heap (memory/drop_in/hardening.hpp).
//
//   in use   the program's bytes | canary, 8 bytes | slack | tail, 8 bytes
//   free     0 | mark | zero, up to max_zeroed_bytes | tail, 8 bytes
//
// The tail has the size that the program asked for, and the canary. When the block is freed, a bit of it changes, so
// that a second free is seen even if the mark is overwritten or its page has gone back to the system. Where the slack
// has no room for the whole canary, the tail follows its first bytes, or the program's bytes at once.
//
// Memory of a hardened heap that was never handed out is zero, and so are pages that went back to the system. So a free
// block may have zeroes instead of its mark and its tail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/heap/free_mark.hpp"
#include "memory/pages/slab.hpp"

namespace tarn::hardening {

inline constexpr std::size_t tail_bytes = 8;
/// Each block has room for the mark and the tail, which must not overlap.
inline constexpr std::size_t min_block_bytes = 32;
inline constexpr std::size_t max_zeroed_bytes = heaps::max_zeroed_bytes;

/// A number of this process, drawn before its first block.
extern constinit std::uint64_t canary_key;

/// Returns the canary of a block. No byte of it is zero or ASCII, so that the end of a string shows.
[[gnu::always_inline]] inline std::uint64_t canary_of(const void* block) noexcept {
  return ((reinterpret_cast<std::uintptr_t>(block) ^ canary_key) * 0x9e3779b97f4a7c15) | 0x8080808080808080;
}

/// A block of a size class, in use or free.
class hardened_block {
 public:
  hardened_block(void* start, detail::size_class index) noexcept
      : start_(static_cast<char*>(start)), bytes_(pages::shapes.classes[index].block_bytes) {}

  std::size_t block_bytes() const noexcept { return bytes_; }
  /// Returns the most bytes that the program can have in the block.
  std::size_t room() const noexcept { return bytes_ - tail_bytes; }

  /// Writes canary and tail for `requested` bytes.
  [[gnu::always_inline]] void close(std::size_t requested) const noexcept {
    const std::uint64_t canary = canary_of(start_);
    put(requested, canary);
    put(room(), canary ^ std::uint64_t{requested} << size_shift);
  }

  static constexpr std::size_t unknown = ~std::size_t{0};
  /// Returns the requested size of a block in use; unknown: the tail is damaged, or the block is free.
  [[gnu::always_inline]] std::size_t requested_bytes() const noexcept {
    return size_in(get(room()) ^ canary_of(start_));
  }
  /// Returns whether the tail is that of a free block.
  bool has_free_tail() const noexcept { return size_in(get(room()) ^ canary_of(start_) ^ free_bit) != unknown; }
  /// Returns the requested size of a block in use or free; unknown: the tail is damaged.
  std::size_t last_requested() const noexcept {
    const std::uint64_t decoded = get(room()) ^ canary_of(start_);
    return size_in(decoded & ~free_bit);
  }
  /// Returns whether the canary behind the program's bytes has changed.
  [[gnu::always_inline]] bool is_overrun(std::size_t requested) const noexcept {
    const std::size_t gap = room() - requested;
    const std::uint64_t changed = get(requested) ^ canary_of(start_);
    if (gap >= sizeof changed) [[likely]] {
      return changed != 0;
    }
    return gap != 0 && changed << (64 - 8 * gap) != 0;
  }

  /// Zeroes the block, except for its mark, and makes the tail that of a free block. Requires that `requested` is the
  /// requested size.
  [[gnu::always_inline]] void wipe(std::size_t requested) const noexcept {
    const char* const end = start_ + zeroed_end();
    put(0, 0);
    char* position = start_ + 2 * sizeof(std::uint64_t);
    for (; position + 4 * sizeof(chunk) <= end; position += 4 * sizeof(chunk)) {
      clear(position);
      clear(position + 16);
      clear(position + 32);
      clear(position + 48);
      asm("" : "+r"(position));  // so that the compiler does not call memset, for which it would save registers
    }
    for (; position + sizeof(chunk) <= end; position += sizeof(chunk)) {
      clear(position);
      asm("" : "+r"(position));
    }
    if (bytes_ <= max_zeroed_bytes) put(room() - sizeof(std::uint64_t), 0);
    put(room(), canary_of(start_) ^ std::uint64_t{requested} << size_shift ^ free_bit);
  }

  /// Returns true if the block has not changed since wipe().
  [[gnu::always_inline]] bool is_wiped() const noexcept {
    const std::uint64_t mark = get(sizeof mark);
    const std::uint64_t tail = get(room());
    const std::uint64_t canary = canary_of(start_);
    const char* const end = start_ + zeroed_end();
    const char* position = start_ + 2 * sizeof mark;
    std::uint64_t changed = get(0) | (bytes_ <= max_zeroed_bytes ? get(room() - sizeof mark) : 0);
    chunk sum{};
    for (; position + 4 * sizeof(chunk) <= end; position += 4 * sizeof(chunk)) {
      sum |= (chunk_at(position) | chunk_at(position + 16)) | (chunk_at(position + 32) | chunk_at(position + 48));
    }
    for (; position + sizeof(chunk) <= end; position += sizeof(chunk)) sum |= chunk_at(position);
    changed |= static_cast<std::uint64_t>(sum[0] | sum[1]);
    return changed == 0 && (mark == 0 || heaps::is_marked(start_)) &&
           (tail == 0 || (tail ^ canary ^ free_bit) << (64 - size_shift) == 0);
  }
  /// Returns the offset of the first byte that has changed since wipe(). Requires !is_wiped().
  std::size_t first_changed() const noexcept;

 private:
  using chunk = long long __attribute__((vector_size(16), may_alias));
  static_assert(sizeof(chunk) == 16);
  static constexpr unsigned size_shift = 40;
  static constexpr std::uint64_t free_bit = 1;  // in the tail of a free block
  static_assert(detail::largest_class_size < std::size_t{1} << (64 - size_shift));

  std::size_t size_in(std::uint64_t decoded) const noexcept {
    const std::size_t size = decoded >> size_shift;
    return decoded << (64 - size_shift) != 0 || size > room() ? unknown : size;
  }
  static void clear(char* address) noexcept { *reinterpret_cast<chunk*>(address) = chunk{}; }
  static chunk chunk_at(const char* address) noexcept { return *reinterpret_cast<const chunk*>(address); }
  std::size_t zeroed_end() const noexcept { return bytes_ <= max_zeroed_bytes ? room() : max_zeroed_bytes; }
  std::uint64_t get(std::size_t offset) const noexcept {
    std::uint64_t word;
    std::memcpy(&word, start_ + offset, sizeof word);
    return word;
  }
  void put(std::size_t offset, std::uint64_t word) const noexcept { std::memcpy(start_ + offset, &word, sizeof word); }

  char* start_;
  std::size_t bytes_;
};

}  // namespace tarn::hardening
