// Finds the slab of a remotely freed block, and its number there.
#pragma once

#include "base/fault.hpp"
#include "memory/heap/lookup.hpp"

namespace tarn::heaps {

/// Finds the slabs of blocks. It is fastest when a block lies in the same unit as the one before.
class block_finder {
 public:
  [[gnu::always_inline]] freed_blocks find(void* block) noexcept {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(block);
    if (address >> detail::unit_shift != unit_) [[unlikely]] {
      unit_ = address >> detail::unit_shift;
      key_ = pages::page_map::key_of_block(block);
      if (key_ == 0 || class_in(key_) >= detail::class_count) [[unlikely]] {  // a second free let the slab go
        base::fault_double_free("free", block, find_block("free", block).bytes);
      }
      home_ = pages::page_map::slab_of_block(block);
      shape_ = &pages::shapes.classes[class_in(key_)];
      // A slab of one unit starts where the unit does. The description is not read, because its owner writes it.
      start_ = shape_->units == 1 ? unit_ << detail::unit_shift : reinterpret_cast<std::uintptr_t>(home_->start);
    }
    const std::uint64_t offset = address - start_;
    // The first block has a unit of its own, which sets `shape_`. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    const std::uint64_t number = (offset * shape_->inverse) >> 40;
    if (shape_->units != 1 && (number >= shape_->capacity || number * shape_->block_bytes != offset)) [[unlikely]] {
      static_cast<void>(find_block("free", block));  // reports the fault
    }
    return {home_, key_, number / 64, std::uint64_t{1} << (number % 64),
            static_cast<char*>(block) - number % 64 * shape_->block_bytes};
  }

 private:
  std::uintptr_t unit_ = 0;
  std::uintptr_t key_ = 0;
  pages::slab* home_ = nullptr;
  const pages::class_shape* shape_ = nullptr;
  std::uintptr_t start_ = 0;
};

}  // namespace tarn::heaps
