// Remote frees, and the life of a heap without an owner.
#include <cstring>
#include <initializer_list>
#include <new>

#include "base/fault.hpp"
#include "heap/free_mark.hpp"
#include "heap/heap.hpp"
#include "heap/lookup.hpp"
#include "heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

/// Blocks whose cache lines are asked for before they are marked.
constexpr std::uint32_t ahead = 16;

/// Calls `each` for every block of `sent`. A parcel that counts no blocks is a
/// block itself: see bounce.
template <class Each>
void for_blocks(parcel* sent, Each each) {
  if (sent->count == 0) {
    each(sent);
    return;
  }
  for (std::uint32_t at = 0; at < sent->count; ++at) {
    if (marks_blocks && at + ahead < sent->count) {
      __builtin_prefetch(static_cast<char*>(sent->blocks[at + ahead]) + sizeof(void*), 1);
    }
    each(sent->blocks[at]);
  }
}

}  // namespace

// ---------------------------------------------------------------- sending

void heap::deallocate_remote(void* block, std::uintptr_t key) noexcept {
  heap* const owner = owner_in(key);
  check_strict(*owner, block);
  const std::size_t block_bytes = pages::shapes.of[class_in(key)].block_bytes;
  detail::mark_free(block, block_bytes);
  outbox::place& place = out.place_for(owner->number);
  parcel* const filling = place.filling;
  // relaxed: a release() that would void this block is ordered with this free by
  // the program, or the program is wrong.
  if (filling == nullptr || place.owner != owner ||
      filling->generation != owner->generation.load(std::memory_order_relaxed)) [[unlikely]] {
    start_parcel(place, *owner, block, key);
    return;
  }
  filling->blocks[filling->count++] = block;
  place.bytes += block_bytes;
  if (filling->count == parcel::capacity || place.bytes >= parcel_bytes_limit) [[unlikely]] {
    send(place);
    tick();
  }
}

// What `place` holds goes to its owner; `block` is the first of the next parcel.
void heap::start_parcel(outbox::place& place, heap& owner, void* block, std::uintptr_t key) noexcept {
  if (place.filling != nullptr) {
    send(place);
  }
  auto* const fresh = reinterpret_cast<parcel*>(stock.take_any());
  if (fresh == nullptr) {
    bounce(block, key);
    return;
  }
  fresh->generation = owner.generation.load(std::memory_order_relaxed);
  fresh->count = 1;
  fresh->blocks[0] = block;
  place = {.owner = &owner, .filling = fresh, .bytes = pages::shapes.of[class_in(key)].block_bytes};
  if (place.bytes >= parcel_bytes_limit || owner.prompt) {
    send(place);
    tick();
  }
}

void heap::send(outbox::place& from) noexcept {
  heap* const owner = from.owner;
  const std::uint64_t bytes = from.bytes;
  owner->in.post(from.filling);
  from = {};
  owner->tend_if_idle();
  // relaxed: only a measure of when it is worth a look.
  if (owner->sent_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes >
      owner->most_sent_bytes.load(std::memory_order_relaxed)) [[unlikely]] {
    owner->set_aside(stock);
  }
}

void heap::send_all() noexcept {
  for (outbox::place& place : out) {
    if (place.filling != nullptr) {
      send(place);
    }
  }
}

// Sends one block without needing memory: the block is its own parcel. Also used
// for blocks whose slab has changed hands while they were on their way.
void heap::bounce(void* block, std::uintptr_t key) noexcept {
  heap* const owner = owner_in(key);
  detail::mark_allocated(block, sizeof(void*) * 2);
  auto* const header = static_cast<parcel*>(block);
  header->count = 0;
  header->generation = owner->generation.load(std::memory_order_relaxed);
  owner->in.post(header);
  owner->tend_if_idle();  // not deep: a heap that is being tended is not idle
}
static_assert(offsetof(parcel, blocks) <= detail::block_alignment);

// -------------------------------------------------------------- collecting

