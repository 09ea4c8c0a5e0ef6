// Holds the cells of a recording, in the order of their keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarn::format {

// A map as far as cells need one. A recording may have a hundred thousand cells, and each snapshot and each analysis
// walks over all of them. In a std::map each step of such a walk misses the caches; here the cells lie side by side, in
// blocks of a page or so, and only an insertion into a full block moves more than one block.
//
// A new cell may move others: it ends the validity of iterators and references. Nobody may change a key.
template <class Key, class Counts>
class cell_table {
 public:
  using key_type = Key;
  using mapped_type = Counts;
  // No pair: the bytes of these can be moved without their constructors.
  struct value_type {
    Key first{};
    Counts second;
    bool operator==(const value_type&) const = default;
  };

 private:
  // Invariant: it has a cell, its cells ascend by key, and the first one has the key `first`.
  struct block {
    Key first{};
    std::vector<value_type> cells;
  };
  static constexpr std::size_t page_bytes = 4096, min_capacity = 8;
  static constexpr std::size_t capacity = std::max(page_bytes / sizeof(value_type), min_capacity);

  template <bool is_const>
  class basic_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = cell_table::value_type;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<is_const, const value_type&, value_type&>;
    using pointer = std::conditional_t<is_const, const value_type*, value_type*>;
    using block_pointer = std::conditional_t<is_const, const block*, block*>;

    basic_iterator() = default;
    basic_iterator(block_pointer in_block, std::size_t index) : block_(in_block), index_(index) {}
    basic_iterator(
        const basic_iterator<false>& changing)  // NOLINT(google-explicit-constructor): as for other containers
      requires is_const
        : block_(changing.block_), index_(changing.index_) {}
    reference operator*() const { return block_->cells[index_]; }
    pointer operator->() const { return &block_->cells[index_]; }
    basic_iterator& operator++() {
      if (++index_ == block_->cells.size()) ++block_, index_ = 0;
      return *this;
    }
    basic_iterator operator++(int) {
      basic_iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const basic_iterator&) const = default;

