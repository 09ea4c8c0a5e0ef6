#include "memory/drop_in/hardening.hpp"

#include <cerrno>
#include <new>

#include "base/fault.hpp"
#include "memory/api/blocks.hpp"
#include "memory/drop_in/hardened_block.hpp"
#include "memory/guard/guard.hpp"
#include "memory/guard/samples.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/random_quarantine.hpp"
#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/thread/threads.hpp"
#include "platform/random.hpp"

namespace tarn::hardening {

constinit std::uint64_t canary_key = 0;

namespace {

using detail::size_class;
using heaps::heap;
using heaps::random_quarantine;

// ------------------------------------------------------------------ faults

// Returns the call that freed the block last; null if it is not remembered. Other threads may change the entries during
// the search, which is harmless because the process is about to end.
const void* freed_at(const void* block) noexcept {
  const void* site = nullptr;
  heaps::registry::for_all([&](const heap& visited) {
    if (site == nullptr && visited.block_quarantine != nullptr) {
      if (const random_quarantine::recent_free* const last = visited.block_quarantine->recall(block)) site = last->site;
    }
  });
  return site;
}

base::hardened_record record_of(const void* block, const hardened_block& shape) noexcept {
  const std::size_t requested = shape.last_requested();
  const bool is_exact = requested != hardened_block::unknown;
  return {block, is_exact ? requested : shape.room(), is_exact, freed_at(block)};
}

size_class class_at(const void* block) noexcept { return heaps::class_in(detail::key_of(block)); }

[[gnu::cold, gnu::noinline, noreturn]] void fault_changed(void* block) noexcept {
  const hardened_block shape(block, class_at(block));
  // Two threads freed the block: one of them has not sent it yet, or the block is in use again.
  if (heaps::is_marked_remotely(block) || shape.requested_bytes() != hardened_block::unknown) {
    fault_freed_twice("free", block);
  }
  base::fault_use_after_free(record_of(block, shape), shape.first_changed());
}

[[gnu::cold]] void fault_lost_mark(void* block) noexcept {
  if (heaps::is_marked(block)) {  // by the owner
    fault_freed_twice("free", block);
  }
  fault_changed(block);
}

[[gnu::cold, gnu::noinline, noreturn]] void fault_overrun(const char* entry, void* block) noexcept {
  const hardened_block shape(block, class_at(block));
  const pages::slab& home = *pages::page_map::slab_of(block);
  // The mark is gone: the program has overwritten it, or the system has its page.
  if (shape.has_free_tail() || home.is_free(home.number_of(block))) fault_freed_twice(entry, block);
  base::fault_overrun(entry, record_of(block, shape));
}

// Reports an address in a slab where no block starts.
[[gnu::cold, gnu::noinline]] void fault_if_misaligned(const char* entry, const void* pointer,
                                                      size_class index) noexcept {
  const pages::slab& home = *pages::page_map::slab_of(pointer);
  const std::size_t number = home.number_of(pointer);
  if (number >= home.capacity) base::fault_foreign_pointer(entry, pointer);
  char* const block = home.block(number);
  if (block != pointer) {
    const std::size_t requested = hardened_block(block, index).last_requested();
    base::fault_misaligned(entry, pointer, block, requested == hardened_block::unknown ? home.bytes : requested);
  }
}

[[gnu::always_inline]] inline void fault_if_free(const char* entry, void* block) noexcept {
  if (heaps::is_marked(block)) [[unlikely]] {
    fault_freed_twice(entry, block);
  }
}

// Returns the requested size of a small block that is not marked. A block that is not in use is a fault.
[[gnu::always_inline]] inline std::size_t check_live(const char* entry, void* block, size_class index) noexcept {
  const hardened_block shape(block, index);
  const std::size_t requested = shape.requested_bytes();
  if (requested == hardened_block::unknown || shape.is_overrun(requested)) [[unlikely]] {
    fault_overrun(entry, block);
  }
  return requested;
}

// ------------------------------------------------------------------- heaps

// The calling thread's heap if the thread may use its magazines and its quarantine without a lock; it is then equal to
// detail::local_heap. It differs from that for a heap that counts its calls, or samples each of them: such a heap has a
// quarantine, too, but takes its lock.
constinit thread_local heap* usual_heap [[gnu::tls_model("initial-exec")]] = nullptr;
[[gnu::always_inline]] inline bool is_usual(const heap* self) noexcept { return self == usual_heap; }

// Returns the calling thread's heap, hardened. Returns null without memory.
heap* ready_heap() noexcept {
  heap* const self = threads::ready(detail::local_heap);
  if (self == nullptr) return nullptr;
  if (canary_key == 0) [[unlikely]] {  // the first block of the process, which has one thread
    heaps::draw_mark();
    canary_key = platform::random_number() | 1;
    heaps::report_lost_mark = fault_lost_mark;
  }
  if (!self->policy.is_hardened()) self->add_trait(heaps::heap_trait::hardened);
  if (self->block_quarantine == nullptr && !self->policy.is_shared()) {
    self->block_quarantine = random_quarantine::make();
    if (self->block_quarantine != nullptr) self->block_quarantine->seed(platform::random_number());
  }
  if (self->block_quarantine != nullptr && self->policy.is_only_hardened()) usual_heap = self;
  return self;
}

// -------------------------------------------------------------- quarantine

/// Keeps visitors out while the owner uses its magazines and its quarantine.
class [[nodiscard]] array_scope {
 public:
  [[gnu::always_inline]] explicit array_scope(heap& self) noexcept : visits_(self.visits) { visits_.enter(); }
  [[gnu::always_inline]] ~array_scope() { visits_.leave(); }
  array_scope(const array_scope&) = delete;
  array_scope& operator=(const array_scope&) = delete;

