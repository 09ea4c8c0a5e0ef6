#include "memory/guard/guard.hpp"

#include <cstdint>
#include <cstring>

#include <sched.h>

#include "base/options.hpp"
#include "memory/guard/guarded_block.hpp"
#include "memory/guard/memcheck.hpp"
#include "memory/guard/quarantine.hpp"
#include "memory/heap/canary.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/fork.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"

namespace tarn::guard {
namespace {

constinit quarantine waiting;

/// Neither pattern is a valid address, and as numbers both are large and not round.
constexpr unsigned char fresh_byte = 0xcd;
constexpr unsigned char freed_byte = 0xdf;

/// Returns the calling thread's heap, closed where all blocks are guarded. Returns null when there is no memory. A heap
/// object may end while blocks of it wait in the quarantine, so the process's heap stands in for one.
heaps::heap* this_heap() noexcept {
  heaps::heap* const caller = threads::ready(detail::local_heap);
  if (caller != nullptr && caller->space != &heaps::central()) return threads::process_heap();
  if (caller != nullptr && !caller->policy.is_closed() &&
      current_mode.load(std::memory_order_relaxed) == mode::enabled) {
    caller->add_trait(heaps::heap_trait::guarded);
  }
  return caller;
}

// Returns the number of the calling thread. The kernel knows it, too, but that takes a system call.
std::uint32_t thread_of(const heaps::heap& owner) noexcept {
  return owner.policy.is_shared() ? platform::thread_number() : owner.owner_thread.load(std::memory_order_relaxed);
}

// ----------------------------------------------------------------- finding

/// Reports a fault and does not return, if the quarantine remembers a block at an address where there is no block now.
void fault_if_remembered(const char* entry, const void* pointer) noexcept {
  if (freed_block past; waiting.recall(pointer, past)) base::fault_double_free(entry, past.record);
}

struct extent {
  char* first;
  char* last;
};
/// Returns the range of changed bytes of the canary in [begin, end).
extent damage(char* begin, char* end) noexcept {
  return {canary::first_changed(begin, end), canary::last_changed(begin, end)};
}

void fault_if_overrun(const char* entry, const void* pointer, const guarded& block) noexcept {
  const extent bad = damage(block.slack(), block.slack_end());
  if (bad.first == block.slack_end()) return;
  base::fault_overrun(entry, pointer, block.record(), static_cast<std::size_t>(bad.first - block.user),
                      static_cast<std::size_t>(bad.last - block.user), bad.last == block.slack_end());
}

/// Reports an overrun of the block before one whose header was overwritten, if its canary is damaged. Another thread
/// may change that block meanwhile, which is harmless because the process is about to end.
void fault_if_neighbour_overran(const char* entry, const void* pointer, const pages::slab& home, char* start) noexcept {
  if (home.index >= detail::class_count || start == home.start) return;
  char* const before = start - detail::size_of(home.index);
  if (has_header(before, start)) fault_if_overrun(entry, pointer, at_start(before, start));
}

/// Returns the guarded block at `pointer`, in any state. Any other address is a fault.
guarded find(const char* entry, const void* pointer) noexcept {
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(pointer);  // as in heaps::find_block
  const pages::slab* home = pages::page_map::slab_of(pointer);
  // With a large alignment the program's block may start beyond the first unit.
  const pages::slab* const containing_slab = key == 0 ? pages::page_map::large_around(pointer) : nullptr;
  if (containing_slab != nullptr) {
    home = containing_slab;
  } else if (key == 0) {
    fault_if_remembered(entry, pointer);
    if (home != nullptr) base::fault_late_double_free(entry, pointer);
    base::fault_foreign_pointer(entry, pointer);
  }
  const bool is_large = containing_slab != nullptr || heaps::class_in(key) == pages::large_mark;
  const std::size_t number = is_large ? 0 : home->number_of(pointer);
  if (!is_large && number >= home->capacity) base::fault_foreign_pointer(entry, pointer);
  char* const start = is_large ? home->start : home->block(number);
  char* const end = start + home->bytes;
  if (!has_header(start, end)) {
    fault_if_remembered(entry, pointer);
    fault_if_neighbour_overran(entry, pointer, *home, start);
    base::fault_no_header(entry, pointer);
  }
  const guarded block = at_start(start, end);
  if (block.user != pointer) {
    fault_if_remembered(entry, pointer);
    if (pointer < block.user) base::fault_foreign_pointer(entry, pointer);
    base::fault_misaligned(entry, pointer, block.user, block.bytes());
  }
  return block;
}

[[noreturn]] void fault_not_live(const char* entry, const guarded& block) noexcept {
  state_word now = __atomic_load_n(block.state(), __ATOMIC_ACQUIRE);
  // Another thread is freeing the block at this moment. It will record where in a moment, unless it was lost in a
  // fork. It may also wait for a processor, on a busy machine for many milliseconds.
  constexpr int max_yields = 100, max_sleeps = 1000;
  for (int round = 0; now == block.word_for(block_state::leaving) && round < max_yields + max_sleeps; ++round) {
    if (round < max_yields) {
      sched_yield();
    } else {
      platform::sleep_ms(1);
    }
    now = __atomic_load_n(block.state(), __ATOMIC_ACQUIRE);
  }
  base::block_record record = block.record();
  if (now == block.word_for(block_state::freed)) {
    record.freed_at = block.head->freed_at;
    record.freed_by = block.head->freed_by;
  } else if (now != block.word_for(block_state::leaving)) {
    const state_word live = block.word_for(block_state::live);
    std::size_t written = sizeof live;
    const auto* const present = reinterpret_cast<const char*>(&now);
    const auto* const was = reinterpret_cast<const char*>(&live);
    while (present[sizeof live - written] == was[sizeof live - written]) --written;
    base::fault_underrun(entry, record, written);
  }
  base::fault_double_free(entry, record);
}

void check_canaries(const char* entry, const guarded& block) noexcept {
  char* const state = reinterpret_cast<char*>(block.state());
  memcheck::look_at(block.slack(), block.end);
  if (char* const first = canary::first_changed(block.gap(), state); first != state) {
    base::fault_underrun(entry, block.record(), static_cast<std::size_t>(block.user - first));
  }
  fault_if_overrun(entry, block.user, block);
}

/// Returns the block at `pointer`, which must be live.
guarded find_live(const char* entry, const void* pointer) noexcept {
  const guarded block = find(entry, pointer);
  if (__atomic_load_n(block.state(), __ATOMIC_ACQUIRE) != block.word_for(block_state::live)) {
    fault_not_live(entry, block);
  }
  return block;
}

// -------------------------------------------------------------- quarantine

guarded block_of(const freed_block& freed) noexcept {
  return {reinterpret_cast<header*>(freed.start), static_cast<char*>(const_cast<void*>(freed.record.block)),
          freed.start + freed.held_bytes};
}

/// Returns the first byte that changed since the block was freed; null if there is none. The expected header comes
/// from the quarantine, because the header may have been overwritten, too.
char* first_changed(const freed_block& freed) noexcept {
  const guarded block = block_of(freed);
  if (block.head->check != block.sum() || block.bytes() != freed.record.bytes) return block.start();
  char* const state = reinterpret_cast<char*>(block.state());
  if (char* const changed = canary::first_changed(block.gap(), state); changed != state) return changed;
  if (*block.state() != block.word_for(block_state::freed)) return state;
  char* const filled_end = block.user + block.filled_bytes();
  if (char* const changed = canary::first_other(block.user, filled_end, freed_byte); changed != filled_end) {
    return changed;
  }
  char* const changed = canary::first_changed(block.slack(), block.slack_end());
  return changed == block.slack_end() ? nullptr : changed;
}

[[noreturn]] void fault_changed(const freed_block& freed, const char* changed) noexcept {
  if (changed < freed.record.block) {
    fault_if_neighbour_overran("free", freed.record.block, *pages::page_map::slab_of(freed.start), freed.start);
  }
  base::fault_use_after_free(freed.record, changed - static_cast<const char*>(freed.record.block));
}

void release(const freed_block& freed) noexcept {
  detail::mark_allocated(freed.start, freed.held_bytes);  // a pool has poisoned it for AddressSanitizer
  memcheck::look_at(freed.start, freed.start + freed.held_bytes);
  if (const char* const changed = first_changed(freed)) fault_changed(freed, changed);
  detail::deallocate_slow(this_heap(), freed.start);
}

void release_all() noexcept {
  for (freed_block oldest; waiting.pop(oldest, true);) release(oldest);
}

// ------------------------------------------------------------------ set-up

}  // namespace

constinit std::atomic<mode> current_mode{mode::unknown};

bool find_mode() noexcept {
  const mode present = current_mode.load(std::memory_order_acquire);  // acquire: the canary's key is seen, too
  if (present != mode::unknown) return present == mode::enabled;
  if (!threads::initialise()) return false;
  const bool is_on = base::current_options().uses_guard;
  if (is_on) {
    prepare();
    // Every block is checked here, so each thread may have a heap of its own (threads::ready).
    if (heaps::heap* const process = threads::process_heap(); process->policy.is_exact()) {
      process->policy.remove(heaps::heap_trait::exact);
    }
  }
  // release: a thread that sees the mode sees the canary's key.
  const mode unguarded = base::current_options().is_hardened ? mode::hardened : mode::off;
  current_mode.store(is_on ? mode::enabled : unguarded, std::memory_order_release);
  return is_on;
}

bool prepare() noexcept {
  if (!threads::initialise()) return false;
  canary::draw();  // later calls keep the key
  threads::hold_around_fork(waiting.lock());
  return true;
}

// ---------------------------------------------------------------- allocate

namespace {

struct heap_block {
  char* start;
  std::size_t bytes;
  bool is_zeroed;
};

heap_block take(heaps::heap* caller, std::size_t bytes, std::size_t alignment) noexcept {
  heap_block memory = {};
  if (bytes <= detail::largest_class_size && alignment <= pages::unit_bytes) {
    const detail::size_class index = detail::class_of(bytes, alignment);
    if (index < detail::class_count) {
      memory.start = static_cast<char*>(detail::allocate(caller, index));
      memory.bytes = detail::size_of(index);
      return memory;
    }
  }
  memory.start = static_cast<char*>(detail::allocate_large(caller, bytes, alignment, &memory.is_zeroed));
  if (memory.start != nullptr) memory.bytes = pages::page_map::slab_of(memory.start)->bytes;
  return memory;
}

enum class contents { pattern, zero };

void* make(std::size_t bytes, std::size_t alignment, const void* site, contents initial) noexcept {
  if (bytes > pages::max_large_bytes || alignment > pages::max_large_bytes) return nullptr;
  heaps::heap* const caller = this_heap();
  if (caller == nullptr) return nullptr;
  const unsigned shift = shift_for(alignment);
  const std::size_t total = offset_of(shift) + bytes + min_slack;
  const std::size_t heap_alignment = shift == 0 ? detail::block_alignment : offset_of(shift);
  heap_block memory = take(caller, total, heap_alignment);
  if (memory.start == nullptr) {
    release_all();
    memory = take(caller, total, heap_alignment);
    if (memory.start == nullptr) return nullptr;
  }
  auto* const head = reinterpret_cast<header*>(memory.start);
  *head = {.check = 0,
           .freed_at = nullptr,
           .allocated_at = site,
           .bytes_and_shift = bytes << 8 | shift,
           .allocated_by = thread_of(*caller),
           .freed_by = 0};
  const guarded block = at_start(memory.start, memory.start + memory.bytes);
  head->check = block.sum();
  canary::fill(block.gap(), reinterpret_cast<char*>(block.state()));
  canary::fill(block.slack(), block.slack_end());
  if (initial == contents::pattern) {
    std::memset(block.user, fresh_byte, block.filled_bytes());
  } else if (!memory.is_zeroed) {
    std::memset(block.user, 0, bytes);
  }
  __atomic_store_n(block.state(), block.word_for(block_state::live), __ATOMIC_RELEASE);
  memcheck::handed_out(block.user, bytes, block.end, initial == contents::zero);
  return block.user;
}

// Puts a block that was live and is whole into the quarantine.
void retire(const guarded& block, const void* site) noexcept {
  block.head->freed_at = site;
  block.head->freed_by = thread_of(*this_heap());
  std::memset(block.user, freed_byte, block.filled_bytes());
  memcheck::freed(block.user);
  // release: a thread that finds the block freed also finds by whom.
  __atomic_store_n(block.state(), block.word_for(block_state::freed), __ATOMIC_RELEASE);
  freed_block freed = {.record = block.record(),
                       .start = block.start(),
                       .held_bytes = static_cast<std::size_t>(block.end - block.start())};
  freed.record.freed_at = site;
  freed.record.freed_by = block.head->freed_by;
  const bool must_wait = freed.held_bytes <= quarantine::max_bytes_of_one;
  if (!must_wait) freed.held_bytes = 0;
  waiting.push(freed);
  if (!must_wait) detail::deallocate_slow(this_heap(), freed.start);
  for (freed_block oldest; waiting.pop(oldest);) release(oldest);
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  return make(bytes, alignment, site, contents::pattern);
}

void* allocate_zeroed(std::size_t count, std::size_t element_bytes, const void* site) noexcept {
  std::size_t bytes;
  return __builtin_mul_overflow(count, element_bytes, &bytes)
             ? nullptr
             : make(bytes, detail::block_alignment, site, contents::zero);
}

void deallocate(const char* entry, void* pointer, std::size_t stated_bytes, const void* site) noexcept {
  const guarded block = find(entry, pointer);
  state_word expected = block.word_for(block_state::live);
  // If two threads free a block at once, one gets it, and the other reports the fault.
  if (!__atomic_compare_exchange_n(block.state(), &expected, block.word_for(block_state::leaving), false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    fault_not_live(entry, block);
  }
  check_canaries(entry, block);
  if (stated_bytes != no_stated_size && stated_bytes != block.bytes()) {
    base::fault_wrong_size(block.record(), {stated_bytes, stated_bytes});
  }
  retire(block, site);
}

void* reallocate(void* pointer, std::size_t bytes, const void* site) noexcept {
  if (pointer == nullptr) return allocate(bytes, detail::block_alignment, site);
  const guarded block = find_live("realloc", pointer);
  check_canaries("realloc", block);
  void* const moved = allocate(bytes, detail::block_alignment, site);
  if (moved != nullptr) {
    std::memcpy(moved, pointer, bytes < block.bytes() ? bytes : block.bytes());
    deallocate("realloc", pointer, no_stated_size, site);
  }
  return moved;
}

std::size_t usable_bytes(const char* entry, const void* block) noexcept {
  return block == nullptr ? 0 : find_live(entry, block).bytes();
}

std::uint32_t note_of(const char* entry, const void* block) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(find_live(entry, block).head->freed_at));
}
void set_note(void* block, std::uint32_t note) noexcept {
  find_live("set_note", block).head->freed_at = reinterpret_cast<const void*>(std::uintptr_t{note});
}
base::block_record record_of(const void* block) noexcept { return find_live("record_of", block).record(); }

namespace {

// Checks the blocks in quarantine when the program ends, after its own destructors.
[[gnu::destructor]] void verify() noexcept {
  freed_block broken;
  const auto changed = [](const freed_block& entry) {
    detail::mark_allocated(entry.start, entry.held_bytes);
    memcheck::look_at(entry.start, entry.start + entry.held_bytes);
    return first_changed(entry) != nullptr;
  };
  if (waiting.find_waiting(broken, changed)) {
    fault_changed(broken, first_changed(broken));  // the lock is released, because a handler of SIGABRT may free blocks
  }
}

}  // namespace
}  // namespace tarn::guard
