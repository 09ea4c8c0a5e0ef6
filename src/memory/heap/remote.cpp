// Remote frees: a thread gathers the blocks of other heaps that it frees, and sets the bits of those blocks in their
// slabs; the owner takes the bits back.
#include <algorithm>
#include <new>

#include "base/check.hpp"
#include "base/fault.hpp"
#include "memory/heap/block_finder.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/heap/heap.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/heap/unit_sorter.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

/// Words that are sent together. They are enough that cold cache lines of many owners arrive at the same time, and
/// few enough for small stacks.
constexpr std::size_t group = 32;

}  // namespace

// ---------------------------------------------------------------- sending

void heap::deallocate_remote(void* block, std::uintptr_t key) noexcept {
  detail::mark_free(block, detail::size_of(class_in(key)));
  if (!owner_in(key)->frees_may_wait.load(std::memory_order_relaxed) || !add_to_batch(*this, block, key)) [[unlikely]] {
    deallocate_remote_slow(block, key);
  }
}

void heap::deallocate_remote_slow(void* block, std::uintptr_t key) noexcept {
  heap& owner = *owner_in(key);
  check_strict(owner, block);
  // A block in the batch of a shared heap would wait for a thread that may never call again.
  const bool may_wait = owner.frees_may_wait.load(std::memory_order_relaxed);
  if (!may_wait || policy.is_shared() || !open_batch()) {
    if (may_wait) {
      outgoing_blocks.add_together(1);
      outgoing_bytes.add_together(detail::size_of(class_in(key)));
    }
    owner.receive(block_finder{}.find(block));
    return;
  }
  if (cursor.next == outgoing_batch->blocks) {
    batch_content::with_room(remote_batch::bytes_limit).store(cursor);
    cursor.first_key = key;
    cursor.key_difference = 0;
  }
  if (!add_to_batch(*this, block, key)) {  // the block fills the batch
    *cursor.next++ = block;
    (batch_content::read(cursor) - batch_steps.steps[class_in(key)]).store(cursor);
    cursor.key_difference |= key ^ cursor.first_key;
    const owner_scope hold(*this);
    send_all();
    tick();
  }
}

bool heap::open_batch() noexcept {
  if (outgoing_batch == nullptr) {
    const owner_scope hold(*this);
    void* const array = stock.take_any();
    if (array == nullptr) return false;
    outgoing_batch = ::new (array) remote_batch;
    cursor.next = outgoing_batch->blocks;
  }
  return true;
}

void heap::close_batch() noexcept {
  if (outgoing_batch != nullptr) {
    stock.give(reinterpret_cast<magazine*>(outgoing_batch));
    outgoing_batch = nullptr;
    cursor.next = nullptr;
  }
}

void heap::send_all() noexcept {
  const batch_content content = batch_content::read(cursor);
  batch_content().store(cursor);
  std::size_t count = content.blocks();
  if (count == 0) return;
  TARN_CHECK(cursor.next == outgoing_batch->blocks + count);
  outgoing_blocks.add(count);
  outgoing_bytes.add(content.bytes());
  if (count >= remote_batch::min_batch_blocks && may_hand_over()) {
    if (cursor.key_difference > pages::mark_mask) {
      count = hand_over_groups(outgoing_batch->blocks, count);
    } else if (hand_over_whole(content)) {
      return;
    }
  }
  if (count > group && cursor.key_difference > pages::mark_mask) {
    send_sorted(outgoing_batch->blocks, count);
  } else {
    send(outgoing_batch->blocks, count);
  }
  cursor.next = outgoing_batch->blocks;
}

// Not inline, because other sends need no such stack.
[[gnu::noinline]] void heap::send_sorted(void** blocks, std::size_t count) noexcept {
  unit_sorter sorter;
  send(sorter.sort(blocks, count), count);
}

void heap::send(void** blocks, std::size_t count) noexcept {
  for (void** const end = blocks + count; blocks != end;) blocks = send_group(blocks, end);
}

// Sends neighbours in one word together. Each loop prefetches the cache lines that the next one needs. Returns the
// first block that is left.
void** heap::send_group(void** next, void** end) noexcept {
  freed_blocks groups[group];
  std::size_t group_count = 0;
  block_finder finder;
  while (next != end && group_count != group) {
    freed_blocks joined = finder.find(*next);
    TARN_CHECK(class_in(joined.key) < detail::class_count && "a large block has no bit");
    while (++next != end) {
      const freed_blocks located = finder.find(*next);
      if (located.home != joined.home || located.word != joined.word) break;
      if ((joined.freed & located.freed) != 0) [[unlikely]] {
        base::fault_double_free("free", *next, detail::size_of(class_in(joined.key)));
      }
      joined.freed |= located.freed;
    }
    __builtin_prefetch(static_cast<pages::remote_frees*>(joined.home), 1);
    __builtin_prefetch(&owner_in(joined.key)->state);
    groups[group_count++] = joined;
  }
  for (std::size_t index = 0; index < group_count; ++index) {
    __builtin_prefetch(&groups[index].home->remote_words[groups[index].word], 1);
  }
  for (std::size_t index = 0; index < group_count; ++index) owner_in(groups[index].key)->receive(groups[index]);
  return next;
}

