// Represents a set of units of one segment as bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tarn::pages {

inline constexpr std::size_t max_units = 1024;  ///< units in a segment

class unit_set {
 public:
  void insert(std::size_t first, std::size_t count) noexcept {
    each_word(first, count, [this](std::size_t word, std::uint64_t mask) { bits_[word] |= mask; });
  }
  void erase(std::size_t first, std::size_t count) noexcept {
    each_word(first, count, [this](std::size_t word, std::uint64_t mask) { bits_[word] &= ~mask; });
  }
  void clear() noexcept {
    for (std::uint64_t& word : bits_) word = 0;
  }

  bool contains_any(std::size_t first, std::size_t count) const noexcept {
    std::uint64_t present = 0;
    each_word(first, count, [&](std::size_t word, std::uint64_t mask) { present |= bits_[word] & mask; });
    return present != 0;
  }
  bool contains_all(std::size_t first, std::size_t count) const noexcept {
    std::uint64_t missing = 0;
    each_word(first, count, [&](std::size_t word, std::uint64_t mask) { missing |= ~bits_[word] & mask; });
    return missing == 0;
  }
  std::size_t count(std::size_t first, std::size_t units) const noexcept {
    std::size_t members = 0;
    each_word(first, units, [&](std::size_t word, std::uint64_t mask) {
      members += static_cast<std::size_t>(std::popcount(bits_[word] & mask));
    });
    return members;
  }
  std::size_t size() const noexcept {
    std::size_t count = 0;
    for (const std::uint64_t word : bits_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }

  /// Returns the first member at or after `first`; max_units if there is none.
  std::size_t next_member(std::size_t first) const noexcept { return next<0>(first); }
  /// Returns the first unit at or after `first` that is not a member; max_units if there is none.
  std::size_t next_gap(std::size_t first) const noexcept { return next<~std::uint64_t{0}>(first); }

  /// Returns the start of the run of members that ends at `unit`, which is a member.
  std::size_t run_start(std::size_t unit) const noexcept {
    std::size_t word = unit / 64;
    std::uint64_t gaps = ~bits_[word] & (~std::uint64_t{0} >> (63 - unit % 64));
    while (gaps == 0) {
      if (word == 0) return 0;
      gaps = ~bits_[--word];
    }
    return word * 64 + static_cast<std::size_t>(std::bit_width(gaps));
  }
  /// Returns the length of the longest run of members.
  std::size_t longest_run() const noexcept {
    std::size_t longest = 0;
    for (std::size_t unit = next_member(0); unit < max_units;) {
      const std::size_t gap = next_gap(unit);
      longest = gap - unit > longest ? gap - unit : longest;
      unit = next_member(gap);
    }
    return longest;
  }

  unit_set& operator|=(const unit_set& operand) noexcept {
    for (std::size_t word = 0; word < word_count; ++word) bits_[word] |= operand.bits_[word];
    return *this;
  }

 private:
  static constexpr std::size_t word_count = max_units / 64;

  template <std::uint64_t Flip>
  std::size_t next(std::size_t first) const noexcept {
    if (first >= max_units) return max_units;
    std::size_t word = first / 64;
    std::uint64_t bits = (bits_[word] ^ Flip) & (~std::uint64_t{0} << (first % 64));
    while (bits == 0) {
      if (++word == word_count) return max_units;
      bits = bits_[word] ^ Flip;
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }

  template <class Visit>
  static void each_word(std::size_t first, std::size_t count, Visit visit) noexcept {
    while (count != 0) {
      const std::size_t offset = first % 64;
      const std::size_t width = count < 64 - offset ? count : 64 - offset;
      visit(first / 64, (~std::uint64_t{0} >> (64 - width)) << offset);
      first += width;
      count -= width;
    }
  }

  std::uint64_t bits_[word_count] = {};
};

}  // namespace tarn::pages
