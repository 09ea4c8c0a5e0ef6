#include "heap/registry.hpp"

#include <new>

#include "pages/metadata.hpp"

namespace tarn::heaps {
namespace {
constinit pages::space shared_space;
using hold = platform::locked<platform::mutex>;
}  // namespace

pages::space& central() noexcept { return shared_space; }

constinit platform::mutex registry::mutex_;
constinit std::atomic<heap*> registry::all_{nullptr};
constinit heap* registry::idle_ = nullptr;
constinit heap* registry::spare_ = nullptr;
constinit std::atomic<std::uint32_t> registry::idle_count_{0};
constinit registry::counts registry::counts_{};

heap* registry::make(pages::space& from) noexcept {
  void* const memory = pages::metadata::allocate(sizeof(heap), alignof(heap));
  if (memory == nullptr) {
    return nullptr;
  }
  heap* const made = ::new (memory) heap(from, static_cast<std::uint32_t>(++counts_.heaps));
  made->next_heap = all_.load(std::memory_order_relaxed);
  // release: who walks the list sees a constructed heap.
  all_.store(made, std::memory_order_release);
  return made;
}

heap* registry::acquire() noexcept {
  const hold guard(mutex_);
  ++counts_.started;
  for (heap** link = &idle_; *link != nullptr; link = &(*link)->next_idle) {
    heap* const found = *link;
    ownership expected = ownership::idle;
    // A heap that somebody tends at this moment is passed over.
    if (found->state.compare_exchange_strong(expected, ownership::owned,
                                             std::memory_order_seq_cst)) {
      *link = found->next_idle;
      found->next_idle = nullptr;
      idle_count_.fetch_sub(1, std::memory_order_relaxed);
      ++counts_.adopted;
      return found;
    }
  }
  return make(central());
}

void registry::give_idle(heap* retired) noexcept {
  const hold guard(mutex_);
  ++counts_.abandoned;
  retired->next_idle = idle_;
  idle_ = retired;
  idle_count_.fetch_add(1, std::memory_order_relaxed);
}

heap* registry::create(pages::space& from) noexcept {
  const hold guard(mutex_);
  if (spare_ == nullptr) {
    return make(from);
  }
  heap* const found = spare_;
  spare_ = found->next_idle;
  found->next_idle = nullptr;
  found->space = &from;
  return found;
}

void registry::destroy(heap* empty) noexcept {
  const hold guard(mutex_);
  empty->next_idle = spare_;
  spare_ = empty;
}

registry::counts registry::count() noexcept {
  const hold guard(mutex_);
  return counts_;
}

}  // namespace tarn::heaps
