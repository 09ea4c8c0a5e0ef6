// Which functions a compiled unit has at an address, the inlined ones with it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

#include "analyse/address_ranges.hpp"

namespace tarn::analyse {

// Of one unit. libdw's own look-up walks the whole unit for each address; this one does so once.
class scopes {
 public:
  explicit scopes(Dwarf_Die unit);

  // The innermost inlined function at `address` first, last the one that is not inlined. Empty where there is none.
  std::vector<Dwarf_Die> at(std::uint64_t address) const;

 private:
  struct scope {
    Dwarf_Die die;
    std::size_t outer;  // in scopes_; `none` for a function that is not inlined
  };
  static constexpr std::size_t none = ~std::size_t{0};

  void add_children(Dwarf_Die& of, std::size_t outer, int depth);
  void add(Dwarf_Die& one, std::size_t outer, int depth);

  std::vector<scope> scopes_;
  address_ranges code_;  // of each scope
};

}  // namespace tarn::analyse
