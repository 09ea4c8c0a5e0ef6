// Blocks that wait for an owner who does not come.
//
// Only the owner looks into its inbox, so what other threads free for one that sleeps
// would wait until it wakes, its memory with it. So when much has been sent since
// anybody looked, the sender sets it aside: it takes the parcels out, as the owner would,
// counts their blocks in their slabs, and gives back the pages of slabs all of whose
// blocks wait. The parcels go to a second inbox, `aside`; the owner finds them there when
// it comes, and with them the blocks, whose pages are touched anew when they are used.
//
// Only blocks over central(): the memory of a heap object may be gone before the parcels.
//
// One lock for all heaps guards slab::set_aside. Invariant, outside of the lock: the
// count of each slab is the number of its blocks in parcels of some heap's `aside`.
// The pages are given back under the lock: until it is released no owner can have one of
// the blocks, because it would have to take it off the count first.
#include "heap/set_aside.hpp"

#include "heap/heap.hpp"
#include "heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

constinit platform::mutex counts_lock{platform::lock_rank::set_aside};

/// A parcel that is itself a block (heap::bounce) has its list of blocks inside, so
/// that its pages are needed.
template <class Each>
void for_listed_blocks(const parcel& sent, Each each) {
  for (std::uint32_t at = 0; at < sent.count; ++at) {
    each(*pages::page_map::slab_of(sent.blocks[at]));
  }
}

}  // namespace

platform::mutex& set_aside_lock() noexcept { return counts_lock; }

// Parcels of large blocks hold few; together they take fewer arrays. Those left over go
// to `spare`.
void heap::set_aside(magazine_stock& spare) noexcept {
  if (space != &central()) {
    return;
  }
  parcel* emptied = nullptr;  // given to `spare` without the lock, since for that another may be taken
  {
    const platform::locked hold(counts_lock);
    sent_bytes.store(0, std::memory_order_relaxed);
    parcel* filling = nullptr;
    parcel* others = nullptr;
    for (parcel* sent = in.take_all(); sent != nullptr; sent = others) {
      others = sent->next;
      for_listed_blocks(*sent, [](pages::slab& home) {
        if (++home.set_aside == home.capacity) {
          platform::purge(home.start, home.units * pages::unit_bytes);
        }
      });
      if (sent->count == 0) {
        aside.post(sent);
        continue;
      }
      while (filling != nullptr && filling->count < parcel::capacity && sent->count != 0) {
        filling->blocks[filling->count++] = sent->blocks[--sent->count];
      }
      if (sent->count == 0) {
        sent->next = emptied;
        emptied = sent;
      } else {
        if (filling != nullptr) {
          aside.post(filling);
        }
        filling = sent;
      }
    }
    if (filling != nullptr) {
      aside.post(filling);
    }
  }
  while (emptied != nullptr) {
    auto* const array = reinterpret_cast<magazine*>(emptied);
    emptied = emptied->next;
    spare.give(array);
  }
  tend_if_idle();
}

parcel* heap::take_set_aside() noexcept {
  if (aside.empty()) {
    return nullptr;
  }
  const platform::locked hold(counts_lock);
  parcel* const first = aside.take_all();
  for (const parcel* sent = first; sent != nullptr; sent = sent->next) {
    for_listed_blocks(*sent, [](pages::slab& home) { --home.set_aside; });
  }
  // This owner does come; it only takes longer.
  const std::uint64_t most = most_sent_bytes.load(std::memory_order_relaxed);
  most_sent_bytes.store(most < last_most_sent_bytes ? 2 * most : most, std::memory_order_relaxed);
  return first;
}

}  // namespace tarn::heaps
