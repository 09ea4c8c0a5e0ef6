#include "thread/threads.hpp"

#include <atomic>
#include <cstring>

#include <pthread.h>
#include <unistd.h>

#include "base/fault.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "heap/registry.hpp"
#include "platform/platform.hpp"
#include "thread/fork.hpp"

namespace tarn::detail {
constinit thread_local heap_front* local = &heaps::nobody;
}

namespace tarn::threads {
namespace {

using heaps::registry;

enum class stage : int { nothing, started, ready, failed };
constinit std::atomic<stage> progress{stage::nothing};
constinit heaps::heap* process = nullptr;
constinit pthread_key_t exit_key = 0;

void report(std::string_view line) noexcept {
  base::text_buffer<512> out;
  out.append(line).write_to(2);
}

// Runs when a thread with a heap ends, after its C++ thread_local destructors.
// Destructors of other keys may run later and allocate or free: they find the
// process's heap, so nothing has to be armed again.
void leave(void* of) noexcept {
  auto* const own = static_cast<heaps::heap*>(of);
  detail::local = process;
  own->retire();
  registry::give_idle(own);
}

bool set_up() noexcept {
  base::options& options = base::process_options;
  base::load_from_environment(options, environ, report);
  if (!pages::page_map::initialise()) {
    return false;
  }
  pages::space_options wanted;
  wanted.limit = options.limit;
  wanted.huge_wanted = options.thp == base::thp_mode::on;
  wanted.huge_refused = options.thp == base::thp_mode::off;
  if (options.increment != 0) {
    const std::size_t units = base::divide_up(options.increment, pages::unit_bytes);
    wanted.segment_units = units < 32 ? 32 : units > pages::most_units ? pages::most_units : units;
  }
  heaps::central().configure(wanted);
  process = registry::create(heaps::central());
  if (process == nullptr || pthread_key_create(&exit_key, leave) != 0) {
    return false;
  }
  process->shared = true;
  std::memcpy(process->name, "process", sizeof "process");
  process->counting = options.stats != base::stats_mode::off;
  process->close();
  return true;
}

}  // namespace

bool initialise() noexcept {
  stage now = progress.load(std::memory_order_acquire);
  if (now == stage::ready) {
    return true;
  }
  if (now == stage::nothing &&
      progress.compare_exchange_strong(now, stage::started, std::memory_order_acq_rel)) {
    now = set_up() ? stage::ready : stage::failed;
    // release: who sees `ready` sees all of the above.
    progress.store(now, std::memory_order_release);
    if (now == stage::ready) {
      install_fork_handlers();  // may allocate, so it comes after
    }
    return now == stage::ready;
  }
  while ((now = progress.load(std::memory_order_acquire)) == stage::started) {
    sched_yield();
  }
  return now == stage::ready;
}

heaps::heap* process_heap() noexcept { return initialise() ? process : nullptr; }

heaps::heap* ready(detail::heap_front* at) noexcept {
  if (at == &heaps::nobody) {
    at = detail::local;  // the caller may have looked before this thread had a heap
  }
  if (at != &heaps::nobody) {
    return static_cast<heaps::heap*>(at);
  }
  if (!initialise()) {
    return nullptr;
  }
  heaps::heap* const own = registry::acquire();
  if (own == nullptr) {
    return process;
  }
  const base::options& options = base::current_options();
  own->owner_thread.store(platform::thread_number(), std::memory_order_relaxed);
  if (options.stats != base::stats_mode::off && !own->counting) {
    own->counting = true;
    own->close();
  }
  detail::local = own;  // before the key: setting it may allocate
  if (pthread_setspecific(exit_key, own) != 0) {
    detail::local = process;
    own->retire();
    registry::give_idle(own);
    return process;
  }
  if (options.initial != 0) {
    // Not enough memory for an eager start is no reason to fail this allocation.
    (void)own->space->reserve(options.initial);
  }
  return own;
}

heaps::heap* own_heap() noexcept {
  return static_cast<heaps::heap*>(pthread_getspecific(exit_key));
}

void deallocate(heaps::heap* self, void* block, detail::size_class said) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  const std::uintptr_t mark = key & pages::mark_mask;
  if (key == 0) [[unlikely]] {
    const pages::slab* const was = pages::page_map::slab_of(block);
    if (was != nullptr) {
      base::fault_double_free(block, was->bytes);
    }
    base::fault_foreign_pointer("free", block);
  }
  if (mark >= pages::large_mark) {
    pages::slab* const run = pages::page_map::slab_of(block);
    if (run->start != block) [[unlikely]] {
      base::fault_misaligned("free", block, run->start, run->bytes);
    }
    if (said != detail::class_count) [[unlikely]] {
      base::fault_wrong_size(block, detail::size_of(said), run->bytes);
    }
    auto* const owner = reinterpret_cast<heaps::heap*>(key & ~pages::mark_mask);
    if (owner->strict && owner != self) [[unlikely]] {
      base::fault_strict_heap(owner->name, block, platform::thread_number(),
                              owner->owner_thread.load(std::memory_order_relaxed));
    }
    owner->deallocate_large(run);
    return;
  }
  if (said != detail::class_count && said != mark) [[unlikely]] {
    base::fault_wrong_size(block, detail::size_of(said),
                           detail::size_of(static_cast<detail::size_class>(mark)));
  }
  if ((key ^ self->address()) < detail::class_count) {
    self->deallocate(block, static_cast<detail::size_class>(mark));
  } else {
    self->deallocate_remote(block, key);
  }
}

}  // namespace tarn::threads