// Runs on the thread that freed the blocks. The slab may have changed hands since the caller read its key: then the
// collector of this heap sends it on.
void heap::receive(const freed_blocks& blocks) noexcept {
  // relaxed: it is only a hint; give_directly checks again.
  if (state.load(std::memory_order_relaxed) == ownership::idle && give_directly(blocks)) return;
  const pages::remote_frees::sent sent = blocks.home->free_remotely(blocks.word, blocks.freed);
  if (sent.must_post) {
    remote_inbox.post(*blocks.home);
    note_posted();
  }
  const size_class index = class_in(blocks.key);
  const std::size_t block_bytes = pages::shapes.classes[index].block_bytes;
  if (const std::uint64_t repeated = sent.before & blocks.freed; repeated != 0) [[unlikely]] {
    base::fault_double_free("free", blocks.start + static_cast<std::size_t>(std::countr_zero(repeated)) * block_bytes,
                            block_bytes);
  }
  if (const std::uint64_t waiting = sent.before | blocks.freed; waiting == pages::full_word(index, blocks.word)) {
    note_waiting(static_cast<std::size_t>(std::popcount(waiting)) * block_bytes);
  }
}

// Called when a slab or a batch was put into the inbox. A batch counts as a slab, because it keeps slabs from going
// back.
void heap::note_posted() noexcept {
  tend_if_idle();
  note_retained((posts.fetch_add(1, std::memory_order_relaxed) + 1) * pages::unit_bytes);
}

// A little memory in each of many heaps is as much as a lot in one. So this heap's bytes are multiplied by the number
// of heaps.
void heap::note_retained(std::size_t bytes) noexcept { pages::space::note_retained(bytes * registry::heap_count()); }

// -------------------------------------------------------------- collecting

// Reports a marked block: it lies in a magazine of its owner, so it was freed twice. With `must_set` this marks the
// other blocks, so that the owner's next free notices a mistake.
void heap::check_marks(const pages::slab& home, std::size_t word, std::uint64_t freed, bool must_set) noexcept {
  const std::size_t block_bytes = detail::size_of(home.index);
  char* const first = home.start + word * 64 * block_bytes;
  for (std::uint64_t left = freed; left != 0; left &= left - 1) {
    __builtin_prefetch(first + static_cast<std::size_t>(std::countr_zero(left)) * block_bytes + sizeof(void*), 1);
  }
  for (std::uint64_t left = freed; left != 0; left &= left - 1) {
    char* const block = first + static_cast<std::size_t>(std::countr_zero(left)) * block_bytes;
    if (is_marked(block)) [[unlikely]] {
      base::fault_double_free("free", block, block_bytes);
    }
    if (must_set) mark(block);
  }
}

// Reports a block of a hardened heap without the remote mark. With `must_set` the blocks get the owner's mark.
void heap::check_remote_marks(const pages::slab& home, std::size_t word, std::uint64_t freed, bool must_set) noexcept {
  const std::size_t block_bytes = detail::size_of(home.index);
  for (std::uint64_t left = freed; left != 0; left &= left - 1) {
    char* const block = home.start + (word * 64 + static_cast<std::size_t>(std::countr_zero(left))) * block_bytes;
    if (!is_marked_remotely(block)) [[unlikely]] {
      report_lost_mark(block);
    }
    if (must_set) mark(block);
  }
}

void heap::take_inbox(taker role) noexcept {
  sent_bytes.store(0, std::memory_order_relaxed);
  posts.store(0, std::memory_order_relaxed);
  inbox_takes.add(1);
  const std::uint64_t eighth = slab_bytes.get() / (8 * detail::magazine_bytes);
  batch_quota.store(std::max(remote_batch::min_quota, static_cast<std::int32_t>(eighth)), std::memory_order_relaxed);
  subtract_reclaimed();
  for (inbox::node *sent = remote_inbox.take_all(), *following = nullptr; sent != nullptr; sent = following) {
    following = sent->next_sent;
    __builtin_prefetch(following, 1);
    if (sent->batch_blocks != 0) {
      receive_batch(*static_cast<remote_batch*>(sent), role);
    } else {
      take_slab(*static_cast<pages::slab*>(sent), role);
    }
  }
}

void heap::take_slab(pages::slab& home, taker role) noexcept {
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(home.start);  // acquire: page_map::set says why
  if (heap* const owner = owner_in(key); owner != this) {  // the slab was adopted after a sender had read its key
    owner->remote_inbox.post(home);
    owner->tend_if_idle();
    return;
  }
  const bool was_full = home.full();
  std::size_t taken_count = 0;
  home.take_remote([&](std::size_t word, std::uint64_t freed) {
    if (policy.is_hardened()) {
      check_remote_marks(home, word, freed, true);
    } else if (role != taker::tender && marks_blocks) {
      check_marks(home, word, freed, true);
    }
    home.give_word(word, freed);
    taken_count += static_cast<std::size_t>(std::popcount(freed));
  });
  count_returned(home, taken_count, was_full, role != taker::tender);
}

void heap::count_returned(pages::slab& home, std::size_t count, bool was_full, bool keeps_one) noexcept {
  remote_frees.add(count);
  remote_bytes.add(count * detail::size_of(home.index));
  if (policy.is_counting()) classes[home.index].frees.add(count);
  settle(home, count, was_full, keeps_one);
}

void heap::collect() noexcept { take_inbox(taker::owner); }

// Drops the whole inbox: its blocks have ended. No batch is in it, because it belongs to a heap object.
void heap::discard_inbox() noexcept {
  sent_bytes.store(0, std::memory_order_relaxed);
  posts.store(0, std::memory_order_relaxed);
  for (inbox::node *sent = remote_inbox.take_all(), *following = nullptr; sent != nullptr; sent = following) {
    following = sent->next_sent;
    TARN_CHECK(sent->batch_blocks == 0);
    static_cast<pages::slab*>(sent)->take_remote([](std::size_t, std::uint64_t) {});
  }
}

}  // namespace tarn::heaps
