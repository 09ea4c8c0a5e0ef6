#include "memory/heap/registry.hpp"

#include <cstring>
#include <new>

#include "memory/heap/array_pool.hpp"
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
constinit std::size_t registry::spare_count_ = 0;
constinit heap_statistics registry::ended_statistics_;
constinit std::atomic<std::uint32_t> registry::idle_count_{0};
constinit std::atomic<std::size_t> registry::idle_record_bytes_{0};
constinit std::atomic<std::uint32_t> registry::heap_count_{0};
constinit registry::counts registry::counts_{};

heap* registry::make(pages::space& space) noexcept {
  const std::size_t page = platform::page_bytes();
  void* const memory = pages::metadata::allocate(base::align_up(sizeof(heap), page), page);
  if (memory == nullptr) return nullptr;
  heap* const created = ::new (memory) heap(space, heap_count_.fetch_add(1, std::memory_order_relaxed) + 1);
  created->next_heap = heaps_.load(std::memory_order_relaxed);
  // release: a thread that walks the list sees a constructed heap.
  heaps_.store(created, std::memory_order_release);
  return created;
}

heap* registry::acquire() noexcept {
  heap* adopted = nullptr;
  {
    const hold guard(mutex_);
    ++counts_.started;
    adopted = take_idle();
    if (adopted == nullptr) return make(central());
    ++counts_.adopted;
  }
  adopted->prepare_adopted();
  return adopted;
}

heap* registry::take_idle() noexcept {
  for (heap* candidate = idle_.front(); candidate != nullptr; candidate = candidate->next) {
    ownership expected = ownership::idle;
    // Skips a heap for which another thread acts.
    if (candidate->state.compare_exchange_strong(expected, ownership::occupied, std::memory_order_seq_cst)) {
      platform::note_acquire(&candidate->state);
      idle_.remove(candidate);
      idle_count_.fetch_sub(1, std::memory_order_relaxed);
      return candidate;
    }
  }
  return nullptr;
}

heap* registry::tend_next_idle() noexcept {
  const hold guard(mutex_);
  const heap* const last = idle_.last();
  for (int left = max_inspected; left != 0 && !idle_.empty(); --left) {
    heap* const idle_heap = idle_.front();
    idle_.remove(idle_heap);
    idle_.push_back(idle_heap);
    ownership expected = ownership::idle;
    if (idle_heap->state.compare_exchange_strong(expected, ownership::tending, std::memory_order_seq_cst)) {
      platform::note_acquire(&idle_heap->state);
      return idle_heap;
    }
    if (idle_heap == last) break;
  }
  return nullptr;
}

void registry::give_idle(heap* retired) noexcept {
  {
    const hold guard(mutex_);
    ++counts_.abandoned;
    idle_.push_front(retired);  // its memory is the warmest
    idle_count_.fetch_add(1, std::memory_order_relaxed);
  }
  pages::space::note_retained(idle_record_bytes());
}

heap* registry::create(pages::space& space, const char* name) noexcept {
  const hold guard(mutex_);
  heap* candidate = spare_.front();
  if (candidate == nullptr) {
    candidate = make(space);
    if (candidate == nullptr) return nullptr;
    if (heap_count() > max_whole_spares) {
      candidate->purge_record();  // the constructor has touched all pages, and the heap may need few
    }
    candidate->next_object = objects_.load(std::memory_order_relaxed);
    objects_.store(candidate,
                   std::memory_order_release);  // a signal handler may fork here, and walk the list in the child
  } else {
    spare_.remove(candidate);
    --spare_count_;
    candidate->space = &space;
  }
  candidate->frees_may_wait.store(&space == &central(), std::memory_order_relaxed);
  std::strncpy(candidate->name, name, sizeof candidate->name - 1);
  return candidate;
}

// The first page of a record stays for good: scoped_current_heap and the lists of heaps refer to it. If many heaps have
// ended, the other pages go back. The record is in no list meanwhile: if another thread forks, its child loses it.
void registry::destroy(heap* empty) noexcept {
  bool is_one_of_many = false;
  empty->send_all();  // without this lock, because a sender may take that of a shared heap
  {
    const hold guard(mutex_);
    ended_statistics_ += empty->statistics();
    empty->reset();
    empty->user = detail::inside_heap::unwatched;
    __atomic_store_n(&empty->ends, empty->ends + 1, __ATOMIC_RELAXED);
    is_one_of_many = spare_count_ >= max_whole_spares;
  }
  if (is_one_of_many) {
    empty->purge_record();
    arrays.purge_excess();
  }
  const hold guard(mutex_);
  spare_.push_front(empty);
  ++spare_count_;
}

registry::counts registry::count() noexcept {
  const hold guard(mutex_);
  counts now = counts_;
  now.heaps = heap_count();
  return now;
}

heap_statistics registry::ended_statistics() noexcept {
  const hold guard(mutex_);
  return ended_statistics_;
}

void registry::renumber_objects(std::uint32_t old_thread, std::uint32_t new_thread) noexcept {
  for (heap* object = objects_.load(std::memory_order_relaxed); object != nullptr; object = object->next_object) {
    if (object->owner_thread.load(std::memory_order_relaxed) == old_thread) {
      object->owner_thread.store(new_thread, std::memory_order_relaxed);
    }
  }
}

}  // namespace tarn::heaps

// For other processes, which read it. Nothing in the program refers to it, so it is marked as used.
extern "C" [[gnu::used]] constinit const tarn::heaps::watch_root tarn_watch_root = {
    .heaps = tarn::heaps::registry::heap_list()};
