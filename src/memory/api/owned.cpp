#include <tarn/owned.hpp>

#include "memory/api/heap_access.hpp"
#include "memory/heap/registry.hpp"
#include "memory/heap/spaces.hpp"
#include "memory/thread/threads.hpp"

namespace tarn::detail {

void* allocate_owned(heap& home, std::size_t bytes, std::size_t alignment) noexcept {
  auto* home_heap = static_cast<heaps::heap*>(heap_access::front_of(home));
  if (home_heap->space == &heaps::central() && !home_heap->policy.is_shared()) {
    // This heap belongs to a thread, and only that thread may use it. Either it is this thread's, while another heap
    // is current, or the container has come from another thread and lives on where it is used.
    home_heap = threads::own_heap();
    if (home_heap == nullptr) home_heap = local_heap == &heaps::no_heap ? threads::start() : threads::process_heap();
  }
  return home_heap == nullptr ? nullptr : allocate(home_heap, bytes, alignment);
}

}  // namespace tarn::detail
