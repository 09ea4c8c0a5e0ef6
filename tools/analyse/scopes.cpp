#include "analyse/scopes.hpp"

#include <dwarf.h>

#include <optional>

namespace tarn::analyse {
namespace {

constexpr int deepest = 400;  // limit for nested scopes; deeper ones of a broken file are ignored

}  // namespace

scopes::scopes(Dwarf_Die unit) {
  add_children(unit, none, 0);
  code_.close();
}

void scopes::add_children(Dwarf_Die& of, std::size_t outer, int depth) {
  Dwarf_Die child;
  if (depth > deepest || dwarf_child(&of, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine: add(child, outer, depth); break;
      case DW_TAG_lexical_block:
      case DW_TAG_namespace: add_children(child, outer, depth + 1); break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

void scopes::add(Dwarf_Die& one, std::size_t outer, int depth) {
  Dwarf_Addr base = 0, from = 0, to = 0;
  const std::size_t number = scopes_.size();
  bool has_code = false;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&one, at, &base, &from, &to)) > 0;) {
    code_.add(from, to, number, depth);
    has_code = true;
  }
  if (!has_code) return;  // only declared, or always inlined
  scopes_.push_back({one, dwarf_tag(&one) == DW_TAG_subprogram ? none : outer});
  add_children(one, number, depth + 1);
}

std::vector<Dwarf_Die> scopes::at(std::uint64_t address) const {
  std::vector<Dwarf_Die> found;
  const std::optional<std::size_t> innermost = code_.at(address);
  for (std::size_t of = innermost.value_or(none); of != none; of = scopes_[of].outer) found.push_back(scopes_[of].die);
  return found;
}

}  // namespace tarn::analyse
