// Caches the stacks that a thread was last seen with, each with its site. A stack that has not changed is recognised
// by the words on it, without a look at the layout of its frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/region.hpp"
#include "record/stack.hpp"

namespace tarn::record {

// The cache of one thread; all zeroes is an empty cache. Equal registers and equal words mean an equal stack, as
// walk() depends on nothing else but the program's code.
class known_stacks {
 public:
  struct known {
    caller from;
    stack_reads reads;
    std::uint32_t site;
    format::cell* cell;  // counts the site's blocks of this thread; null until it is needed
  };

  // Returns null when the stack is not known.
  known* find(const caller& from) noexcept {
    known& each = of(from);
    if (each.from.address != from.address || each.from.stack != from.stack) return nullptr;
    if (each.reads.frame_matters && each.from.frame != from.frame) return nullptr;
    const stack_reads& reads = each.reads;
    const auto difference = [&](std::uint32_t at) {
      return reads.word[at] ^ *reinterpret_cast<const std::uintptr_t*>(from.stack + reads.at[at]);
    };
    std::uintptr_t all = 0;
    for (std::uint32_t at = 0; at < reads.count; at += at_once) {
      all |= difference(at) | difference(at + 1) | difference(at + 2) | difference(at + 3);
    }
    return all == 0 ? &each : nullptr;
  }

  // Returns the slot for a walk from this caller, and empties it. The walk must end with keep().
  known& place_for(const caller& from) noexcept {
    known& place = of(from);
    place.from = {};
    return place;
  }
  static void keep(known& place, const caller& from, std::uint32_t site) noexcept {
    stack_reads& reads = place.reads;
    if (reads.count <= stack_reads::most) {
      place.from = from;  // no caller has the address 0 of an empty slot
      while (reads.count % at_once != 0) reads.note(reads.at[reads.count - 1], reads.word[reads.count - 1]);
    }
    place.site = site;
    place.cell = nullptr;
  }

 private:
  static constexpr std::size_t places = 256;
  // The last word is repeated until the count is a multiple of this. A separate loop for the rest would take as long.
  static constexpr std::uint32_t at_once = 4;
  static_assert(stack_reads::most % at_once == 0);
  known& of(const caller& from) noexcept {
    return places_[((from.address ^ from.stack << 7) * 0x9e3779b97f4a7c15ULL) >> 56];
  }
  known places_[places];
};

}  // namespace tarn::record