// Empties both inboxes: `own` gets each block of this heap, `moved` those whose slab has
// gone to another one meanwhile.
template <class Own, class Moved>
void heap::take_in(Own own, Moved moved) noexcept {
  sent_bytes.store(0, std::memory_order_relaxed);
  for (parcel* others : {in.take_all(), take_set_aside()}) {
    while (others != nullptr) {
      parcel* const sent = others;
      others = sent->next;
      const bool alone = sent->count == 0;
      if (sent->generation == generation.load(std::memory_order_relaxed)) {
        std::uint64_t owned = 0;
        for_blocks(sent, [&](void* block) {
          const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);  // see page_map::set
          if (const std::uintptr_t index = key ^ address(); index < detail::class_count) [[likely]] {
            own(block, static_cast<size_class>(index));
            ++owned;
          } else {
            moved(block, key);
          }
        });
        remote_frees.add(owned);
      }
      if (!alone) {
        stock.give(reinterpret_cast<magazine*>(sent));
      }
    }
  }
}

void heap::collect() noexcept {
  take_in(
      [this](void* block, size_class index) {
        if (marks_blocks) {
          if (is_marked(block)) [[unlikely]] {
            base::fault_double_free("free", block, detail::size_of(index));
          }
          mark(block);
        }
        void** const at = top[index];
        if (!is_full(at)) [[likely]] {  // always full in a closed heap
          *at = block;
          top[index] = at + 1;
        } else {
          deallocate(block, index);
        }
      },
      [this](void* block, std::uintptr_t key) { deallocate_remote(block, key); });
}

// As collect, by somebody who must not fill magazines: the heap has no thread.
void heap::collect_into_slabs() noexcept {
  take_in(
      [this](void* block, size_class index) {
        if (counting) {
          classes[index].freed.add(1);
        }
        give_to_slab(block, index, false);
      },
      [](void* block, std::uintptr_t key) { bounce(block, key); });
}

// ------------------------------------------------------- without an owner

// The owner leaves. A block must not be stranded in the inbox of an idle heap:
//
//   owner                        sender
//   1 collects the inbox
//                                2 posts a parcel
//   3 state = idle
//   4 looks into the inbox       5 looks at the state
//
// 2, 3, 4 and 5 are sequentially consistent. If 2 comes before 4, the owner sees
// the parcel in 4 and tends. Otherwise 3 is before 4 is before 2 is before 5, and
// the sender sees `idle` in 5 and tends. With anything weaker both may look before
// either has written. The same holds between a tender's last look and a sender.
void heap::retire() noexcept {
  send_all();
  collect();
  flush_all();
  send_all();  // what collect found to be another heap's
  stock.clear();
  most_sent_bytes.store(first_most_sent_bytes, std::memory_order_relaxed);  // of the next owner nothing is known
  state.store(ownership::idle, std::memory_order_seq_cst);
  tend();
}

void heap::tend() noexcept {
  while (anything_sent()) {
    ownership expected = ownership::idle;
    if (!state.compare_exchange_strong(expected, ownership::tending, std::memory_order_seq_cst)) {
      return;  // an owner, or another tender, who will look again
    }
    collect_into_slabs();
    state.store(ownership::idle, std::memory_order_seq_cst);
  }
}

// A slab of a heap without owner, rather than new memory.
pages::slab* heap::adopt_slab(size_class index) noexcept {
  if (space != &central() || !registry::any_idle()) {
    return nullptr;
  }
  pages::slab* found = nullptr;
  registry::for_idle([&](heap& other) {
    ownership expected = ownership::idle;
    if (!other.state.compare_exchange_strong(expected, ownership::tending, std::memory_order_seq_cst)) {
      return true;
    }
    other.collect_into_slabs();
    found = other.classes[index].available.front();
    if (found != nullptr) {
      const std::size_t in_use = static_cast<std::size_t>(found->capacity - found->free_blocks);
      other.lose(found, false);
      other.taken_bytes.subtract(in_use * detail::size_of(index));
      taken_bytes.add(in_use * detail::size_of(index));
      // Threads that free a block meanwhile may still send it to `other`, who
      // will find the new key and send it on.
      pages::page_map::set(found->start, found->units, address() | index, found);
    }
    other.state.store(ownership::idle, std::memory_order_seq_cst);
    other.tend();
    return found == nullptr;
  });
  return found;
}

}  // namespace tarn::heaps