 private:
  heaps::owner_lock& visits_;
};

[[gnu::noinline]] void give_slow(heap& self, void* block, size_class index) noexcept {
  const heaps::owner_scope hold(self);
  self.deallocate(block, index);
}

// Puts a block of this heap that was wiped into the quarantine, and returns another one; null if there was none.
[[gnu::always_inline]] inline void* delay(heap& self, void* block, size_class index, const void* site) noexcept {
  self.block_quarantine->note(block, site);
  return index <= heaps::last_quarantined ? self.block_quarantine->exchange(block, index) : block;
}

// Does the same, and puts the other block into the magazine. For the usual heap.
[[gnu::always_inline]] inline void retire(heap& self, void* block, size_class index, const void* site) noexcept {
  void* released = nullptr;
  {
    const array_scope use(self);
    released = delay(self, block, index, site);
    if (released == nullptr) [[unlikely]] {
      return;
    }
    void**& top = self.classes[index].closed_top;
    if (!heaps::is_full(top)) [[likely]] {
      *top++ = released;
      return;
    }
  }
  give_slow(self, released, index);
}

void* delay_unusual(heap& self, void* block, size_class index, const void* site) noexcept {
  const array_scope use(self);
  return delay(self, block, index, site);
}

// Does the same for a heap that is not the usual one.
void retire_unusual(heap& self, void* block, size_class index, const void* site) noexcept {
  if (void* const released = delay_unusual(self, block, index, site)) {
    give_slow(self, released, index);
  } else if (self.policy.is_counting()) {  // a call is counted when it comes, not when its block leaves the quarantine
    self.classes[index].frees.add(1);
  }
}

// The number of neighbours in a filled magazine that are shuffled. A larger number would scatter blocks that a program
// allocates together over many cache lines: with all of them, a program that fills a dictionary takes 1.5 times as
// long.
constexpr std::uint32_t shuffled_blocks = 8;

// Brings the blocks of a magazine that was just filled into a random order, within groups. Returns how many there are.
std::uint32_t shuffle(heap& self, size_class index) noexcept {
  const array_scope use(self);
  const heaps::class_state& filled = self.classes[index];
  if (filled.front == nullptr) {  // a decay or a visitor has taken the rest away
    return 0;
  }
  void** const bottom = filled.bottom();
  const auto count = static_cast<std::uint32_t>(filled.closed_top - bottom);
  for (std::uint32_t first = 0; first + shuffled_blocks <= count; first += shuffled_blocks) {
    void** const group = bottom + first;
    std::uint64_t random = self.block_quarantine->draw();
    for (std::uint32_t number = 0; number < shuffled_blocks; ++number, random >>= 3) {
      void* const block = group[number];
      group[number] = group[random % shuffled_blocks];
      group[random % shuffled_blocks] = block;
    }
  }
  return count;
}

// ---------------------------------------------------------------- allocate

[[gnu::always_inline]] inline void* finish_block(void* block, size_class index, std::size_t bytes) noexcept {
  const hardened_block shape(block, index);
  if (!shape.is_wiped()) [[unlikely]] {
    fault_changed(block);
  }
  heaps::mark_of(block) = 0;
  shape.close(bytes);
  return block;
}

void* fail_no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

bool has_empty_magazine(const heap& self, size_class index) noexcept {
  return self.block_quarantine != nullptr && self.classes[index].closed_top[-1] == nullptr;
}

// Allocates a block of a class whose magazine is empty, or whose heap is not usual. A null `site` is not sampled.
[[gnu::noinline]] void* allocate_slow(size_class index, std::size_t bytes, std::size_t alignment,
                                      const void* site) noexcept {
  if (site != nullptr && guard::samples::is_due()) [[unlikely]] {
    if (void* const block = guard::samples::allocate(bytes, alignment, site)) return block;
  }
  heap* const self = ready_heap();
  if (self == nullptr) return fail_no_memory();
  const bool is_refilled = has_empty_magazine(*self, index);
  void* const block = detail::allocate_slow(self, index);
  if (block == nullptr) return fail_no_memory();
  guard::samples::count(1 + (is_refilled ? shuffle(*self, index) : 0));
  return finish_block(block, index, bytes);
}

[[gnu::noinline]] void* allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
  heap* const self = ready_heap();
  if (self == nullptr || bytes > api::largest_request || alignment > api::largest_request) return fail_no_memory();
  if (alignment <= detail::block_alignment && is_usual(self)) {
    if (void* const cached = self->take_cached_large(bytes)) return cached;
  }
  void* const block = detail::allocate_large(self, bytes, alignment, nullptr);
  return block == nullptr ? fail_no_memory() : block;
}

constexpr std::size_t min_room = min_block_bytes - tail_bytes;

// Returns the class for a request; class_count: a large block.
[[gnu::always_inline]] inline size_class class_for(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > detail::largest_class_size - tail_bytes || alignment > pages::unit_bytes) [[unlikely]] {
    return detail::class_count;
  }
  const std::size_t with_tail = (bytes < min_room ? min_room : bytes) + tail_bytes;
  return alignment <= detail::block_alignment ? detail::quick_class_of(with_tail)
                                              : detail::class_of(with_tail, alignment);
}

}  // namespace

