#include "analyse/scopes.hpp"

#include <dwarf.h>

#include <algorithm>

namespace tarn::analyse {
namespace {

constexpr int deepest = 400;  // of scopes in each other: what is below in a file that says more is left out

}  // namespace

scopes::scopes(Dwarf_Die unit) {
  add_children(unit, none, 0);
  std::sort(pieces_.begin(), pieces_.end(), [](const piece& a, const piece& b) { return a.from < b.from; });
  std::uint64_t most = 0;
  for (const piece& each : pieces_) reached_.push_back(most = std::max(most, each.to));
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
    pieces_.push_back({from, to, number, depth});
    has_code = true;
  }
  if (!has_code) return;  // declared, or only ever inlined
  scopes_.push_back({one, dwarf_tag(&one) == DW_TAG_subprogram ? none : outer});
  add_children(one, number, depth + 1);
}

std::vector<Dwarf_Die> scopes::at(std::uint64_t address) const {
  const auto end = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                    [](std::uint64_t value, const piece& each) { return value < each.from; });
  const piece* innermost = nullptr;
  for (auto each = end; each != pieces_.begin();) {
    --each;
    if (reached_[static_cast<std::size_t>(each - pieces_.begin())] <= address) break;  // nor does any before it
    if (each->to > address && (innermost == nullptr || each->depth > innermost->depth)) innermost = &*each;
  }
  std::vector<Dwarf_Die> found;
  if (innermost == nullptr) return found;
  for (std::size_t of = innermost->of; of != none; of = scopes_[of].outer) found.push_back(scopes_[of].die);
  return found;
}

}  // namespace tarn::analyse
