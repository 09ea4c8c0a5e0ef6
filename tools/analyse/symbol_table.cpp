#include "analyse/symbol_table.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

namespace tarn::analyse {
namespace {

struct symbol {
  std::uint64_t from, to;
  bool is_weak;
  int number;
  const char* name;
  bool is_local;
  // The lookup finds the last of the symbols that begin together: the smallest, a strong one, the first in the file.
  bool operator<(const symbol& other) const {
    return std::tuple(from, other.to, other.is_weak, other.number) < std::tuple(other.from, to, is_weak, number);
  }
};

bool names_a_place(const GElf_Sym& of, const char* name) {
  if (name == nullptr || *name == '\0' || of.st_shndx == SHN_UNDEF) return false;
  const auto type = GELF_ST_TYPE(of.st_info);
  return type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

}  // namespace

symbol_table::symbol_table(Dwfl_Module* module) : module_(module) {
  std::vector<symbol> sized;
  const int count = dwfl_module_getsymtab(module);
  for (int at = 1; at < count; ++at) {
    GElf_Sym found;
    GElf_Addr from = 0;
    GElf_Word section = 0;
    const char* const name = dwfl_module_getsym_info(module, at, &found, &from, &section, nullptr, nullptr);
    if (!names_a_place(found, name)) continue;
    if (found.st_size == 0) {
      labels_.push_back({from, section, name});
      continue;
    }
    const auto binding = GELF_ST_BIND(found.st_info);
    sized.push_back({from, from + found.st_size, binding == STB_WEAK, at, name, binding == STB_LOCAL});
  }
  std::sort(sized.begin(), sized.end());
  for (const symbol& each : sized) {
    (each.is_local ? locals_ : globals_).add(each.from, each.to, names_.size());
    names_.push_back(each.name);
  }
  globals_.close();
  locals_.close();
  std::stable_sort(labels_.begin(), labels_.end(), [](const label& a, const label& b) { return a.from < b.from; });
}

const char* symbol_table::at(std::uint64_t address) const {
  std::optional<std::size_t> found = globals_.at(address);
  if (!found) found = locals_.at(address);
  return found ? names_[*found] : label_before(address);
}

// A label does not reach past the end of a symbol with a size or into another section: padding and tables between
// functions have no name.
const char* symbol_table::label_before(std::uint64_t address) const {
  const auto next = std::upper_bound(labels_.begin(), labels_.end(), address,
                                     [](std::uint64_t value, const label& each) { return value < each.from; });
  if (next == labels_.begin()) return nullptr;
  const label& last = *(next - 1);
  if (last.from < std::max(globals_.reached(address), locals_.reached(address))) return nullptr;
  if (last.section >= SHN_LORESERVE) return last.from == address ? last.name : nullptr;
  Dwarf_Addr bias = 0;
  GElf_Addr in_file = address;
  Elf_Scn* const section = dwfl_module_address_section(module_, &in_file, &bias);
  return section != nullptr && elf_ndxscn(section) == last.section ? last.name : nullptr;
}

}  // namespace tarn::analyse
