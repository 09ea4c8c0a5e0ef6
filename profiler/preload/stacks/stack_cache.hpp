// Caches the stacks that a thread was last seen with, each with its site. A stack that has not changed is recognised
// by the words on it, without a look at the layout of its frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

// The cache of one thread; all zeroes is an empty cache. Equal registers and equal words mean an equal stack, as
// walk() depends on nothing else but the program's code.
class stack_cache {
 public:
  struct cached_stack {
    caller caller_registers;
    stack_reads reads;
    std::uint32_t site;
    format::cell* cell;  // counts the site's blocks of this thread; null until it is needed
  };

  // Returns null when the stack is not known.
  cached_stack* find(const caller& caller) noexcept {
    cached_stack& cached = slot_of(caller);
    if (cached.caller_registers.address != caller.address || cached.caller_registers.stack != caller.stack)
      return nullptr;
    if (cached.reads.depends_on_frame && cached.caller_registers.frame != caller.frame) return nullptr;
    const stack_reads& reads = cached.reads;
    const auto difference = [&](std::uint32_t index) {
      return reads.values[index] ^ *reinterpret_cast<const std::uintptr_t*>(caller.stack + reads.offsets[index]);
    };
    std::uintptr_t difference_so_far = 0;
    for (std::uint32_t index = 0; index < reads.count; index += at_once) {
      difference_so_far |= difference(index) | difference(index + 1) | difference(index + 2) | difference(index + 3);
    }
    return difference_so_far == 0 ? &cached : nullptr;
  }

  // Returns the slot for a walk from this caller, and empties it. The walk must end with keep().
  cached_stack& slot_for(const caller& caller) noexcept {
    cached_stack& slot = slot_of(caller);
    slot.caller_registers = {};
    return slot;
  }
  static void keep(cached_stack& slot, const caller& caller, std::uint32_t site) noexcept {
    stack_reads& reads = slot.reads;
    if (reads.count <= stack_reads::limit) {
      slot.caller_registers = caller;  // no caller has the address 0 of an empty slot
      while (reads.count % at_once != 0) reads.note(reads.offsets[reads.count - 1], reads.values[reads.count - 1]);
    }
    slot.site = site;
    slot.cell = nullptr;
  }

 private:
  static constexpr std::size_t slots = 256;
  // The last word is repeated until the count is a multiple of this. A separate loop for the rest would take as long.
  static constexpr std::uint32_t at_once = 4;
  static_assert(stack_reads::limit % at_once == 0);
  cached_stack& slot_of(const caller& caller) noexcept {
    return slots_[((caller.address ^ caller.stack << 7) * 0x9e3779b97f4a7c15ULL) >> 56];
  }
  cached_stack slots_[slots];
};

}  // namespace tarn::preload
