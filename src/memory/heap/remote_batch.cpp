// Batches that are handed over whole: the magazines of the owner take the blocks, as if the owner had freed them
// itself.
//
// A batch costs less than the bits of its blocks, because it takes one atomic operation, and its blocks are reused
// first. But it takes memory of its own, and while it waits, no slab with one of its blocks can go back. So only a few
// batches wait for one owner; further blocks are sent as bits.
#include "memory/heap/remote_batch.hpp"

#include <algorithm>
#include <new>

#include "base/fault.hpp"
#include "memory/heap/block_finder.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/heap/heap.hpp"
#include "memory/heap/lookup.hpp"

namespace tarn::heaps {
namespace {

/// The blocks of one owner in a batch of several owners.
struct owner_group {
  heap* owner = nullptr;
  std::size_t count = 0;
  std::size_t bytes = 0;
  remote_batch* batch = nullptr;
};
constexpr std::size_t groups_in_batch = 16;
/// A batch is not divided if its first `first_look` blocks all have different owners.
constexpr std::size_t first_look = 32;

// Heaps are records of one size, one after the other.
std::size_t group_of(const heap* owner) noexcept {
  return (reinterpret_cast<std::uintptr_t>(owner) * 0x9e3779b97f4a7c15u) >> 60;
}
static_assert(groups_in_batch == std::size_t{1} << (64 - 60));

// Returns the number of the owner's group, which it may just have got; groups_in_batch if others have all that it may
// have, or if there is no owner: a second free let the block's slab go, which is reported when the block is sent.
std::size_t find_group(owner_group* groups, heap* owner) noexcept {
  if (owner == nullptr) return groups_in_batch;
  std::size_t number = group_of(owner);
  if (groups[number].owner != nullptr && groups[number].owner != owner) {
    number = (number + 1) % groups_in_batch;  // so that two owners always find a group each
  }
  if (groups[number].owner == nullptr) groups[number].owner = owner;
  return groups[number].owner == owner ? number : groups_in_batch;
}

bool have_different_owners(const owner_group* groups) noexcept {
  return std::all_of(groups, groups + groups_in_batch, [](const owner_group& group) { return group.count <= 1; });
}

/// Blocks whose cache lines are fetched ahead: about as many as a core can wait for at a time.
constexpr std::size_t fetched_ahead = 32;

/// Fetches the line of a block's mark, and takes it from the thread that freed the block. GCC's __builtin_prefetch
/// would only share the line, unless the program is built for processors that all have the instruction. A processor
/// that does not have it ignores it.
void fetch(void* block) noexcept {
  const std::uintptr_t* const read_next = &mark_of(block);
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(read_next));
#else
  __builtin_prefetch(read_next, 1);
#endif
}

}  // namespace

// Returns true if the owner probably accepts a batch: it may end, or other threads may post, at any time.
bool heap::accepts_batch() const noexcept {
  return state.load(std::memory_order_relaxed) == ownership::occupied && !policy.is_closed() &&
         batch_quota.load(std::memory_order_relaxed) > 0;
}

// Runs in the sender, which gives up the batch.
void heap::hand_over(remote_batch& sent, std::size_t count, std::size_t bytes) noexcept {
  sent.batch_blocks = static_cast<std::uint32_t>(count);
  sent.batch_bytes = static_cast<std::uint32_t>(bytes);
  batch_quota.fetch_sub(1, std::memory_order_relaxed);
  remote_inbox.post(sent);
  note_posted();
  note_waiting(bytes);
}

// All blocks of the batch have one owner.
bool heap::hand_over_whole(batch_content content) noexcept {
  heap& owner = *owner_in(cursor.first_key);
  if (!owner.accepts_batch()) return false;
  owner.hand_over(*outgoing_batch, content.blocks(), content.bytes());
  outgoing_batch = nullptr;
  cursor.next = nullptr;
  return true;
}

