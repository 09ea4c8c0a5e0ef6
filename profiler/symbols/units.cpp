#include "profiler/symbols/units.hpp"

#include <optional>

namespace tarn::analyse {

units::units(Dwfl_Module* module) {
  Dwarf* const debug_info = dwfl_module_getdwarf(module, &bias_);
  Dwarf_Die die, split;
  for (Dwarf_CU *last = nullptr, *next = nullptr;
       dwarf_get_units(debug_info, last, &next, nullptr, nullptr, &die, &split) == 0; last = next) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (std::ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &begin, &end)) > 0;)
      ranges_.add(begin, end, units_.size());
    units_.push_back({die, split.addr != nullptr ? split : die});
  }
  ranges_.finish();
}

units::unit* units::find(std::uint64_t address) {
  const std::optional<std::size_t> index = ranges_.find(address - bias_);
  return index ? &units_[*index] : nullptr;
}

}  // namespace tarn::analyse
