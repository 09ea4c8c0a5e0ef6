#include "heap/registry.hpp"

#include <cstring>
#include <new>

#include "heap/watch.hpp"
#include "pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {
constinit pages::space shared_space;
using hold = platform::locked<platform::mutex>;
}  // namespace

pages::space& central() noexcept { return shared_space; }

constinit platform::mutex registry::mutex_{platform::lock_rank::registry};
constinit std::atomic<heap*> registry::all_{nullptr};
constinit base::list<heap> registry::idle_;
constinit base::list<heap> registry::spare_;
constinit heap_statistics registry::past_;
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
  for (heap* found = idle_.front(); found != nullptr; found = found->next) {
    ownership expected = ownership::idle;
    // A heap that somebody tends at this moment is passed over.
    if (found->state.compare_exchange_strong(expected, ownership::owned, std::memory_order_seq_cst)) {
      idle_.remove(found);
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
  idle_.push_front(retired);  // its memory is the warmest
  idle_count_.fetch_add(1, std::memory_order_relaxed);
}

heap* registry::create(pages::space& from, const char* name) noexcept {
  const hold guard(mutex_);
  heap* found = spare_.front();
  if (found == nullptr) {
    found = make(from);
    if (found == nullptr) {
      return nullptr;
    }
  } else {
    spare_.remove(found);
    found->space = &from;
  }
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

void registry::freeze_others(const heap* mine, std::uint32_t old_thread) noexcept {
  for_all([=](heap& each) {
    if (each.owner_thread.load(std::memory_order_relaxed) == old_thread) {
      each.owner_thread.store(platform::thread_number(), std::memory_order_relaxed);
    }
    const ownership state = each.state.load(std::memory_order_relaxed);
    const bool of_thread = each.space == &central() && !each.shared;
    if (of_thread && &each != mine && (state == ownership::owned || state == ownership::tending)) {
      each.state.store(ownership::frozen, std::memory_order_relaxed);
      for (heap* at = idle_.front(); at != nullptr; at = at->next) {
        if (at == &each) {  // a tended heap may not be listed yet
          idle_.remove(at);
          idle_count_.fetch_sub(1, std::memory_order_relaxed);
          break;
        }
      }
    }
  });
}

}  // namespace tarn::heaps

// Nothing here refers to it: it is kept for who reads it.
extern "C"
    [[gnu::used]] constinit const tarn::heaps::watch_root tarn_watch_root = {.heaps = tarn::heaps::registry::watched()};