namespace tarn::detail {
namespace {

// A shared heap's owner is whoever holds its lock.
class owning {
 public:
  explicit owning(heaps::heap* self) noexcept : shared_(self->shared ? self : nullptr) {
    if (shared_ != nullptr) {
      shared_->mutex.lock();
    }
  }
  ~owning() {
    if (shared_ != nullptr) {
      shared_->mutex.unlock();
    }
  }
  owning(const owning&) = delete;
  owning& operator=(const owning&) = delete;

 private:
  heaps::heap* shared_;
};

}  // namespace

void* allocate_slow(heap_front* at, size_class index) noexcept {
  heaps::heap* const self = threads::ready(at);
  if (self == nullptr) {
    return nullptr;
  }
  const owning hold(self);
  return self->allocate(index);
}

void deallocate_slow(heap_front* at, void* block) noexcept {
  deallocate_slow(at, block, class_count);
}

void deallocate_slow(heap_front* at, void* block, size_class index) noexcept {
  heaps::heap* const self = threads::ready(at);
  if (self == nullptr) {
    base::fault_foreign_pointer("free", block);  // nothing was ever allocated
  }
  const owning hold(self);
  threads::deallocate(self, block, index);
}

void* allocate_any(heap_front* at, std::size_t bytes, std::size_t alignment) noexcept {
  // A slab starts on a unit, so that is the most its blocks can be aligned to.
  if (alignment <= pages::unit_bytes && bytes <= largest_class_size) {
    const size_class index =
        alignment <= block_alignment ? class_of(bytes) : class_of(bytes, alignment);
    if (index < class_count) {
      return allocate(at, index);
    }
  }
  heaps::heap* const self = threads::ready(at);
  if (self == nullptr) {
    return nullptr;
  }
  const owning hold(self);
  return self->allocate_large(bytes, alignment, nullptr);
}

void* allocate_large(heap_front* at, std::size_t bytes, bool* zeroed) noexcept {
  heaps::heap* const self = threads::ready(at);
  if (self == nullptr) {
    return nullptr;
  }
  const owning hold(self);
  return self->allocate_large(bytes, block_alignment, zeroed);
}

}  // namespace tarn::detail
