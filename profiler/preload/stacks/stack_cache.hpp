// Caches the stacks that a thread was last seen with, each with its site. A stack that has not changed is recognised
// by the words on it, without a look at the layout of its frames. Python's frames are not on it: their hash is
// compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

// Tells where a lock was acquired: the return address of the call, and the stack pointer after it.
struct acquisition_point {
  std::uintptr_t caller, stack;
  bool operator==(const acquisition_point&) const = default;
};

// The cache of one thread; all zeroes is an empty cache. Equal registers and equal words mean an equal stack, as
// walk() depends on nothing else but the program's code.
class stack_cache {
 public:
  struct cached_stack {
    caller caller_registers;
    stack_reads reads;
    std::uint64_t python;  // the hash of its Python frames; 0: none
    std::uint32_t site;
    format::cell* cell;  // counts the site's blocks of this thread; null until it is needed
  };

  // The stack of a lock's hold, as a later call of the same thread has found it out.
  struct cached_hold {
    cached_stack later;  // the stack of that call; the site is that of the hold
    acquisition_point acquisition;
  };

  // Returns null when the stack is not known.
  cached_stack* find(const caller& caller, std::uint64_t python = 0) noexcept {
    cached_stack& cached = slot_of(caller, python);
    return cached.python == python && is_unchanged(cached, caller) ? &cached : nullptr;
  }
  // Returns the hold of a lock, seen from a call at `present`; null when it is not known.
  cached_hold* find_hold(const acquisition_point& acquisition, const caller& present) noexcept {
    cached_hold& cached = slot_of(acquisition, present);
    return cached.acquisition == acquisition && is_unchanged(cached.later, present) ? &cached : nullptr;
  }

  // Returns the slot for a walk from this caller, and empties it. The walk must end with keep().
  cached_stack& slot_for(const caller& caller, std::uint64_t python = 0) noexcept {
    cached_stack& slot = emptied(slot_of(caller, python));
    slot.python = python;
    return slot;
  }
  cached_stack& slot_for_hold(const acquisition_point& acquisition, const caller& present) noexcept {
    cached_hold& slot = slot_of(acquisition, present);
    slot.acquisition = acquisition;
    return emptied(slot.later);
  }
  void clear() noexcept {
    for (cached_stack& slot : slots_) emptied(slot);
    for (cached_hold& slot : hold_slots_) emptied(slot.later);
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
  static constexpr std::size_t slots = 256, hold_slots = 16;
  // The last word is repeated until the count is a multiple of this. A separate loop for the rest would take as long.
  static constexpr std::uint32_t at_once = 4;
  static_assert(stack_reads::limit % at_once == 0);

  static bool is_unchanged(const cached_stack& cached, const caller& caller) noexcept {
    if (cached.caller_registers.address != caller.address || cached.caller_registers.stack != caller.stack)
      return false;
    if (cached.reads.depends_on_frame && cached.caller_registers.frame != caller.frame) return false;
    const stack_reads& reads = cached.reads;
    const auto difference = [&](std::uint32_t index) {
      return reads.values[index] ^ *reinterpret_cast<const std::uintptr_t*>(caller.stack + reads.offsets[index]);
    };
    std::uintptr_t difference_so_far = 0;
    for (std::uint32_t index = 0; index < reads.count; index += at_once) {
      difference_so_far |= difference(index) | difference(index + 1) | difference(index + 2) | difference(index + 3);
    }
    return difference_so_far == 0;
  }
  static cached_stack& emptied(cached_stack& slot) noexcept {
    slot.caller_registers = {};
    return slot;
  }
  static std::uint64_t hash_of(const caller& caller) noexcept {
    return (caller.address ^ caller.stack << 7) * 0x9e3779b97f4a7c15ULL;
  }
  cached_stack& slot_of(const caller& caller, std::uint64_t python) noexcept {
    return slots_[(hash_of(caller) ^ python * 0xd6e8feb86659fd93ULL) >> 56];
  }
  cached_hold& slot_of(const acquisition_point& acquisition, const caller& present) noexcept {
    return hold_slots_[((hash_of(present) ^ acquisition.caller) * 0x9fb21c651e98df25ULL) >> 60];
  }

  cached_stack slots_[slots];
  cached_hold hold_slots_[hold_slots];
};

}  // namespace tarn::preload
