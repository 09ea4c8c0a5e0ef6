#include <tarn/owned.hpp>

#include "front/heap_access.hpp"
#include "heap/registry.hpp"
#include "heap/spaces.hpp"
#include "thread/threads.hpp"

namespace tarn::detail {

void* allocate_owned(heap& home, std::size_t bytes, std::size_t alignment) noexcept {
  auto* at = static_cast<heaps::heap*>(heap_access::front_of(home));
  if (at->space == &heaps::central() && !at->policy.shared()) {
    // This heap belongs to a thread, and only that thread may use it. Either it is this thread's, while another heap
    // is current, or the container has come from another thread and lives on where it is used.
    at = threads::own_heap();
    if (at == nullptr) {
      at = local == &heaps::nobody ? threads::start() : threads::process_heap();
    }
  }
  return at == nullptr ? nullptr : allocate(at, bytes, alignment);
}

}  // namespace tarn::detail
