// Finds the compiled unit of a module at an address.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

#include "profiler/symbols/address_ranges.hpp"

namespace tarn::analyse {

// Uses the ranges in each unit itself, because libdw's own look-up needs a table (.debug_aranges) that Clang does not
// write.
class units {
 public:
  explicit units(Dwfl_Module* module);

  // A unit may be split (-gsplit-dwarf): then the module describes only its lines, and a separate file the rest. Both
  // entries are the same if the unit is not split or that file is missing.
  struct unit {
    Dwarf_Die lines, code;
  };
  // Returns null if no unit contains the address, which is one of the process.
  unit* find(std::uint64_t address);
  // Returns the number to subtract from an address of the process for libdw.
  std::uint64_t bias() const { return bias_; }

 private:
  Dwarf_Addr bias_ = 0;
  std::vector<unit> units_;
  address_ranges ranges_;
};

}  // namespace tarn::analyse
