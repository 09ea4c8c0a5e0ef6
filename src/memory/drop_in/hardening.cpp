#include "memory/drop_in/hardening.hpp"

#include <cerrno>
#include <new>

#include "base/fault.hpp"
#include "memory/api/blocks.hpp"
#include "memory/drop_in/hardened_block.hpp"
#include "memory/guard/guard.hpp"
#include "memory/guard/samples.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/thread/threads.hpp"
#include "platform/random.hpp"

namespace tarn::heaps {

/// Holds the last blocks that a heap's thread freed, the oldest first, until newer ones take their place. It remembers
/// as many again, so that a fault names the place of the free. Only the owner of the heap uses it; it stays with
/// the heap when the thread ends. Invariant: entries [left, come) wait, and
///   come - left <= most_blocks, held_bytes == sum of their blocks' bytes <= most_bytes
struct quarantine {
  static constexpr std::uint32_t most_blocks = 2048;
  static constexpr std::size_t most_bytes = std::size_t{256} << 10;
  /// A larger block does not wait, because it would drive too many others out.
  static constexpr std::size_t most_bytes_of_one = most_bytes / 16;
  /// The next block to leave is one of this many, at random. As many are there whenever one has to leave.
  static constexpr std::uint32_t candidates = most_bytes / most_bytes_of_one;

  struct entry {
    void* block;
    const void* site;
  };

  std::uint64_t random = 0;  ///< state of a linear congruential generator, whose high bits are used
  std::size_t held_bytes = 0;
  std::uint32_t come = 0;
  std::uint32_t left = 0;
  entry entries[2 * most_blocks] = {};

  entry& entry_at(std::uint32_t number) noexcept { return entries[number % (2 * most_blocks)]; }
  bool is_over() const noexcept { return come - left > most_blocks || held_bytes > most_bytes; }
  std::uint64_t draw() noexcept {
    random = random * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX
    return random >> 32;
  }
  /// Takes out one of the oldest blocks.
  void* take() noexcept {
    entry& oldest = entry_at(left++);
    entry& chosen = entry_at(left - 1 + static_cast<std::uint32_t>(draw() % candidates));
    const entry taken = chosen;
    chosen = oldest;
    oldest = taken;
    return taken.block;
  }
};

}  // namespace tarn::heaps

