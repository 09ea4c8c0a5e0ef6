#include "profiler/symbols/scopes.hpp"

#include <dwarf.h>

#include <optional>

namespace tarn::analyse {
namespace {

constexpr int deepest = 400;  // limit for nested scopes; deeper ones of a broken file are ignored

}  // namespace

scopes::scopes(Dwarf_Die unit) {
  add_children(unit, no_scope, 0);
  code_.finish();
}

void scopes::add_children(Dwarf_Die& die, std::size_t outer, int depth) {
  Dwarf_Die child;
  if (depth > deepest || dwarf_child(&die, &child) != 0) return;
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

void scopes::add(Dwarf_Die& die, std::size_t outer, int depth) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  const std::size_t number = scopes_.size();
  bool has_code = false;
  for (std::ptrdiff_t index = 0; (index = dwarf_ranges(&die, index, &base, &begin, &end)) > 0;) {
    code_.add(begin, end, number, depth);
    has_code = true;
  }
  if (!has_code) return;  // only declared, or always inlined
  scopes_.push_back({die, dwarf_tag(&die) == DW_TAG_subprogram ? no_scope : outer});
  add_children(die, number, depth + 1);
}

std::vector<Dwarf_Die> scopes::find(std::uint64_t address) const {
  std::vector<Dwarf_Die> die;
  const std::optional<std::size_t> innermost = code_.find(address);
  for (std::size_t number = innermost.value_or(no_scope); number != no_scope; number = scopes_[number].outer)
    die.push_back(scopes_[number].die);
  return die;
}

}  // namespace tarn::analyse
