// Lets the sizes that a thread seldom uses share blocks. Each class with a slab and a magazine of its own takes at
// least 7 KiB, and most threads use many sizes a few times. So malloc serves such a size with a block of the next power
// of two, until the size alone has used up as many blocks as a magazine gets at once.
#include <algorithm>
#include <bit>

#include "memory/heap/heap.hpp"

namespace tarn::heaps {
namespace {

/// Smaller blocks share blocks of this size.
constexpr std::size_t min_shared_bytes = 64;
/// A size that needs more fills of a magazine than this gets blocks of its own.
constexpr std::uint8_t max_shared_fills = 1;

// A power of two has every alignment that a smaller class has.
constexpr size_class shared_class_of(size_class index) noexcept {
  return detail::class_of(std::bit_ceil(std::max(detail::size_of(index), min_shared_bytes)));
}
constexpr std::size_t last_step_of(size_class index) noexcept {
  return detail::size_of(index) / detail::block_alignment;
}

struct shared_class_table : detail::class_table {
  consteval shared_class_table() noexcept {
    for (std::uint8_t& entry : classes) entry = static_cast<std::uint8_t>(shared_class_of(entry));
  }
};
constexpr shared_class_table shared_classes;

}  // namespace

void heap::share_blocks() noexcept {
  if (policy.is_closed()) return;
  served = shared_classes;
  for (class_state& class_entry : classes) {
    if (class_entry.front == nullptr) class_entry.fills = 0;
  }
}

size_class heap::class_to_fill(size_class requested_class) noexcept {
  if (requested_class >= pages::first_wide) return requested_class;
  const size_class shared_class = served.classes[last_step_of(requested_class)];
  if (shared_class == requested_class || !detail::is_empty(top[shared_class])) return shared_class;
  std::uint8_t& fills = classes[requested_class].fills;
  // A class that has just given blocks up misses because of that, and not because its blocks are in demand.
  const bool is_counted = !classes[shared_class].has_given_up;
  if (!is_counted || fills < max_shared_fills) {
    fills = static_cast<std::uint8_t>(fills + is_counted);
    return shared_class;
  }
  for (std::size_t step = last_step_of(requested_class);
       detail::class_of(step * detail::block_alignment) == requested_class; --step) {
    served.classes[step] = static_cast<std::uint8_t>(requested_class);
  }
  return requested_class;
}

}  // namespace tarn::heaps