namespace tarn::hardening {

constinit std::uint64_t canary_key = 0;

namespace {

using detail::size_class;
using heaps::heap;
using heaps::quarantine;

// ------------------------------------------------------------------ faults

struct recalled {
  bool is_known;
  const void* site;
};
// Finds who freed a block last. Other threads may change what is read, but the process is about to end.
recalled recall(const void* block) noexcept {
  recalled last = {};
  heaps::registry::for_all([&](heap& visited) {
    if (last.is_known || visited.waiting_frees == nullptr) {
      return;
    }
    for (std::uint32_t back = 1; back <= 2 * quarantine::most_blocks; ++back) {
      const quarantine::entry& entry = visited.waiting_frees->entry_at(visited.waiting_frees->come - back);
      if (entry.block == block) {
        last = {true, entry.site};
        return;
      }
    }
  });
  return last;
}

base::hardened_record record_of(const void* block, const hardened_block& shape) noexcept {
  const std::size_t requested = shape.requested();
  const bool is_exact = requested != hardened_block::unknown;
  return {block, is_exact ? requested : shape.room(), is_exact, recall(block).site};
}

size_class class_at(const void* block) noexcept { return heaps::class_in(detail::key_of(block)); }

[[gnu::cold, gnu::noinline, noreturn]] void fault_changed(void* block) noexcept {
  const hardened_block shape(block, class_at(block));
  base::fault_use_after_free(record_of(block, shape), shape.first_changed());
}

[[gnu::cold, gnu::noinline, noreturn]] void fault_overrun(const char* entry, void* block) noexcept {
  const hardened_block shape(block, class_at(block));
  const pages::slab& home = *pages::page_map::slab_of(block);
  if (home.is_free(home.number_of(block))) {  // the system has the page with its mark
    fault_freed_twice(entry, block);
  }
  base::fault_overrun(entry, record_of(block, shape));
}

// Reports an address in a slab where no block starts.
[[gnu::cold, gnu::noinline]] void fault_if_misaligned(const char* entry, const void* pointer,
                                                      size_class index) noexcept {
  const pages::slab& home = *pages::page_map::slab_of(pointer);
  const std::size_t number = home.number_of(pointer);
  if (number >= home.capacity) {
    base::fault_foreign_pointer(entry, pointer);
  }
  char* const block = home.block(number);
  if (block != pointer) {
    const std::size_t requested = hardened_block(block, index).requested();
    base::fault_misaligned(entry, pointer, block, requested == hardened_block::unknown ? home.bytes : requested);
  }
}

// Returns the requested size of a small block in use. Everything else is a fault.
[[gnu::always_inline]] inline std::size_t check_live(const char* entry, void* block, size_class index) noexcept {
  if (index >= pages::first_wide) [[unlikely]] {
    fault_if_misaligned(entry, block, index);
  }
  if (heaps::is_marked(block)) [[unlikely]] {
    fault_freed_twice(entry, block);
  }
  const hardened_block shape(block, index);
  const std::size_t requested = shape.requested();
  if (requested == hardened_block::unknown || shape.is_overrun(requested)) [[unlikely]] {
    fault_overrun(entry, block);
  }
  return requested;
}

// ------------------------------------------------------------------- heaps

// The calling thread's heap, if the caller may use its magazines and its quarantine without any lock: then it is equal
// to detail::local. Otherwise it differs.
constinit thread_local heap* usual_heap [[gnu::tls_model("initial-exec")]] = nullptr;
[[gnu::always_inline]] inline bool is_usual(const heap* self) noexcept { return self == usual_heap; }

// Returns the calling thread's heap, hardened. Null: no memory.
heap* ready_heap() noexcept {
  heap* const self = threads::ready(detail::local);
  if (self == nullptr) {
    return nullptr;
  }
  if (canary_key == 0) [[unlikely]] {  // the first block of the process, which has one thread
    heaps::draw_mark();
    canary_key = platform::random_number() | 1;
  }
  if (!self->policy.hardened()) {
    self->add_trait(heaps::heap_trait::hardened);
  }
  if (self->waiting_frees == nullptr && !self->policy.shared()) {
    void* const memory = pages::metadata::allocate(sizeof(quarantine), alignof(quarantine));
    if (memory != nullptr) {
      self->waiting_frees = ::new (memory) quarantine;
      self->waiting_frees->random = platform::random_number();
    }
  }
  if (self->waiting_frees != nullptr && self->policy.only_hardened()) {
    usual_heap = self;
  }
  return self;
}

// -------------------------------------------------------------- quarantine

[[gnu::noinline]] void give_slow(heap& self, void* block, std::uintptr_t key) noexcept {
  const size_class index = heaps::class_in(key);
  if ((key ^ self.address()) != index) {
    self.deallocate_remote(block, key);
    return;
  }
  const heaps::owning hold(self);
  self.deallocate(block, index);
}

// Gives a free block to its heap.
[[gnu::always_inline]] inline void give(heap& self, void* block, std::uintptr_t key) noexcept {
  const std::uintptr_t index = key ^ self.address();
  if (index >= detail::class_count || heaps::is_full(self.classes[index].closed_top)) [[unlikely]] {
    return give_slow(self, block, key);
  }
  *self.classes[index].closed_top++ = block;
  __builtin_prefetch(block, 1);
}

[[gnu::always_inline]] inline void release_one(heap& self) noexcept {
  quarantine& waiting = *self.waiting_frees;
  void* const block = waiting.take();
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);  // acquire: page_map::set says why
  waiting.held_bytes -= pages::shapes.classes[heaps::class_in(key)].block_bytes;
  give(self, block, key);
}

// Empties the quarantine, because memory is short.
[[gnu::cold, gnu::noinline]] bool release_all(heap& self) noexcept {
  if (self.waiting_frees == nullptr || self.waiting_frees->come == self.waiting_frees->left) {
    return false;
  }
  quarantine& waiting = *self.waiting_frees;
  for (; waiting.come != waiting.left; ++waiting.left) {
    void* const block = waiting.entry_at(waiting.left).block;
    give(self, block, detail::key_of<__ATOMIC_ACQUIRE>(block));
  }
  waiting.held_bytes = 0;
  self.send_all();
  return true;
}

// Lets a block wait that was wiped.
[[gnu::always_inline]] inline void retire(heap& self, void* block, std::uintptr_t key, const void* site) noexcept {
  const std::size_t bytes = pages::shapes.classes[heaps::class_in(key)].block_bytes;
  if (bytes > quarantine::most_bytes_of_one) [[unlikely]] {
    return give(self, block, key);
  }
  quarantine& waiting = *self.waiting_frees;
  waiting.entry_at(waiting.come++) = {block, site};
  waiting.held_bytes += bytes;
  while (waiting.is_over()) {
    release_one(self);
  }
}

// Brings the blocks of a magazine that was just filled into a random order. Returns how many there are.
std::uint32_t shuffle(heap& self, size_class index) noexcept {
  const heaps::class_state& filled = self.classes[index];
  if (filled.front == nullptr) {  // a decay has taken the rest away
    return 0;
  }
  void** const bottom = heaps::bottom_of(filled.front, index);
  const auto count = static_cast<std::uint32_t>(filled.closed_top - bottom);
  for (std::uint32_t left = count; left > 1; --left) {
    const auto chosen = static_cast<std::uint32_t>(self.waiting_frees->draw() * left >> 32);
    void* const last = bottom[left - 1];
    bottom[left - 1] = bottom[chosen];
    bottom[chosen] = last;
  }
  return count;
}

// ---------------------------------------------------------------- allocate

[[gnu::always_inline]] inline void* finished(void* block, size_class index, std::size_t bytes) noexcept {
  const hardened_block shape(block, index);
  if (!shape.is_wiped()) [[unlikely]] {
    fault_changed(block);
  }
  heaps::mark_of(block) = 0;
  shape.close(bytes);
  return block;
}

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

// Allocates a block of a class whose magazine is empty, or whose heap is not usual. A null `site` is not sampled.
[[gnu::noinline]] void* allocate_slow(size_class index, std::size_t bytes, std::size_t alignment,
                                      const void* site) noexcept {
  if (site != nullptr && guard::samples::is_due()) [[unlikely]] {
    if (void* const block = guard::samples::allocate(bytes, alignment, site)) {
      return block;
    }
  }
  heap* const self = ready_heap();
  if (self == nullptr) {
    return no_memory();
  }
  void* block = detail::allocate_slow(self, index);
  if (block == nullptr && release_all(*self)) {
    block = detail::allocate_slow(self, index);
  }
  if (block == nullptr) {
    return no_memory();
  }
  guard::samples::count(1 + (is_usual(self) ? shuffle(*self, index) : 0));
  return finished(block, index, bytes);
}

[[gnu::noinline]] void* allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
  heap* const self = ready_heap();
  if (self == nullptr || bytes > api::largest_request || alignment > api::largest_request) {
    return no_memory();
  }
  if (alignment <= detail::block_alignment && is_usual(self)) {
    if (void* const cached = self->take_cached_large(bytes)) {
      return cached;
    }
  }
  void* block = detail::allocate_large(self, bytes, alignment, nullptr);
  if (block == nullptr && release_all(*self)) {
    block = detail::allocate_large(self, bytes, alignment, nullptr);
  }
  return block == nullptr ? no_memory() : block;
}