std::size_t hardened_block::first_changed() const noexcept {
  if (get(0) != 0) return static_cast<std::size_t>(std::countr_zero(get(0))) / 8;
  std::uint64_t changed = get(sizeof changed);
  if (changed != 0 && !heaps::is_marked(start_)) {
    changed ^= heaps::free_mark ^ reinterpret_cast<std::uintptr_t>(start_);
    const int same_bits = std::countr_zero(changed);
    const int same_bits_remotely = std::countr_zero(changed ^ heaps::remote_mark_bit);
    return sizeof changed +
           static_cast<std::size_t>(same_bits < same_bits_remotely ? same_bits_remotely : same_bits) / 8;
  }
  for (std::size_t offset = 2 * sizeof changed; offset < zeroed_end(); offset += sizeof changed) {
    if (get(offset) != 0) return offset + static_cast<std::size_t>(std::countr_zero(get(offset))) / 8;
  }
  return has_free_tail() ? sizeof changed : room();  // all of a mark was overwritten by zeroes
}

namespace {

// Takes a block out of a magazine of the usual heap; null if it is empty.
[[gnu::always_inline]] inline void* take_usual(heap& self, size_class index) noexcept {
  const array_scope use(self);
  void**& top = self.classes[index].closed_top;
  void* const block = top[-1];
  if (block != nullptr) [[likely]] {
    --top;
  }
  return block;
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  const size_class index = class_for(bytes, alignment);
  if (index >= detail::class_count) [[unlikely]] {
    return allocate_large(bytes, alignment);
  }
  detail::heap_front* const front = detail::local_heap;
  heap* const self = usual_heap;
  if (self == front) [[likely]] {
    if (void* const block = take_usual(*self, index)) [[likely]] {
      return finish_block(block, index, bytes);
    }
  }
  return allocate_slow(index, bytes, alignment, site);
}

void* allocate_zeroed(std::size_t count, std::size_t element_bytes, const void* site) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) return fail_no_memory();
  if (class_for(bytes, detail::block_alignment) == detail::class_count) {
    heap* const self = ready_heap();
    if (self == nullptr || bytes > api::largest_request) return fail_no_memory();
    // Without the tail, the smallest of these requests would not be a large block.
    const std::size_t block_bytes = bytes > detail::largest_class_size ? bytes : detail::largest_class_size + 1;
    void* const block = api::allocate_zeroed(self, 1, block_bytes);
    return block == nullptr ? fail_no_memory() : block;
  }
  void* const block = allocate(bytes, detail::block_alignment, site);
  if (block != nullptr && bytes > max_zeroed_bytes) {
    std::memset(static_cast<char*>(block) + max_zeroed_bytes, 0, bytes - max_zeroed_bytes);
  }
  return block;
}

