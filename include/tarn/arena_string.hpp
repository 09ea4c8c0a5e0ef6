// Text that grows at the end of an arena: a reply by appends, without copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <tarn/arena.hpp>

namespace tarn {

/// tarn::arena_string page(request);
/// page += "<html>";
/// std::format_to(std::back_inserter(page), "{}", 7);
/// send(page.finish());
///
/// The text grows in place while it is the arena's newest block and its chunk has room. Otherwise it is copied into a
/// new block of twice the size. (A std::pmr::string is copied each time it grows, and leaves all its former buffers in
/// the arena.) The text lives until the arena is rewound past it, not only as long as this object: a view may be kept.
/// Threads: the one that uses the arena. Errors: functions that add text or reserve room throw like arena::allocate,
/// and then leave the text unchanged. Cost: inline; amortised one copy of each byte.
class arena_string {
 public:
  using value_type = char;

  /// Takes no memory until text is added. The arena must outlive the text.
  explicit arena_string(arena& owner) noexcept : owner_(&owner) {}
  arena_string(arena& owner, std::string_view text) : owner_(&owner) { append(text); }
  arena_string(arena_string&& source) noexcept
      : owner_(source.owner_),
        data_(std::exchange(source.data_, nullptr)),
        size_(std::exchange(source.size_, 0)),
        capacity_(std::exchange(source.capacity_, 0)) {}
  arena_string(const arena_string&) = delete;
  arena_string& operator=(const arena_string&) = delete;
  arena_string& operator=(arena_string&&) = delete;

  /// Appends text, which must not be part of this string, or a character `count` times.
  arena_string& append(std::string_view text) {
    if (text.size() > capacity_ - size_) [[unlikely]] {
      grow(text.size());
    }
    if (!text.empty()) std::memcpy(data_ + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  arena_string& append(std::size_t count, char character) {
    if (count > capacity_ - size_) [[unlikely]] {
      grow(count);
    }
    if (count != 0) std::memset(data_ + size_, character, count);
    size_ += count;
    return *this;
  }
  /// Appends one character.
  void push_back(char character) {
    if (size_ == capacity_) [[unlikely]] {
      grow(1);
    }
    data_[size_++] = character;
  }
  arena_string& operator+=(std::string_view text) { return append(text); }
  arena_string& operator+=(char character) {
    push_back(character);
    return *this;
  }

  /// Makes room for `bytes` bytes in total. Throws like arena::allocate.
  void reserve(std::size_t bytes) {
    if (bytes > capacity_) grow(bytes - size_);
  }
  /// Makes the text empty, and keeps its room.
  void clear() noexcept { size_ = 0; }

  char* data() noexcept { return data_; }
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  /// Returns the bytes that the text may have without growing.
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  /// Returns the text as a view that is valid until the text grows or the arena is rewound past it.
  std::string_view view() const noexcept { return {data_, size_}; }
  operator std::string_view() const noexcept { return view(); }

  /// Returns the text with a zero byte behind it, which size() does not count. It may grow the text's room for that.
  const char* c_str() {
    push_back('\0');
    --size_;
    return data_;
  }
  /// Returns the text, and gives the unused room behind it back to the arena if the text is still the newest block.
  std::string_view finish() noexcept {
    if (data_ != nullptr && owner_->extend(data_, capacity_, size_)) capacity_ = size_;
    return view();
  }

 private:
  static constexpr std::size_t min_capacity = 64;

  /// Makes room for `extra` bytes.
  [[gnu::noinline]] void grow(std::size_t extra) {
    if (extra > std::numeric_limits<std::ptrdiff_t>::max() - size_) detail::throw_bad_alloc();
    const std::size_t needed = size_ + extra;
    const std::size_t new_capacity = std::max({needed, 2 * capacity_, min_capacity});
    if (data_ != nullptr) {
      capacity_ = owner_->extend(data_, capacity_, needed, new_capacity);
      if (capacity_ >= needed) return;
    }
    std::size_t now = new_capacity;
    void* memory = owner_->bump(new_capacity, 1,
                                [this, new_capacity] { return owner_->try_allocate_slow(new_capacity, 1, true); });
    if (memory == nullptr) {  // fewer bytes may still be available
      memory = owner_->allocate_slow(needed, 1, true);
      now = needed;
    }
    if (data_ != nullptr) {
      std::memcpy(memory, data_, size_);
      owner_->deallocate(data_, capacity_);
    }
    data_ = static_cast<char*>(memory);
    capacity_ = now;
  }

  arena* owner_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tarn
