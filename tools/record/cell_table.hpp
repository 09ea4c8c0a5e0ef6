// Finds the counters of one kind that one thread writes into the region, by a key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/region.hpp"
#include "record/memory.hpp"
#include "record/region.hpp"

namespace tarn::record {

template <class Cell>
class cell_table {
 public:
  // Returns the counters for `key`, or null when there is no memory for new ones. `first` is the head of the list of
  // chunks. `make` fills a new cell before a reader can see it.
  template <class Make>
  Cell* find_or_add(std::uint64_t key, std::atomic<format::offset>& first, Make make) noexcept {
    if (Cell* const found = find(key)) [[likely]]
      return found;
    return add(key, first, make);
  }
  Cell* find(std::uint64_t key) const noexcept {
    if (places_ == 0) [[unlikely]]
      return nullptr;
    for (std::size_t to = start_of(key);; ++to) {
      const place& each = index_[to & (places_ - 1)];
      if (each.at == nullptr) return nullptr;
      if (each.key == key) [[likely]]
        return each.at;
    }
  }
  std::size_t size() const noexcept { return used_; }

 private:
  struct place {
    std::uint64_t key;
    Cell* at;
  };

  static std::size_t start_of(std::uint64_t key) noexcept { return key * 0x9e3779b97f4a7c15ULL >> 32; }

  template <class Make>
  [[gnu::noinline]] Cell* add(std::uint64_t key, std::atomic<format::offset>& first, Make make) noexcept {
    constexpr std::uint32_t first_cells = 8, most_cells = 1024;  // cells in a chunk
    if (used_ * 2 >= places_ && !grow()) return nullptr;
    if (chunk_ == nullptr || chunk_->used.load(std::memory_order_relaxed) == chunk_->capacity) {
      const std::uint32_t wanted = chunk_ == nullptr               ? first_cells
                                   : chunk_->capacity < most_cells ? chunk_->capacity * 2
                                                                   : most_cells;
      const format::offset made_at = hand_out(sizeof(format::chunk) + wanted * sizeof(Cell));
      if (made_at == 0) return nullptr;
      auto* const made = record::at<format::chunk>(made_at);
      made->capacity = wanted;
      // Release: a reader that finds the chunk also finds its capacity.
      (chunk_ == nullptr ? first : chunk_->next).store(made_at, std::memory_order_release);
      chunk_ = made;
    }
    const std::uint32_t number = chunk_->used.load(std::memory_order_relaxed);
    Cell* const made = reinterpret_cast<Cell*>(chunk_ + 1) + number;
    make(*made);
    chunk_->used.store(number + 1, std::memory_order_release);  // release: a reader that counts the cell finds its key
    std::size_t to = start_of(key);
    while (index_[to & (places_ - 1)].at != nullptr) ++to;
    index_[to & (places_ - 1)] = {key, made};
    ++used_;
    return made;
  }

  bool grow() noexcept {
    const std::size_t wanted = places_ == 0 ? 32 : places_ * 2;
    auto* const made = static_cast<place*>(take(wanted * sizeof(place)));
    if (made == nullptr) return false;
    for (std::size_t old = 0; old < places_; ++old) {
      if (index_[old].at == nullptr) continue;
      std::size_t to = start_of(index_[old].key);
      while (made[to & (wanted - 1)].at != nullptr) ++to;
      made[to & (wanted - 1)] = index_[old];
    }
    index_ = made;
    places_ = wanted;
    return true;
  }

  place* index_ = nullptr;  // open addressing; `at` is null in a free slot
  std::size_t places_ = 0, used_ = 0;
  format::chunk* chunk_ = nullptr;  // the newest chunk
};

}  // namespace tarn::record
