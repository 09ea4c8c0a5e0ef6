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
    std::uintptr_t differences = 0;
    for (std::uint32_t at = 0; at < each.reads.count; ++at) {
      differences |= each.reads.word[at] ^ *reinterpret_cast<const std::uintptr_t*>(from.stack + each.reads.at[at]);
    }
    return differences == 0 ? &each : nullptr;
  }

  // The place for a walk from there, which is to be finished by keep(). What was there is forgotten.
  known& place_for(const caller& from) noexcept {
    known& place = of(from);
    place.from = {};
    return place;
  }
  static void keep(known& place, const caller& from, std::uint32_t site) noexcept {
    if (place.reads.count <= stack_reads::most) place.from = from;  // an address of 0 is no caller's
    place.site = site;
    place.cell = nullptr;
  }

 private:
  static constexpr std::size_t places = 256;
  known& of(const caller& from) noexcept {
    return places_[((from.address ^ from.stack << 7) * 0x9e3779b97f4a7c15ULL) >> 56];
  }
  known places_[places];
};

}  // namespace tarn::record
