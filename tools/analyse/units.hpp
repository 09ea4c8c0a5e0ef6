// The compiled units of a module, found by an address.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

#include "analyse/address_ranges.hpp"

namespace tarn::analyse {

// By what each unit says of itself: libdw's own look-up goes by a table (.debug_aranges) that Clang does not write.
class units {
 public:
  explicit units(Dwfl_Module* module);

  // A unit may be split (-gsplit-dwarf): then its lines are described in the module, all else in a file of its own.
  // Both are the same where it is not, or where that file is not there.
  struct unit {
    Dwarf_Die lines, code;
  };
  // Null where none has the address, of the process.
  unit* at(std::uint64_t address);
  // What is to be taken off an address of the process for libdw.
  std::uint64_t bias() const { return bias_; }

 private:
  Dwarf_Addr bias_ = 0;
  std::vector<unit> all_;
  address_ranges ranges_;
};

}  // namespace tarn::analyse
