#include "memory/heap/random_quarantine.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "base/check.hpp"
#include "memory/pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

std::size_t bytes_in_pages() noexcept { return base::align_up(sizeof(random_quarantine), platform::page_bytes()); }

}  // namespace

random_quarantine* random_quarantine::make() noexcept {
  void* const memory = pages::metadata::allocate(bytes_in_pages(), platform::page_bytes());
  return memory == nullptr ? nullptr : ::new (memory) random_quarantine;
}

std::size_t random_quarantine::purge() noexcept {
  TARN_CHECK(std::all_of(std::begin(slots_), std::end(slots_), [](void* block) { return block == nullptr; }));
  return platform::purge(this, bytes_in_pages()) ? bytes_in_pages() : 0;
}

}  // namespace tarn::heaps
