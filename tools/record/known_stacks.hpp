// The stacks that a thread was last seen with, each with its site: one that is still the same is known by the words on
// it, without a look at how each of its frames is laid out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/region.hpp"
#include "record/stack.hpp"

namespace tarn::record {

// Of one thread. All zeroes is an empty one. The same registers and the same words are the same stack, as walk()
// depends on nothing else but the program's code.
class known_stacks {
 public:
  struct known {
    caller from;
    stack_reads reads;
    std::uint32_t site;
    format::cell* cell;  // of the site's blocks, allocated by this thread; null until it is wanted
  };

  // Null when the stack is not known.
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

  // The place for a walk from there, which is to be finished by keep(). What was there is forgotten.
  known& place_for(const caller& from) noexcept {
    known& place = of(from);
    place.from = {};
    return place;
  }
  static void keep(known& place, const caller& from, std::uint32_t site) noexcept {
    stack_reads& reads = place.reads;
    if (reads.count <= stack_reads::most) {
      place.from = from;  // an address of 0 is no caller's
      while (reads.count % at_once != 0) reads.note(reads.at[reads.count - 1], reads.word[reads.count - 1]);
    }
    place.site = site;
    place.cell = nullptr;
  }

 private:
  static constexpr std::size_t places = 256;
  // The last word is there again until there are as many: a loop of its own for what is left would take as long.
  static constexpr std::uint32_t at_once = 4;
  static_assert(stack_reads::most % at_once == 0);
  known& of(const caller& from) noexcept {
    return places_[((from.address ^ from.stack << 7) * 0x9e3779b97f4a7c15ULL) >> 56];
  }
  known places_[places];
};

}  // namespace tarn::record