constexpr std::size_t least_room = least_block_bytes - tail_bytes;

// Returns the class for a request; class_count: a large block.
[[gnu::always_inline]] inline size_class class_for(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > detail::largest_class_size - tail_bytes || alignment > pages::unit_bytes) [[unlikely]] {
    return detail::class_count;
  }
  const std::size_t with_tail = (bytes < least_room ? least_room : bytes) + tail_bytes;
  return alignment <= detail::block_alignment ? detail::quick_class_of(with_tail)
                                              : detail::class_of(with_tail, alignment);
}

}  // namespace

std::size_t hardened_block::first_changed() const noexcept {
  if (get(0) != 0) {
    return static_cast<std::size_t>(std::countr_zero(get(0))) / 8;
  }
  std::uint64_t changed = get(sizeof changed);
  if (changed != 0 && !heaps::is_marked(start_)) {
    changed ^= heaps::free_mark ^ reinterpret_cast<std::uintptr_t>(start_);
    return sizeof changed + static_cast<std::size_t>(std::countr_zero(changed)) / 8;
  }
  for (std::size_t offset = 2 * sizeof changed; offset < zeroed_end(); offset += sizeof changed) {
    if (get(offset) != 0) {
      return offset + static_cast<std::size_t>(std::countr_zero(get(offset))) / 8;
    }
  }
  return room();
}

