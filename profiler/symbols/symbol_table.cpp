#include "profiler/symbols/symbol_table.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

namespace tarn::analyse {
namespace {

struct symbol {
  std::uint64_t begin, end;
  bool is_weak;
  int number;
  const char* name;
  bool is_local;
  // The lookup finds the last of the symbols that begin together: the smallest, a strong one, the first in the file.
  bool operator<(const symbol& second) const {
    return std::tuple(begin, second.end, second.is_weak, second.number) <
           std::tuple(second.begin, end, is_weak, number);
  }
};

bool names_a_location(const GElf_Sym& symbol, const char* name) {
  if (name == nullptr || *name == '\0' || symbol.st_shndx == SHN_UNDEF) return false;
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

}  // namespace

symbol_table::symbol_table(Dwfl_Module* module) : module_(module) {
  std::vector<symbol> sized;
  const int count = dwfl_module_getsymtab(module);
  for (int index = 1; index < count; ++index) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* const name = dwfl_module_getsym_info(module, index, &symbol, &address, &section, nullptr, nullptr);
    if (!names_a_location(symbol, name)) continue;
    if (symbol.st_size == 0) {
      labels_.push_back({address, section, name});
      continue;
    }
    const auto binding = GELF_ST_BIND(symbol.st_info);
    sized.push_back({address, address + symbol.st_size, binding == STB_WEAK, index, name, binding == STB_LOCAL});
  }
  std::sort(sized.begin(), sized.end());
  for (const symbol& symbol : sized) {
    (symbol.is_local ? locals_ : globals_).add(symbol.begin, symbol.end, names_.size());
    names_.push_back(symbol.name);
  }
  globals_.finish();
  locals_.finish();
  std::stable_sort(labels_.begin(), labels_.end(),
                   [](const label& a, const label& b) { return a.address < b.address; });
}

const char* symbol_table::name_at(std::uint64_t address) const {
  std::optional<std::size_t> match = globals_.find(address);
  if (!match) match = locals_.find(address);
  return match ? names_[*match] : label_before(address);
}

// A label does not reach past the end of a symbol with a size or into another section: padding and tables between
// functions have no name.
const char* symbol_table::label_before(std::uint64_t address) const {
  const auto next =
      std::upper_bound(labels_.begin(), labels_.end(), address,
                       [](std::uint64_t value, const label& candidate) { return value < candidate.address; });
  if (next == labels_.begin()) return nullptr;
  const label& last = *(next - 1);
  if (last.address < std::max(globals_.furthest_end(address), locals_.furthest_end(address))) return nullptr;
  if (last.section >= SHN_LORESERVE) return last.address == address ? last.name : nullptr;
  Dwarf_Addr bias = 0;
  GElf_Addr in_file = address;
  Elf_Scn* const section = dwfl_module_address_section(module_, &in_file, &bias);
  return section != nullptr && elf_ndxscn(section) == last.section ? last.name : nullptr;
}

}  // namespace tarn::analyse
