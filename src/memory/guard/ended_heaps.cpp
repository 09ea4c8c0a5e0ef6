#include "memory/guard/ended_heaps.hpp"

#include <atomic>
#include <cstring>
#include <iterator>

#include "base/fault.hpp"
#include "memory/guard/samples.hpp"
#include "platform/platform.hpp"

namespace tarn::guard::ended_heaps {
namespace {

/// The addresses of a heap that has ended. `start` is 0 while the other members are written, so that a fault does not
/// read old and new values together.
struct ended_range {
  std::atomic<std::uintptr_t> start{0};
  std::size_t bytes = 0;
  std::uint32_t ended_by = 0;
  char name[24] = {};
};
constinit ended_range ranges[are_kept ? max_ranges : 1] = {};
constinit std::atomic<std::uint32_t> next_range{0};
constinit thread_local char ending_name[sizeof ended_range::name] = {};

// Two threads could use one slot at once only if other threads used all other slots at the same time.
void remember(void* start, std::size_t bytes) noexcept {
  ended_range& slot = ranges[next_range.fetch_add(1, std::memory_order_relaxed) % std::size(ranges)];
  if (const std::uintptr_t oldest = slot.start.exchange(0, std::memory_order_acquire); oldest != 0) {
    platform::give_addresses(reinterpret_cast<void*>(oldest), slot.bytes);
  }
  slot.bytes = bytes;
  slot.ended_by = platform::thread_number();
  std::memcpy(slot.name, ending_name, sizeof slot.name);
  // release: a thread that faults in the range sees the rest.
  slot.start.store(reinterpret_cast<std::uintptr_t>(start), std::memory_order_release);
}

}  // namespace

void note_end(const char* name) noexcept { std::strncpy(ending_name, name, sizeof ending_name - 1); }

void unmap(void* start, std::size_t bytes) noexcept {
  if (platform::address_space_limit() != 0 || !platform::keep_addresses(start, bytes)) {
    platform::unmap(start, bytes);
    return;
  }
  remember(start, bytes);
  samples::install_handler();
}

void fault_if_ended(const void* address, bool is_write, bool is_known, const void* instruction) noexcept {
  for (const ended_range& slot : ranges) {
    const std::uintptr_t start = slot.start.load(std::memory_order_acquire);
    if (start != 0 && reinterpret_cast<std::uintptr_t>(address) - start < slot.bytes) {
      base::fault_ended_heap({.address = address,
                              .heap_name = slot.name,
                              .ended_by = slot.ended_by,
                              .verb = !is_known  ? "accessed"
                                      : is_write ? "written"
                                                 : "read",
                              .instruction = instruction,
                              .thread = platform::thread_number()});
    }
  }
}

}  // namespace tarn::guard::ended_heaps
