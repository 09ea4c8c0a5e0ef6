// Finds the symbol of a module at an address.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

#include "profiler/symbols/address_ranges.hpp"

namespace tarn::analyse {

// Gives the same answers as dwfl_module_addrname, which searches all symbols for each address: for a compiler with
// its 30,000 symbols that took four fifths of the time of a report.
class symbol_table {
 public:
  // `module` must outlive it.
  explicit symbol_table(Dwfl_Module* module);

  // Returns the mangled name at an address of the process. Of the symbols that contain the address it is the one that
  // begins last, and a local symbol only if there is no other; else the label before it, which has no size. Returns
  // null if there is none.
  const char* name_at(std::uint64_t address) const;

  // Returns the mangled names of all symbols that have a size.
  const std::vector<const char*>& names() const { return names_; }

 private:
  struct label {
    std::uint64_t address;
    GElf_Word section;
    const char* name;
  };
  const char* label_before(std::uint64_t address) const;

  Dwfl_Module* module_;
  std::vector<const char*> names_;  // the names that the ranges refer to
  address_ranges globals_, locals_;
  std::vector<label> labels_;  // sorted by `address`
};

}  // namespace tarn::analyse
