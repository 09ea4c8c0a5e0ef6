// Finds the counters of one kind that one thread writes into the region, by a key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {

template <class Cell>
class cell_table {
 public:
  // Returns the counters for `key`, or null when there is no memory for new ones. `first` is the head of the list of
  // chunks. `make` fills a new cell before a reader can see it.
  template <class Make>
  Cell* find_or_add(std::uint64_t key, std::atomic<format::offset>& first, Make make) noexcept {
    if (Cell* const match = find(key)) [[likely]]
      return match;
    return add(key, first, make);
  }
  Cell* find(std::uint64_t key) const noexcept {
    if (slots_ == 0) [[unlikely]]
      return nullptr;
    for (std::size_t index = start_of(key);; ++index) {
      const slot& slot_of_key = index_[index & (slots_ - 1)];
      if (slot_of_key.cell == nullptr) return nullptr;
      if (slot_of_key.key == key) [[likely]]
        return slot_of_key.cell;
    }
  }
  std::size_t size() const noexcept { return used_slots_; }

  // Begins a table of another thread, which keeps the memory of the index.
  void begin_anew() noexcept {
    for (std::size_t index = 0; used_slots_ != 0 && index < slots_; ++index) index_[index] = {};
    used_slots_ = 0;
    chunk_ = nullptr;
  }

 private:
  struct slot {
    std::uint64_t key;
    Cell* cell;
  };

  static std::size_t start_of(std::uint64_t key) noexcept { return key * 0x9e3779b97f4a7c15ULL >> 32; }

  template <class Make>
  [[gnu::noinline]] Cell* add(std::uint64_t key, std::atomic<format::offset>& first, Make make) noexcept {
    constexpr std::uint32_t first_cells = 2, max_cells = 1024;  // cells in a chunk
    if (used_slots_ * 2 >= slots_ && !grow()) return nullptr;
    if (chunk_ == nullptr || chunk_->used_cells.load(std::memory_order_relaxed) == chunk_->capacity) {
      const std::uint32_t cell_count = chunk_ == nullptr              ? first_cells
                                       : chunk_->capacity < max_cells ? chunk_->capacity * 2
                                                                      : max_cells;
      const format::offset new_offset = hand_out(sizeof(format::chunk) + cell_count * sizeof(Cell));
      if (new_offset == 0) return nullptr;
      auto* const new_chunk = preload::record_at<format::chunk>(new_offset);
      new_chunk->capacity = cell_count;
      // Release: a reader that finds the chunk also finds its capacity.
      (chunk_ == nullptr ? first : chunk_->next).store(new_offset, std::memory_order_release);
      chunk_ = new_chunk;
    }
    const std::uint32_t number = chunk_->used_cells.load(std::memory_order_relaxed);
    Cell* const new_cell = reinterpret_cast<Cell*>(chunk_ + 1) + number;
    make(*new_cell);
    chunk_->used_cells.store(number + 1,
                             std::memory_order_release);  // release: a reader that counts the cell finds its key
    std::size_t index = start_of(key);
    while (index_[index & (slots_ - 1)].cell != nullptr) ++index;
    index_[index & (slots_ - 1)] = {key, new_cell};
    ++used_slots_;
    return new_cell;
  }

  bool grow() noexcept {
    const std::size_t slot_count = slots_ == 0 ? 32 : slots_ * 2;
    auto* const new_index = static_cast<slot*>(take(slot_count * sizeof(slot)));
    if (new_index == nullptr) return false;
    for (std::size_t old = 0; old < slots_; ++old) {
      if (index_[old].cell == nullptr) continue;
      std::size_t index = start_of(index_[old].key);
      while (new_index[index & (slot_count - 1)].cell != nullptr) ++index;
      new_index[index & (slot_count - 1)] = index_[old];
    }
    index_ = new_index;
    slots_ = slot_count;
    return true;
  }

  slot* index_ = nullptr;  // open addressing; `cell` is null in a free slot
  std::size_t slots_ = 0, used_slots_ = 0;
  format::chunk* chunk_ = nullptr;  // the newest chunk
};

}  // namespace tarn::preload
