// Finds the functions of a compiled unit at an address, including inlined ones.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

#include "profiler/symbols/address_ranges.hpp"

namespace tarn::analyse {

// Walks the unit only once, while libdw's own look-up walks the whole unit for each address.
class scopes {
 public:
  explicit scopes(Dwarf_Die unit);

  // Returns the innermost inlined function at `address` first, and the function that is not inlined last. Empty if
  // there is none.
  std::vector<Dwarf_Die> find(std::uint64_t address) const;

 private:
  struct scope {
    Dwarf_Die die;
    std::size_t outer;  // index in scopes_; `no_scope` for a function that is not inlined
  };
  static constexpr std::size_t no_scope = ~std::size_t{0};

  void add_children(Dwarf_Die& die, std::size_t outer, int depth);
  void add(Dwarf_Die& die, std::size_t outer, int depth);

  std::vector<scope> scopes_;
  address_ranges code_;  // the code ranges of each scope
};

}  // namespace tarn::analyse