void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  const size_class index = class_for(bytes, alignment);
  if (index >= detail::class_count) [[unlikely]] {
    return allocate_large(bytes, alignment);
  }
  detail::heap_front* const front = detail::local;
  heap* const self = usual_heap;
  if (self == front) [[likely]] {
    void**& top = self->classes[index].closed_top;
    if (void* const block = top[-1]) [[likely]] {
      --top;
      return finished(block, index, bytes);
    }
  }
  return allocate_slow(index, bytes, alignment, site);
}

void* allocate_zeroed(std::size_t count, std::size_t element_bytes, const void* site) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) {
    return no_memory();
  }
  if (class_for(bytes, detail::block_alignment) == detail::class_count) {
    heap* const self = ready_heap();
    if (self == nullptr || bytes > api::largest_request) {
      return no_memory();
    }
    // The smallest of these requests would not be large without the tail.
    const std::size_t least = bytes > detail::largest_class_size ? bytes : detail::largest_class_size + 1;
    void* block = api::allocate_zeroed(self, 1, least);
    if (block == nullptr && release_all(*self)) {
      block = api::allocate_zeroed(self, 1, least);
    }
    return block == nullptr ? no_memory() : block;
  }
  void* const block = allocate(bytes, detail::block_alignment, site);
  if (block != nullptr && bytes > most_zeroed) {
    std::memset(static_cast<char*>(block) + most_zeroed, 0, bytes - most_zeroed);
  }
  return block;
}

// -------------------------------------------------------------- deallocate

namespace {

// Frees everything but a block of a size class.
[[gnu::noinline]] void deallocate_rare(void* block, std::size_t said, const void* site) noexcept {
  if (block == nullptr) {
    return;
  }
  if (guard::samples::contain(block)) {
    return guard::samples::deallocate("free", block, site);
  }
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  if (key != 0 && heaps::class_in(key) < detail::class_count) {
    fault_if_misaligned("free", block, heaps::class_in(key));
  }
  // Memory that realloc made larger or smaller may have room for more than was asked for.
  const heaps::found_block target = heaps::find_block("free", block);
  if (said != guard::unsaid && said > target.bytes) {
    base::fault_wrong_size(block, said, target.bytes);
  }
  detail::deallocate_slow(detail::local, block);
}

// Checks a block that is freed, and wipes it.
[[gnu::always_inline]] inline void check_free(void* block, std::size_t said, size_class index) noexcept {
  const std::size_t requested = check_live("free", block, index);
  if (said != guard::unsaid && said != requested) [[unlikely]] {
    base::fault_wrong_size(block, said, requested);
  }
  hardened_block(block, index).wipe();
}

}  // namespace

void deallocate(void* block, std::size_t said, const void* site) noexcept {
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);  // acquire: page_map::set says why
  const size_class index = heaps::class_in(key);
  if (key == 0 || index >= detail::class_count || !pages::may_start_at(block, index)) [[unlikely]] {
    return deallocate_rare(block, said, site);
  }
  check_free(block, said, index);
  heap* const self = is_usual(static_cast<heap*>(detail::local)) ? usual_heap : ready_heap();
  if (self == nullptr) {
    return;
  }
  if (is_usual(self)) [[likely]] {
    retire(*self, block, key, site);
  } else {
    detail::deallocate_slow(self, block);
  }
}

