// Finds the range that contains an address; ranges may be nested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tarn::analyse {

class address_ranges {
 public:
  // Adds the range [begin, end) with the index `index` in a list of the caller. If several ranges contain an address,
  // find() returns the deepest one; of equally deep ones the one that begins last, and of those the one that was added
  // last.
  void add(std::uint64_t begin, std::uint64_t end, std::size_t index, int depth = 0) {
    pieces_.push_back({begin, end, index, depth});
  }
  // Sorts the ranges; call it after the last add() and before the first find().
  void finish();
  std::optional<std::size_t> find(std::uint64_t address) const;
  // Returns the largest `end` of the ranges that begin at or before the address; 0 if there are none.
  std::uint64_t furthest_end(std::uint64_t address) const;

 private:
  struct piece {
    std::uint64_t begin, end;
    std::size_t index;
    int depth;
  };
  // Returns the position after the last range that begins at or before the address.
  std::vector<piece>::const_iterator after_last_start(std::uint64_t address) const;

  std::vector<piece> pieces_;                 // sorted by `begin`
  std::vector<std::uint64_t> furthest_ends_;  // for each piece the largest `end` so far
};

}  // namespace tarn::analyse
