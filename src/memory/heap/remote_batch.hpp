// The remote-free batch: blocks of other heaps that one thread has freed and not sent yet.
#pragma once

#include <cstddef>

#include "memory/heap/magazine.hpp"

namespace tarn::heaps {

/// Holds the blocks of all owners in one array, in the order of their frees. Blocks and bytes in it are bounded for
/// any number of owners. The array is allocated at the first block.
class remote_batch {
 public:
  /// A batch with blocks of this many bytes is full.
  static constexpr std::size_t bytes_limit = std::size_t{64} << 10;
  static constexpr std::size_t capacity = magazine_slots;

  /// Adds a block. False: there is no room; open() may help.
  bool add(void* block, std::size_t block_bytes) noexcept {
    if (next_ == end_) [[unlikely]] {
      return false;
    }
    *next_++ = block;
    bytes_ += block_bytes;
    if (bytes_ >= bytes_limit) [[unlikely]] {
      end_ = next_;
    }
    return true;
  }
  bool full() const noexcept { return next_ == end_; }
  bool empty() const noexcept { return next_ == begin(); }

  /// Takes an array from `stock` if the batch has none. False: no memory.
  bool open(magazine_stock& stock) noexcept {
    if (array_ == nullptr) {
      array_ = stock.take_any();
      clear();
    }
    return array_ != nullptr;
  }
  /// Gives the array of an empty batch back.
  void close(magazine_stock& stock) noexcept {
    if (array_ != nullptr) {
      stock.give(array_);
      array_ = nullptr;
      clear();
    }
  }

  void** begin() const noexcept { return array_ == nullptr ? nullptr : array_->slots; }
  void** end() const noexcept { return next_; }
  void clear() noexcept {
    next_ = begin();
    end_ = array_ == nullptr ? nullptr : array_->end();
    bytes_ = 0;
  }

 private:
  magazine* array_ = nullptr;
  void** next_ = nullptr;
  void** end_ = nullptr;  ///< the entries from here on stay unused
  std::size_t bytes_ = 0;
};

}  // namespace tarn::heaps
