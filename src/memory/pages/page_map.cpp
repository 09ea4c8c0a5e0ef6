#include "memory/pages/page_map.hpp"

#include "memory/pages/metadata.hpp"
#include "memory/pages/slab.hpp"
#include "platform/platform.hpp"

namespace tarn::detail {
constinit page_leaf* page_map[page_leaf_count] = {};
}

namespace tarn::pages {
namespace {

using detail::page_leaf;

static_assert(sizeof(page_leaf) <= metadata::max_bytes);

constinit platform::mutex growth_lock{platform::lock_rank::page_map};

std::uintptr_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) >> detail::leaf_shift;
}

// A leaf is all zero before it is published, and stays. A thread that frees a block reads the root relaxed and finds
// the leaf: the block was handed out after the leaf was published, and the program orders the free after that. A
// thread that asks for any other address may see the leaf or not, and finds zero either way.
// (tests/models/page_map_growth.cpp)
bool make_leaf(std::uintptr_t number) noexcept {
  page_leaf*& leaf = detail::page_map[number];
  if (leaf == nullptr) {
    auto* const new_leaf = static_cast<page_leaf*>(metadata::allocate(sizeof(page_leaf), platform::page_bytes()));
    if (new_leaf == nullptr) return false;
    __atomic_store_n(&leaf, new_leaf, __ATOMIC_RELEASE);
  }
  return true;
}

// Calls `change` with the leaf and the number of each unit in it.
template <class Change>
void for_units(const void* start, std::size_t units, Change change) noexcept {
  const char* unit = static_cast<const char*>(start);
  for (; units != 0; --units, unit += unit_bytes) change(*detail::leaf_of(unit), detail::unit_in_leaf(unit));
}

}  // namespace

void* page_map::map(std::size_t bytes, std::size_t alignment, std::size_t covered) noexcept {
  void* const start = platform::map(bytes, alignment);
  if (start != nullptr && !cover(start, covered)) {
    platform::unmap(start, bytes);
    return nullptr;
  }
  return start;
}

platform::mutex& page_map::lock() noexcept { return growth_lock; }

bool page_map::cover(const void* start, std::size_t bytes) noexcept {
  const std::uintptr_t first = number_of(start);
  const std::uintptr_t last = number_of(static_cast<const char*>(start) + bytes - 1);
  if (first > last || last >= detail::page_leaf_count) return false;
  const platform::locked hold(growth_lock);
  for (std::uintptr_t number = first; number <= last; ++number) {
    if (!make_leaf(number)) return false;
  }
  return true;
}

void page_map::set(const void* start, std::size_t units, std::uintptr_t key, slab* s) noexcept {
  for_units(start, units, [=](page_leaf& leaf, std::size_t unit) {
    __atomic_store_n(&leaf.slabs[unit], s, __ATOMIC_RELAXED);
    __atomic_store_n(&leaf.keys[unit], key, __ATOMIC_RELEASE);
  });
}

void page_map::retire(const void* start, std::size_t units) noexcept {
  for_units(start, units,
            [](page_leaf& leaf, std::size_t unit) { __atomic_store_n(&leaf.keys[unit], 0, __ATOMIC_RELAXED); });
}

slab* page_map::large_around(const void* address) noexcept {
  std::uintptr_t number = number_of(address);
  if (number >= detail::page_leaf_count) return nullptr;
  std::size_t unit = detail::unit_in_leaf(address);
  for (;; --number, unit = detail::leaf_units - 1) {
    const page_leaf* const leaf = __atomic_load_n(&detail::page_map[number], __ATOMIC_RELAXED);
    for (std::size_t end = leaf == nullptr ? 0 : unit + 1; end != 0; --end) {
      const std::uintptr_t key = __atomic_load_n(&leaf->keys[end - 1], __ATOMIC_ACQUIRE);
      if (key != 0) {
        auto* const candidate = static_cast<slab*>(__atomic_load_n(&leaf->slabs[end - 1], __ATOMIC_RELAXED));
        const bool is_large = (key & mark_mask) == large_mark;
        return is_large && address < candidate->start + candidate->bytes ? candidate : nullptr;
      }
    }
    if (number == 0) return nullptr;
  }
}

}  // namespace tarn::pages