// Makes a batch for each owner that has many of the blocks. Returns how many blocks are left; they come first.
std::size_t heap::hand_over_groups(void** blocks, std::size_t count) noexcept {
  owner_group groups[groups_in_batch + 1];  // the last one has the blocks of owners that found no group
  std::uint8_t numbers[remote_batch::capacity];
  std::size_t next_look = first_look;
  for (std::size_t position = 0; position < count;) {
    if (position >= next_look) {
      // Then there are so many owners that hardly one has enough of the blocks.
      if (have_different_owners(groups)) return count;
      next_look = count;
    }
    // Often many blocks in a row have one owner.
    std::uintptr_t key = pages::page_map::key_of_block(blocks[position]);
    heap* const owner = owner_in(key);
    const std::size_t group = find_group(groups, owner);
    const std::size_t start = position;
    std::size_t bytes = 0;
    do {
      numbers[position] = static_cast<std::uint8_t>(group);
      bytes += pages::shapes.classes[class_in(key)].block_bytes;
      key = ++position < count ? pages::page_map::key_of_block(blocks[position]) : 0;
    } while (position < count && owner_in(key) == owner);
    groups[group].count += position - start;
    groups[group].bytes += bytes;
  }
  bool is_divided = false;
  for (owner_group& share : groups) {
    if (share.owner != nullptr && share.count >= remote_batch::min_batch_blocks && share.owner->accepts_batch()) {
      if (magazine* const array = stock.take_any()) {
        share.batch = ::new (array) remote_batch;
        share.count = 0;
        is_divided = true;
      }
    }
  }
  if (!is_divided) return count;
  std::size_t left = 0;
  for (std::size_t position = 0; position < count; ++position) {
    owner_group& share = groups[numbers[position]];
    if (share.batch != nullptr) {
      share.batch->blocks[share.count++] = blocks[position];
    } else {
      blocks[left++] = blocks[position];
    }
  }
  for (const owner_group& share : groups) {
    if (share.batch != nullptr) share.owner->hand_over(*share.batch, share.count, share.bytes);
  }
  return left;
}

// Handles a block whose key is not of this heap. Returns the block's class, or class_count if the slab was adopted
// after the sender had read its key; the block is then sent on.
size_class heap::check_received(void* block, std::uintptr_t key) noexcept {
  // A second free may have ended the block. Then no block starts here any more, which find_block reports, or a large
  // one.
  if (const found_block now = find_block("free", block); now.is_large())
    base::fault_double_free("free", block, now.bytes);
  if (owner_in(key) == this) return class_in(key);
  remote_frees.subtract(1);  // the other heap counts it when it takes the block in
  remote_bytes.subtract(detail::size_of(class_in(key)));
  owner_in(key)->receive(block_finder{}.find(block));
  return detail::class_count;
}

// Calls `visit(block, class)` for the blocks of a batch that belong to this heap, and frees the batch.
template <class Visit>
void heap::take_batch(remote_batch& batch, bool must_mark, Visit visit) noexcept {
  void* const* const end = batch.blocks + batch.batch_blocks;
  void* const* ahead = batch.blocks;
  while (ahead != end && ahead != batch.blocks + fetched_ahead) fetch(*ahead++);
  for (void* const* slot = batch.blocks; slot != end; ++slot) {
    if (ahead != end) fetch(*ahead++);
    void* const block = *slot;
    const std::uintptr_t key = pages::page_map::key_of_block(block);
    std::uintptr_t index = key ^ address();
    if (index >= pages::first_wide || !pages::may_start_at(block, static_cast<size_class>(index))) [[unlikely]] {
      index = check_received(block, key);
      if (index == detail::class_count) continue;
    }
    if (must_mark) {
      if (is_marked(block)) [[unlikely]] {
        base::fault_double_free("free", block, detail::size_of(static_cast<size_class>(index)));
      }
      mark(block);
    }
    visit(block, static_cast<size_class>(index));
  }
  stock.give(reinterpret_cast<magazine*>(&batch));
}

void heap::receive_batch(remote_batch& sent, taker role) noexcept {
  remote_frees.add(sent.batch_blocks);
  remote_bytes.add(sent.batch_bytes);
  if (role != taker::owner || policy.is_closed()) {
    take_batch(sent, role != taker::tender && marks_blocks,
               [&](void* block, size_class) { give_to_slab(block, role != taker::tender); });
    return;
  }
  take_batch(sent, marks_blocks, [&](void* block, size_class index) {
    if (is_full(top[index])) [[unlikely]] {
      spill(index);
      if (is_full(top[index])) {  // there is no memory for a magazine
        give_to_slab(block, true);
        return;
      }
    }
    *top[index]++ = block;
  });
}

// Sets the bits of the blocks of a batch, so that slabs whose blocks are all remotely freed can be found. Adds the
// slabs that are now posted to the list, and returns the list.
inbox::node* heap::unpack(remote_batch& packed, inbox::node* list) noexcept {
  block_finder finder;
  for (std::size_t position = 0; position < packed.batch_blocks; ++position) {
    const freed_blocks freed = finder.find(packed.blocks[position]);
    const pages::remote_frees::sent sent = freed.home->free_remotely(freed.word, freed.freed);
    if (sent.must_post) {
      freed.home->next_sent = list;
      list = freed.home;
    }
    if ((sent.before & freed.freed) != 0) [[unlikely]] {
      base::fault_double_free("free", packed.blocks[position], detail::size_of(class_in(freed.key)));
    }
  }
  magazine_stock::discard(reinterpret_cast<magazine*>(&packed));
  return list;
}

}  // namespace tarn::heaps
