#include "memory/heap/registry.hpp"

#include <cstring>
#include <new>

#include "memory/heap/watch.hpp"
#include "memory/pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {
constinit pages::space shared_space;
using hold = platform::locked<platform::mutex>;
}  // namespace

pages::space& central() noexcept { return shared_space; }

constinit platform::mutex registry::mutex_{platform::lock_rank::registry};
constinit std::atomic<heap*> registry::heaps_{nullptr};
constinit std::atomic<heap*> registry::objects_{nullptr};
constinit base::list<heap> registry::idle_;
constinit base::list<heap> registry::spare_;
constinit heap_statistics registry::past_;
constinit std::atomic<std::uint32_t> registry::idle_count_{0};
constinit registry::counts registry::counts_{};

heap* registry::make(pages::space& space) noexcept {
  void* const memory = pages::metadata::allocate(sizeof(heap), alignof(heap));
  if (memory == nullptr) {
    return nullptr;
  }
  heap* const made = ::new (memory) heap(space, static_cast<std::uint32_t>(++counts_.heaps));
  made->next_heap = heaps_.load(std::memory_order_relaxed);
  // release: a thread that walks the list sees a constructed heap.
  heaps_.store(made, std::memory_order_release);
  return made;
}

heap* registry::acquire() noexcept {
  const hold guard(mutex_);
  ++counts_.started;
  for (heap* found = idle_.front(); found != nullptr; found = found->next) {
    ownership expected = ownership::idle;
    // Passes over a heap for which another thread is acting.
    if (found->state.compare_exchange_strong(expected, ownership::owned, std::memory_order_seq_cst)) {
      platform::note_acquire(&found->state);
      idle_.remove(found);
      idle_count_.fetch_sub(1, std::memory_order_relaxed);
      ++counts_.adopted;
      return found;
    }
  }
  return make(central());
}

heap* registry::tend_next_idle() noexcept {
  const hold guard(mutex_);
  const heap* const last = idle_.back();
  for (int left = most_looked_at; left != 0 && !idle_.empty(); --left) {
    heap* const at = idle_.front();
    idle_.remove(at);
    idle_.push_back(at);
    ownership expected = ownership::idle;
    if (at->state.compare_exchange_strong(expected, ownership::tending, std::memory_order_seq_cst)) {
      platform::note_acquire(&at->state);
      return at;
    }
    if (at == last) {
      break;
    }
  }
  return nullptr;
}

void registry::give_idle(heap* retired) noexcept {
  const hold guard(mutex_);
  ++counts_.abandoned;
  idle_.push_front(retired);  // its memory is the warmest
  idle_count_.fetch_add(1, std::memory_order_relaxed);
}

heap* registry::create(pages::space& space, const char* name) noexcept {
  const hold guard(mutex_);
  heap* found = spare_.front();
  if (found == nullptr) {
    found = make(space);
    if (found == nullptr) {
      return nullptr;
    }
    found->next_object = objects_.load(std::memory_order_relaxed);
    objects_.store(found, std::memory_order_release);  // a signal handler may fork here, and walk the list in the child
  } else {
    spare_.remove(found);
    found->space = &space;
  }
  found->frees_may_wait = &space == &central();
  std::strncpy(found->name, name, sizeof found->name - 1);
  return found;
}

void registry::destroy(heap* empty) noexcept {
  const hold guard(mutex_);
  past_ += empty->statistics();
  empty->reset();
  spare_.push_front(empty);
}

registry::counts registry::count() noexcept {
  const hold guard(mutex_);
  return counts_;
}

heap_statistics registry::past() noexcept {
  const hold guard(mutex_);
  return past_;
}

void registry::renumber_objects(std::uint32_t old_thread, std::uint32_t new_thread) noexcept {
  for (heap* at = objects_.load(std::memory_order_relaxed); at != nullptr; at = at->next_object) {
    if (at->owner_thread.load(std::memory_order_relaxed) == old_thread) {
      at->owner_thread.store(new_thread, std::memory_order_relaxed);
    }
  }
}

}  // namespace tarn::heaps

// Nothing in the program refers to it: it is kept for other processes that read it.
extern "C"
    [[gnu::used]] constinit const tarn::heaps::watch_root tarn_watch_root = {.heaps = tarn::heaps::registry::watched()};
