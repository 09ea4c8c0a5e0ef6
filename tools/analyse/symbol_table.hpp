// The symbols of a module, found by an address.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

#include "analyse/address_ranges.hpp"

namespace tarn::analyse {

// Says what dwfl_module_addrname says, which goes through all symbols for each address: of a compiler with its 30,000
// that was four fifths of a report.
class symbol_table {
 public:
  // `module` must outlive it.
  explicit symbol_table(Dwfl_Module* module);

  // The name, not demangled, of what is at an address of the process: of the symbols that have it the one that begins
  // last, a local one only where there is no other; else the label before it, which has no size. Null where nothing is.
  const char* at(std::uint64_t address) const;

 private:
  struct label {
    std::uint64_t from;
    GElf_Word section;
    const char* name;
  };
  const char* label_before(std::uint64_t address) const;

  Dwfl_Module* module_;
  std::vector<const char*> names_;  // what the ranges refer to
  address_ranges globals_, locals_;
  std::vector<label> labels_;  // by `from`
};

}  // namespace tarn::analyse