// -------------------------------------------------------------- deallocate

namespace {

// Frees everything but a block of a size class.
[[gnu::noinline]] void deallocate_rare(void* block, std::size_t stated_bytes, const void* site) noexcept {
  if (block == nullptr) return;
  if (guard::samples::contain(block)) return guard::samples::deallocate("free", block, site);
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  if (key != 0 && heaps::class_in(key) < detail::class_count) fault_if_misaligned("free", block, heaps::class_in(key));
  // A large block that realloc has resized may have more bytes than were requested.
  const heaps::found_block target = heaps::find_block("free", block);
  if (stated_bytes != guard::no_stated_size && stated_bytes > target.bytes) {
    base::fault_wrong_size(block, {stated_bytes, stated_bytes}, target.bytes);
  }
  detail::deallocate_slow(detail::local_heap, block);
}

// Checks a block that is freed, and returns its requested size.
[[gnu::always_inline]] inline std::size_t check_free(void* block, std::size_t stated_bytes, size_class index) noexcept {
  const std::size_t requested = check_live("free", block, index);
  if (stated_bytes != guard::no_stated_size && stated_bytes != requested) [[unlikely]] {
    base::fault_wrong_size(block, {stated_bytes, stated_bytes}, requested);
  }
  return requested;
}

// Wipes a block of the caller's own heap.
[[gnu::always_inline]] inline void wipe_own(void* block, std::size_t requested, size_class index) noexcept {
  heaps::mark(block);
  hardened_block(block, index).wipe(requested);
}

// Wipes a block of another heap.
[[gnu::always_inline]] inline void wipe_remote(void* block, std::size_t requested, size_class index) noexcept {
  if (!heaps::mark_remotely(block)) [[unlikely]] {
    fault_freed_twice("free", block);
  }
  hardened_block(block, index).wipe(requested);
}

// Frees a block in a thread that shares its heap, because its own has ended or because of the option thread_heaps.
// Without the lock, another such thread could adopt the block's slab for that heap between the look at the owner and
// the mark.
[[gnu::noinline]] void give_in_shared_heap(heap& self, void* block, std::size_t requested, size_class index) noexcept {
  const heaps::owner_scope hold(self);
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  if ((key ^ self.address()) == index) {
    wipe_own(block, requested, index);
    self.deallocate(block, index);
  } else {
    wipe_remote(block, requested, index);
    self.deallocate_remote(block, key);
  }
}

}  // namespace