   private:
    friend class basic_iterator<true>;
    block_pointer block_ = nullptr;
    std::size_t index_ = 0;  // 0 behind the last block
  };

 public:
  using iterator = basic_iterator<false>;
  using const_iterator = basic_iterator<true>;

  cell_table() = default;
  ~cell_table() = default;
  cell_table(const cell_table&) = default;
  cell_table& operator=(const cell_table&) = default;
  cell_table(cell_table&& moved) noexcept
      : blocks_(std::exchange(moved.blocks_, {})), size_(std::exchange(moved.size_, 0)) {}
  cell_table& operator=(cell_table&& moved) noexcept {
    blocks_ = std::exchange(moved.blocks_, {});
    size_ = std::exchange(moved.size_, 0);
    return *this;
  }
  cell_table(std::initializer_list<value_type> cells) {
    for (const auto& [key, counts] : cells) emplace(key, counts);
  }

  iterator begin() { return {blocks_.data(), 0}; }
  iterator end() { return {blocks_.data() + blocks_.size(), 0}; }
  const_iterator begin() const { return {blocks_.data(), 0}; }
  const_iterator end() const { return {blocks_.data() + blocks_.size(), 0}; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  void clear() { blocks_.clear(), size_ = 0; }

  const_iterator find(const Key& key) const {
    const auto [number, index] = place_of(key);
    return has(number, index, key) ? const_iterator(blocks_.data() + number, index) : end();
  }
  bool contains(const Key& key) const { return find(key) != end(); }
  // Returns the counts of a cell that is there; throws std::out_of_range if it is not.
  const Counts& counts_of(const Key& key) const {
    const const_iterator match = find(key);
    if (match == end()) throw std::out_of_range("no such cell");
    return match->second;
  }

  // Returns the counts of the cell, which is a new one of zeroes if there was none.
  Counts& operator[](const Key& key) {
    const auto [number, index] = place_of(key);
    return has(number, index, key) ? blocks_[number].cells[index].second : insert(number, index, {key, Counts{}});
  }
  // Adds a cell unless there is one with that key.
  void emplace(const Key& key, const Counts& counts) {
    const auto [number, index] = place_of(key);
    if (!has(number, index, key)) insert(number, index, {key, counts});
  }
  void erase(const Key& key) {
    const auto [number, index] = place_of(key);
    if (!has(number, index, key)) return;
    std::vector<value_type>& cells = blocks_[number].cells;
    cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(index));
    --size_;
    if (cells.empty()) {
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(number));
    } else {
      blocks_[number].first = cells.front().first;
    }
  }
  template <class Predicate>
  friend void erase_if(cell_table& table, Predicate predicate) {
    cell_table remaining;
    for (const value_type& cell : table) {
      if (!predicate(cell)) remaining.emplace(cell.first, cell.second);
    }
    table = std::move(remaining);
  }

  // Returns whether the invariants hold. Takes as long as a walk over all cells.
  bool is_valid() const {
    const auto is_ordered = [](const value_type& a, const value_type& b) { return a.first < b.first; };
    std::size_t count = 0;
    for (const block& part : blocks_) {
      if (part.cells.empty() || part.cells.size() > capacity || part.cells.front().first != part.first) return false;
      count += part.cells.size();
    }
    return count == size_ && std::adjacent_find(begin(), end(), std::not_fn(is_ordered)) == end();
  }

  friend bool operator==(const cell_table& a, const cell_table& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  // Returns the number of the block and the index in it where the key is or belongs.
  std::pair<std::size_t, std::size_t> place_of(const Key& key) const {
    if (size_ == 0) return {0, 0};
    if (const std::vector<value_type>& last = blocks_.back().cells; last.back().first < key)
      return {blocks_.size() - 1, last.size()};
    const auto behind = std::upper_bound(blocks_.begin(), blocks_.end(), key,
                                         [](const Key& left, const block& right) { return left < right.first; });
    if (behind == blocks_.begin()) return {0, 0};
    const std::vector<value_type>& cells = std::prev(behind)->cells;
    const auto position =
        cells.back().first < key
            ? cells.end()
            : std::lower_bound(cells.begin(), cells.end(), key,
                               [](const value_type& left, const Key& right) { return left.first < right; });
    return {static_cast<std::size_t>(behind - blocks_.begin()) - 1, static_cast<std::size_t>(position - cells.begin())};
  }

  bool has(std::size_t number, std::size_t index, const Key& key) const {
    return number < blocks_.size() && index < blocks_[number].cells.size() && blocks_[number].cells[index].first == key;
  }

  Counts& insert(std::size_t number, std::size_t index, value_type cell) {
    ++size_;
    if (blocks_.empty()) blocks_.emplace_back();
    if (blocks_[number].cells.size() == capacity) {
      // Cells that come in the order of their keys fill each block.
      const bool is_last = index == capacity && number + 1 == blocks_.size();
      const std::size_t kept_cells = is_last ? capacity : capacity / 2;
      block upper;
      upper.cells.reserve(capacity);
      std::vector<value_type>& lower = blocks_[number].cells;
      const auto middle = lower.begin() + static_cast<std::ptrdiff_t>(kept_cells);
      upper.cells.assign(middle, lower.end());
      lower.erase(middle, lower.end());
      if (!upper.cells.empty()) upper.first = upper.cells.front().first;
      blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(upper));
      if (index > kept_cells || is_last) ++number, index -= kept_cells;
    }
    block& target = blocks_[number];
    const auto position = target.cells.insert(target.cells.begin() + static_cast<std::ptrdiff_t>(index), cell);
    if (index == 0) target.first = cell.first;
    return position->second;
  }

  std::vector<block> blocks_;  // ascending
  std::size_t size_ = 0;       // of all blocks together
};

}  // namespace tarn::format
