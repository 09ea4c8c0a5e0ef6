#include "analyse/units.hpp"

#include <optional>

namespace tarn::analyse {

units::units(Dwfl_Module* module) {
  Dwarf* const all = dwfl_module_getdwarf(module, &bias_);
  Dwarf_Die die, split;
  for (Dwarf_CU *last = nullptr, *next = nullptr;
       dwarf_get_units(all, last, &next, nullptr, nullptr, &die, &split) == 0; last = next) {
    Dwarf_Addr base = 0, from = 0, to = 0;
    for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &from, &to)) > 0;)
      ranges_.add(from, to, all_.size());
    all_.push_back({die, split.addr != nullptr ? split : die});
  }
  ranges_.close();
}

units::unit* units::at(std::uint64_t address) {
  const std::optional<std::size_t> found = ranges_.at(address - bias_);
  return found ? &all_[*found] : nullptr;
}

}  // namespace tarn::analyse