void deallocate(void* block, std::size_t stated_bytes, const void* site) noexcept {
  std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);  // acquire: page_map::set says why
  const size_class index = heaps::class_in(key);
  if (key == 0 || index >= detail::class_count || !pages::may_start_at(block, index)) [[unlikely]] {
    return deallocate_rare(block, stated_bytes, site);
  }
  const bool has_heap = detail::local_heap != &heaps::no_heap;
  heap* const self = ready_heap();
  if (self == nullptr) return;
  if (!has_heap) key = detail::key_of<__ATOMIC_ACQUIRE>(block);  // free_small in memory/thread/paths.cpp says why
  if (index >= pages::first_wide) fault_if_misaligned("free", block, index);
  fault_if_free("free", block);
  const std::size_t requested = check_free(block, stated_bytes, index);
  if (self->policy.is_shared()) [[unlikely]] {
    return give_in_shared_heap(*self, block, requested, index);
  }
  if ((key ^ self->address()) == index) {
    wipe_own(block, requested, index);
    if (self->block_quarantine != nullptr) {
      return is_usual(self) ? retire(*self, block, index, site) : retire_unusual(*self, block, index, site);
    }
  } else {
    wipe_remote(block, requested, index);
    if (self->block_quarantine != nullptr) self->block_quarantine->note(block, site);
  }
  detail::deallocate_slow(self, block);
}

void deallocate_own(void* block, std::size_t stated_bytes, const void* site, size_class index) noexcept {
  heap* const self = usual_heap;
  if (self != detail::local_heap || index >= pages::first_wide) [[unlikely]] {
    return deallocate(block, stated_bytes, site);
  }
  wipe_own(block, check_free(block, stated_bytes, index), index);
  retire(*self, block, index, site);
}

void fault_freed_twice(const char* entry, const void* block) noexcept {
  const hardened_block shape(const_cast<void*>(block), class_at(block));
  base::fault_double_free(entry, record_of(block, shape));
}

// ------------------------------------------------------------------ resize

namespace {

struct raw_moves {
  static void* allocate(detail::heap_front*, std::size_t raw_bytes) noexcept {
    const std::size_t bytes = raw_bytes > detail::largest_class_size ? raw_bytes : raw_bytes - tail_bytes;
    return hardening::allocate(bytes, detail::block_alignment, nullptr);
  }
  static void give_back(detail::heap_front*, void* block) noexcept {
    deallocate(block, guard::no_stated_size, nullptr);
  }
};

}  // namespace

void* reallocate(void* block, std::size_t bytes, const void* site) noexcept {
  if (block == nullptr) return allocate(bytes, detail::block_alignment, site);
  heap* const self = ready_heap();
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  const size_class index = heaps::class_in(key);
  const bool is_small = key != 0 && index < detail::class_count;
  if (is_small) fault_if_misaligned("realloc", block, index);
  std::size_t before = 0;
  if (is_small) {
    fault_if_free("realloc", block);
    before = check_live("realloc", block, index);
  }
  if (self == nullptr) return nullptr;
  // The engine knows only whole blocks; the tail is a part of a small one.
  const std::size_t raw = bytes > detail::largest_class_size ? bytes : bytes + tail_bytes;
  void* const result = api::resize<raw_moves>(self, block, key, raw);
  if (result == nullptr) return nullptr;
  if (is_small && result != block && self->block_quarantine != nullptr) self->block_quarantine->note(block, site);
  if (is_small && bytes > before) {  // the canary and the tail may lie in bytes that belong to the program now
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
  if (key != 0 && heaps::class_in(key) < detail::class_count) fault_if_misaligned(entry, block, heaps::class_in(key));
  const heaps::found_block target = heaps::find_block(entry, block);
  if (target.is_large()) return target.bytes;
  fault_if_free(entry, const_cast<void*>(block));
  return check_live(entry, const_cast<void*>(block), target.index);
}

// ------------------------------------------------------------ start and end

namespace {

// Checks the blocks in quarantine when the program ends, after its own destructors.
[[gnu::destructor]] void verify() noexcept {
  if (guard::current_mode.load(std::memory_order_relaxed) != guard::mode::hardened) return;
  const auto* const self = static_cast<const heap*>(detail::local_heap);
  if (detail::local_heap == &heaps::no_heap || self->block_quarantine == nullptr) return;
  const array_scope use(const_cast<heap&>(*self));
  for (size_class index = 0; index < detail::class_count; ++index) {
    self->block_quarantine->empty(index, [index](void* block) {
      if (!hardened_block(block, index).is_wiped()) fault_changed(block);
    });
  }
}

}  // namespace
}  // namespace tarn::hardening