void deallocate_own(void* block, std::size_t said, const void* site, size_class index) noexcept {
  heap* const self = usual_heap;
  if (self != detail::local) [[unlikely]] {
    return deallocate(block, said, site);
  }
  check_free(block, said, index);
  retire(*self, block, self->address() | index, site);
}

void fault_freed_twice(const char* entry, const void* block) noexcept {
  const hardened_block shape(const_cast<void*>(block), class_at(block));
  base::fault_double_free(entry, record_of(block, shape));
}

// ------------------------------------------------------------------ resize

namespace {

void* allocate_raw(detail::heap_front*, std::size_t raw_bytes, std::size_t alignment) noexcept {
  return allocate(raw_bytes > detail::largest_class_size ? raw_bytes : raw_bytes - tail_bytes, alignment, nullptr);
}
void give_raw(detail::heap_front*, void* block) noexcept { deallocate(block, guard::unsaid, nullptr); }

}  // namespace

void* reallocate(void* block, std::size_t bytes, const void* site) noexcept {
  if (block == nullptr) {
    return allocate(bytes, detail::block_alignment, site);
  }
  heap* const self = ready_heap();
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  const size_class index = heaps::class_in(key);
  const bool is_small = key != 0 && index < detail::class_count;
  if (is_small && !pages::may_start_at(block, index)) [[unlikely]] {
    fault_if_misaligned("realloc", block, index);
  }
  const std::size_t before = is_small ? check_live("realloc", block, index) : 0;
  if (self == nullptr) {
    return nullptr;
  }
  // The engine knows whole blocks only: of small ones, their tails are a part.
  const std::size_t raw = bytes > detail::largest_class_size ? bytes : bytes + tail_bytes;
  void* const result = api::reallocate(self, block, raw, {give_raw, allocate_raw});
  if (result == nullptr) {
    return nullptr;
  }
  if (is_small && result != block) {
    quarantine* const waiting = self->waiting_frees;
    if (waiting != nullptr && waiting->entry_at(waiting->come - 1).block == block) {
      waiting->entry_at(waiting->come - 1).site = site;
    }
  }
  if (is_small && bytes > before) {  // the canary and the tail may lie in what is the program's now
    const std::size_t raw_before = pages::shapes.classes[index].block_bytes;
    std::memset(static_cast<char*>(result) + before, 0, (bytes < raw_before ? bytes : raw_before) - before);
  }
  if (const std::uintptr_t after = detail::key_of(result); after != 0 && heaps::class_in(after) < detail::class_count) {
    hardened_block(result, heaps::class_in(after)).close(bytes);
  }
  return result;
}

std::size_t usable_bytes(const char* entry, const void* block) noexcept {
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  if (key != 0 && heaps::class_in(key) < detail::class_count) {
    fault_if_misaligned(entry, block, heaps::class_in(key));
  }
  const heaps::found_block target = heaps::find_block(entry, block);
  return target.large() ? target.bytes : check_live(entry, const_cast<void*>(block), target.index);
}

// ------------------------------------------------------------ start and end

namespace {

// Checks the blocks in quarantine when the program ends, after its own destructors.
[[gnu::destructor]] void verify() noexcept {
  if (guard::current_mode.load(std::memory_order_relaxed) != guard::mode::hardened) {
    return;
  }
  heap* const self = usual_heap;
  if (self == nullptr || self != detail::local) {
    return;
  }
  for (std::uint32_t number = self->waiting_frees->left; number != self->waiting_frees->come; ++number) {
    void* const block = self->waiting_frees->entry_at(number).block;
    if (!hardened_block(block, class_at(block)).is_wiped()) {
      fault_changed(block);
    }
  }
}

}  // namespace
}  // namespace tarn::hardening
