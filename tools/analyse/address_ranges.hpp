// Which of some ranges of addresses, that may lie in each other, an address is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tarn::analyse {

class address_ranges {
 public:
  // From `from` to before `to`: `what`. Of ranges that both have an address the deeper one has it; of equally deep ones
  // the one that begins last, and of those the one that was added last.
  void add(std::uint64_t from, std::uint64_t to, std::size_t what, int depth = 0) {
    pieces_.push_back({from, to, what, depth});
  }
  // After the last add(), before the first at().
  void close();
  std::optional<std::size_t> at(std::uint64_t address) const;
  // The furthest `to` of those that begin at or before an address; 0 where none does.
  std::uint64_t reached(std::uint64_t address) const;

 private:
  struct piece {
    std::uint64_t from, to;
    std::size_t what;
    int depth;
  };
  // Past the last that begins at or before it.
  std::vector<piece>::const_iterator past(std::uint64_t address) const;

  std::vector<piece> pieces_;           // by `from`
  std::vector<std::uint64_t> reached_;  // the largest `to` of all pieces up to each
};

}  // namespace tarn::analyse
