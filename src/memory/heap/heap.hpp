// A heap: the slabs and magazines of one owner.
//
//   front      top[class] → magazine          owner, inline (tarn/detail)
//   depot      full magazines by class        owner
//   slabs      by class, those with free blocks
//   batch      blocks of other heaps that this heap's thread freed
//   inbox      slabs of this heap with blocks that other threads freed
//
// Invariant: each block of each slab of the heap is in exactly one place: with the program, in a magazine (front or
// depot), in the remote batch of some heap, among the remote frees of its slab, in the quarantine of a hardened heap,
// or free in its slab. A thread that moves blocks between these holds them for a moment.
//
// Other threads than the owner only use the inbox, the atomics, and large blocks, which the lock of the space guards. A
// visitor acts for an owner that sleeps: visit() says how. The owner is the heap's thread, or the thread that has set
// `state` to tending.
// List links: they belong to the registry's list of heaps without an owner.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tarn/statistics.hpp>

#include "base/list.hpp"
#include "memory/heap/growing_blocks.hpp"
#include "memory/heap/inbox.hpp"
#include "memory/heap/large_cache.hpp"
#include "memory/heap/magazine.hpp"
#include "memory/heap/owner_lock.hpp"
#include "memory/heap/policy.hpp"
#include "memory/heap/remote_batch.hpp"
#include "memory/pages/space.hpp"

namespace tarn::heaps {

/// A single-writer, multi-reader counter: it needs no read-modify-write.
class owner_counter {
 public:
  constexpr owner_counter() noexcept = default;
  owner_counter& operator=(const owner_counter& source) noexcept {
    count_.store(source.get(), std::memory_order_relaxed);
    return *this;
  }
  void add(std::uint64_t amount) noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t amount) noexcept { add(~amount + 1); }
  /// Any thread may call it if all that change the counter do.
  void add_together(std::uint64_t amount) noexcept { count_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

/// Heaps that never used this many bytes are not shrunk. The bound of a hardened heap is higher, so that it remembers
/// freed blocks longer.
inline constexpr std::uint64_t min_shrunk_bytes = std::uint64_t{64} << 10;
inline constexpr std::uint64_t min_shrunk_hardened_bytes = std::uint64_t{32} << 20;

/// A set of size classes, walked in ascending order.
class class_set {
 public:
  void insert(size_class index) noexcept { bits_[index / 64] |= std::uint64_t{1} << (index % 64); }
  void clear() noexcept { bits_[0] = bits_[1] = 0; }
  bool contains(size_class index) const noexcept { return (bits_[index / 64] >> (index % 64) & 1) != 0; }

  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (size_class word = 0; word < 2; ++word) {
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
        visit(word * 64 + static_cast<size_class>(std::countr_zero(left)));
      }
    }
  }

 private:
  std::uint64_t bits_[2] = {};
};
static_assert(detail::class_count <= 128);

/// Senders check whether the owner sleeps once they have filled words whose blocks have this many bytes.
inline constexpr std::uint64_t first_reclaim_bytes = std::uint64_t{TARN_SMALL ? 16 : 1024} << 10;

/// The bytes of such words in a shared heap at which a sender takes its inbox in. There are 64 such heaps at most.
inline constexpr std::uint64_t shared_reclaim_bytes = std::uint64_t{TARN_SMALL ? 4 : 256} << 10;

/// An owner sleeps if it has made no slow call for so long. A thread that only waits for a processor seldom waits
/// longer.
inline constexpr std::uint64_t asleep_ms = 20;

/// The data of one size class for the slow paths.
struct class_state {
  magazine* front = nullptr;    ///< the array that `top` points into; null: there is none yet
  void** closed_top = nullptr;  ///< `top` of a closed heap, whose visible one stays shut
  depot full_magazines;
  base::list<pages::slab> available;  ///< slabs with free blocks
  void* const* seen_top = nullptr;    ///< `top` at the last decay or visit; still equal: unused since then
  std::uint16_t capacity = 0;         ///< of the front: first_capacity_of or capacity_of the class
  /// Recent fills of the front; while the class shares blocks, fills of the other class on its behalf. At most
  /// fills_to_full.
  std::uint8_t fills = 0;
  std::uint8_t returns = 0;   ///< how often the class needed blocks after it gave some up
  bool has_gaps = false;      ///< a visitor has put null into entries of the front
  bool has_given_up = false;  ///< the class has given up blocks since it last needed some
  /// Steps since the class gave blocks up and needed none: a decay counts as one, a step of growth as two. After some
  /// of them the pages of its free blocks go back (purge_idle_pages).
  std::uint8_t idle_steps = 0;
  owner_counter allocations, frees;  ///< calls; only counting heaps keep them

  /// Returns the start of the front magazine; the entry before it is null.
  void** bottom() const noexcept { return front->end() - capacity; }
  std::size_t front_count() const noexcept { return capacity / 4; }
  /// Returns true if the class often needed blocks again that it had given up; its front magazine then has full size.
  bool is_lively() const noexcept { return returns >= 2; }
  void note_need() noexcept {
    returns = static_cast<std::uint8_t>(returns + (has_given_up && returns < 2));
    has_given_up = false;
    idle_steps = 0;
  }
};

enum class ownership : std::uint32_t {
  occupied,  ///< a thread or a heap object owns it
  idle,      ///< the thread has ended; another thread can adopt the heap
  tending,   ///< idle, and another thread acts for it briefly
};

/// The role of the thread that takes an inbox in.
enum class taker {
  owner,
  visitor,  ///< acts for an owner that sleeps, and leaves the front magazines alone
  tender,   ///< acts for a heap without a thread, where no block is in a magazine and no empty slab is kept
};

struct site_table;
class random_quarantine;

/// Names blocks of one word of one slab that a thread other than the owner has freed.
struct freed_blocks {
  pages::slab* home;
  std::uintptr_t key;   ///< page map key when the sender read it
  std::size_t word;     ///< index of the word in the slab
  std::uint64_t freed;  ///< one bit for each freed block
  char* start;          ///< address of the word's first block
};

struct heap : detail::heap_front, base::list_links<heap> {
  // -- owner ---------------------------------------------------------------
  class_set used_classes;  ///< classes that have, or once had, a magazine or a slab
  pages::space* space;
  magazine_stock stock;
  remote_batch* outgoing_batch = nullptr;  ///< blocks of other heaps that the thread has freed; `cursor` points into it
  recent_blocks grown_blocks;
  growth_history growth;
  std::size_t depot_arrays = 0;  ///< batches in all depots
  owner_counter slow_calls;
  std::uint64_t peak_in_use = 0;          ///< peak bytes since the last shrink
  std::uint64_t peak_before_shrink = 0;   ///< peak_in_use before the shrink that may be regretted next
  std::uint64_t peak_before_decline = 0;  ///< the highest peak_in_use before a shrink since the last regret
  std::uint64_t min_peak_to_shrink = min_shrunk_bytes;  ///< a shrink needs at least this peak_in_use
  std::uint64_t shrink_noted_ms = 0;                    ///< last shrink, regret, or halving of min_peak_to_shrink
  std::uint64_t next_decay_ms = 0;
  std::uint64_t new_bytes = 0;  ///< bytes of untouched runs that were taken since the last release of idle blocks
  bool is_growing = false;      ///< the last run was untouched
  site_table* sites = nullptr;  ///< call sites of a heap that is noting_sites: memory/thread/sites.hpp
  std::size_t eager_bytes = 0;  ///< bytes that release() keeps
  random_quarantine* block_quarantine = nullptr;  ///< freed blocks of a hardened heap that wait
  char name[24] = {};

  // -- read by all threads, seldom written ---------------------------------
  alignas(64) heap_policy policy;
  std::atomic<ownership> state{ownership::occupied};
  /// In other threads' batches; false where release() may end the blocks meanwhile.
  std::atomic<bool> frees_may_wait{true};
  std::atomic<std::uint32_t> owner_thread{0};
  std::uint32_t number;
  heap* next_heap = nullptr;    ///< registry: the next of all heaps ever made
  heap* next_object = nullptr;  ///< registry: the next heap object

  // -- written by the owner, read by all threads ---------------------------
  alignas(64) owner_counter remote_frees, slabs, slab_bytes, refills, flushes;
  owner_counter remote_bytes;  ///< bytes of the blocks in remote_frees
  /// Blocks of other heaps that the owner has freed and sent, and their bytes, without those that release() may end.
  /// They are never reset: other heaps count when they take the blocks in. All threads add to those of a shared heap.
  owner_counter outgoing_blocks, outgoing_bytes;
  owner_counter inbox_takes;                                   ///< times that the inbox was taken in
  owner_counter taken_bytes;                                   ///< bytes of blocks that are not free in their slabs
  owner_counter depot_bytes;                                   ///< the part of taken_bytes that lies in depots
  owner_counter front_bytes;                                   ///< bytes of blocks that the front magazines can hold
  std::atomic<std::uint64_t> large_blocks{0}, large_bytes{0};  ///< in use now
  std::atomic<std::uint64_t> large_allocated{0}, large_allocated_bytes{0};
  std::atomic<std::uint64_t> peak_bytes{0};
  std::atomic<std::uint64_t> run_bytes{0};       ///< the part of large_bytes that lies in segments
  std::atomic<std::uint64_t> run_peak_bytes{0};  ///< peak of slab_bytes + run_bytes: `initial` could have held it

  // -- written by all threads ----------------------------------------------
  alignas(64) inbox remote_inbox;
  large_cache large;
  std::atomic<std::uint64_t> sent_bytes{0};  ///< approximate bytes in words whose blocks have all been freed
  std::atomic<std::uint32_t> posts{0};       ///< slabs and batches since the inbox was taken in
  std::atomic<std::int32_t> batch_quota{remote_batch::min_quota};  ///< how many more batches may wait
  std::atomic<std::uint64_t> reclaim_bytes{first_reclaim_bytes};   ///< sent_bytes at which senders check the owner
  std::atomic<std::uint64_t> slow_calls_seen{0};                   ///< slow_calls at the last such check
  std::atomic<std::uint64_t> slow_calls_seen_ms{0};                ///< when a check first found this number
  std::atomic<std::uint64_t> calls_at_return{0};                   ///< slow_calls at the last return_all()
  struct {
    std::atomic<std::uint64_t> slabs{0}, slab_bytes{0}, blocks{0}, block_bytes{0};
  } reclaimed;  ///< reclaimed by other threads for the owner, which has not subtracted it yet
  platform::mutex mutex{platform::lock_rank::heap};  ///< guards a shared heap
  /// The owner enters in every slow path of a heap that is not shared, except where it only sends or uses the cache of
  /// large runs.
  owner_lock visits;
  std::atomic<std::uint64_t> visited_calls{~std::uint64_t{0}};  ///< slow_calls at the last visit
  std::atomic<std::uint64_t> visited_tops{0};                   ///< a hash of all `top` at the last visit
  std::atomic<std::uint64_t> visited_takes{~std::uint64_t{0}};  ///< inbox_takes at the last visit, if something waited
  std::atomic<std::uint32_t> refused_visits{0};                 ///< in a row, because the owner was in a slow path
  std::atomic<std::uint32_t> visits_in_use{0};                  ///< visits that found fast calls only
  std::atomic<bool> must_tick{false};  ///< the helper wants the owner to look at the clock at its next slow call
  std::atomic<bool> was_visited_asleep{false};   ///< the last visit finished, and no slow call came since
  std::atomic<bool> were_fronts_emptied{false};  ///< the front magazines were emptied, and no `top` has changed since
  /// The record and the quarantine have given their pages back: make_record_whole() must run before a class changes.
  /// Only the owner uses it, or the thread that acts for the heap; so it is with the next member.
  bool is_record_purged = false;
  /// Free bytes at the last visit since the thread ended. Only the thread that acts for the heap uses it.
  std::uint64_t visited_free_bytes = 0;

  // -- owner ---------------------------------------------------------------
  /// They come last, and all of their values are zero in a class without slabs, so that their pages can go back.
  class_state classes[detail::class_count];

  heap(pages::space& space_, std::uint32_t number_) noexcept;

  /// Adds a trait, and shuts the visible magazines if the heap's traits send every call to the slow path. The owner
  /// calls it before the first block of the heap, and keeps visitors out (owner_scope) if the heap is in the registry.
  void add_trait(heap_trait added) noexcept;

  /// Makes malloc serve sizes that the heap seldom uses with blocks of larger classes. Only the owner calls these two.
  void share_blocks() noexcept;
  /// Returns the class from which malloc takes a block of class `requested_class`, whose magazine is empty.
  size_class class_to_fill(size_class requested_class) noexcept;
  /// Returns true if malloc takes `bytes`, which are at most tabled_bytes, from class `index`.
  bool serves(std::size_t bytes, size_class index) const noexcept {
    return served.classes[base::divide_up(bytes, detail::block_alignment)] == index;
  }

  // Only the owner calls these two, for small blocks.
  void* allocate(size_class index) noexcept;                ///< null: no memory
  void deallocate(void* block, size_class index) noexcept;  ///< a block of this heap

  /// Returns a large block from the cache; null if it has none. Its bytes need not be zero. Only the owner may call it.
  void* take_cached_large(std::size_t bytes) noexcept {
    pages::slab* const run = large.take(base::divide_up(bytes, pages::unit_bytes));
    if (run == nullptr) [[unlikely]] {
      return nullptr;
    }
    pages::page_map::revive_large(run->start, address());
    return run->start;
  }

  // The owner allocates large blocks; any thread may free or resize them.
  void* allocate_large(std::size_t bytes, std::size_t alignment, bool* zeroed) noexcept;
  void deallocate_large(pages::slab* block, bool is_by_owner) noexcept {
    if (!pages::page_map::claim_large(block->start, address() | pages::large_mark)) [[unlikely]] {
      report_freed_twice_at_once(*block);
    }
    if (!large.put(*block, is_by_owner)) [[unlikely]] {
      deallocate_large_slow(*block);
    } else if (!is_by_owner && state.load(std::memory_order_seq_cst) == ownership::idle) [[unlikely]] {
      visit_large_cache(true);  // retire() says why
    }
  }
  /// Returns the description of the resized block, whose start may be another one; null if the block is unchanged.
  [[nodiscard]] pages::slab* resize_large(pages::slab* block, std::size_t bytes, bool is_by_owner) noexcept;

  /// Returns large runs from the cache to the space: those that were not used since the last visit, or (`must_empty`)
  /// all. Returns true if some may be left. Any thread may call it.
  bool visit_large_cache(bool must_empty) noexcept;

  /// Frees a block of another heap. The calling thread owns *this.
  void deallocate_remote(void* block, std::uintptr_t key) noexcept;
  /// Sends the blocks of the batch to their owners. Only the owner may call it.
  void send_all() noexcept;
  /// Takes the blocks in the inbox back. Only the owner may call it.
  void collect() noexcept;

  /// Returns everything free to the slabs, empty slabs to the space, and their pages to the system. It runs before an
  /// allocation fails, and for trim(). Returns the bytes that went to the system. Only the owner may call it.
  std::size_t reclaim() noexcept;
  /// Gives back the pages of slabs in which only free blocks lie; returns their bytes. Callers run flush_all first,
  /// which brings the free blocks to their slabs. Only the owner may call it.
  std::size_t purge_slabs() noexcept;
  /// Empties all magazines into the slabs and returns empty slabs to the space. Only the owner may call it.
  void flush_all() noexcept;
  /// Runs flush_all and empties the inbox and the batch: afterwards a valid idle heap holds only slabs in which the
  /// program has blocks. The owner calls it; then the heap has no owner.
  void retire() noexcept;
  /// Takes the inbox in if the heap is idle. Any thread may call it.
  void tend() noexcept;
  /// Gives slabs back to the space if other threads have freed all of their blocks. Any thread may call it; it is most
  /// useful while the owner sleeps.
  void reclaim_for_owner() noexcept;
  /// Returns all free memory of a shared heap to the space, for another heap that has none. Returns false if nothing
  /// has changed since the last time. Any thread may call it that holds no lock; it waits for the heap's lock.
  bool return_all() noexcept;
  /// Acts for an owner that made no slow call since the last visit: takes the inbox in, empties the depots and, if no
  /// `top` has changed either, the front magazines, and gives back the pages in which only free blocks lie. If some
  /// `top` have changed, every fourth visit empties the front magazines of the other classes. `stop` ends that early.
  /// For an owner that makes slow calls, it asks for a tick at the next one, and takes the inbox in if the owner never
  /// does. Returns true if another visit may have work. Any thread may call it after platform::prepare_barriers() has
  /// returned true.
  bool visit(bool (*stop)() noexcept) noexcept;
  /// Does the same at once, whatever the owner does, unless it is in a slow path. Returns the bytes of the pages.
  std::size_t visit_now() noexcept;
  /// Held during visit_now(). A fork takes it, so that no heap in the child is in the middle of a visit. It does not
  /// exclude the purge helper, for which forks wait in another way.
  static platform::mutex& visit_lock() noexcept;
  /// Ends all blocks at once. Only the owner of a heap with a space of its own may call it.
  void release() noexcept;
  /// Restores the initial state, so that the record can serve another owner. Callers run release() first.
  void reset() noexcept;
  /// Gives back the pages behind the first one of a record that lies at the start of a page, where no class has a slab
  /// or counts. Returns the bytes. No block may be in a magazine.
  std::size_t purge_record() noexcept;
  /// Runs in a thread that has adopted the heap.
  void prepare_adopted() noexcept;

  std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  heap_statistics statistics() const noexcept;
  /// Returns the heap's part of the frees that wait. Any thread may call it.
  waiting_frees waiting() const noexcept;
  bool is_valid() noexcept;

 private:
  void**& top_of(size_class index) noexcept { return policy.is_closed() ? classes[index].closed_top : top[index]; }
  bool refill(size_class index) noexcept;
  void* take_exactly(size_class index) noexcept;
  void* take_single(size_class index) noexcept;
  bool fill_from_slabs(size_class index) noexcept;
  pages::slab* new_slab(size_class index) noexcept;
  pages::slab* adopt_slab(size_class index) noexcept;
  void lose(pages::slab* slab, bool is_empty) noexcept;
  /// Returns the free bytes of the slabs, with those in depots. Approximate, because other threads may reclaim slabs.
  std::uint64_t free_bytes() const noexcept {
    const std::uint64_t total_bytes = slab_bytes.get() + depot_bytes.get();
    const std::uint64_t used_bytes = taken_bytes.get();
    return total_bytes > used_bytes ? total_bytes - used_bytes : 0;
  }
  /// Returns about how many bytes the front magazines will keep when the owner sleeps: a quarter of what they can hold,
  /// and 0 for a thread that is alone, which is not worth a helper.
  std::uint64_t idle_front_bytes() const noexcept;
  void note_peak() noexcept;
  pages::slab* new_large(std::size_t bytes, std::size_t alignment) noexcept;
  void open_large_cache(const pages::slab& block) noexcept;
  void deallocate_large_slow(pages::slab& block) noexcept;
  [[noreturn]] static void report_freed_twice_at_once(const pages::slab& block) noexcept;
  void return_large(pages::slab& block) noexcept;
  void spill(size_class index) noexcept;
  bool set_front(size_class index) noexcept;
  /// Returns true if the class has no front magazine yet, because its blocks are long and seldom needed again.
  bool lacks_front(size_class index) const noexcept {
    return index >= pages::first_wide && classes[index].front == nullptr && !classes[index].is_lively() &&
           !policy.is_hardened();
  }
  void give_to_slab(void* block, bool keeps_one) noexcept;
  void give_to_slabs(void** blocks, std::size_t count) noexcept;
  void settle(pages::slab& home, std::size_t count, bool was_full, bool keeps_one) noexcept;

  void deallocate_remote_slow(void* block, std::uintptr_t key) noexcept;
  bool open_batch() noexcept;
  void close_batch() noexcept;
  bool accepts_batch() const noexcept;
  void hand_over(remote_batch& sent, std::size_t count, std::size_t bytes) noexcept;
  bool hand_over_whole(batch_content content) noexcept;
  std::size_t hand_over_groups(void** blocks, std::size_t count) noexcept;
  template <class Visit>
  void take_batch(remote_batch& batch, bool must_mark, Visit visit) noexcept;
  void receive_batch(remote_batch& sent, taker role) noexcept;
  size_class check_received(void* block, std::uintptr_t key) noexcept;
  inbox::node* unpack(remote_batch& packed, inbox::node* list) noexcept;
  static void send_sorted(void** blocks, std::size_t count) noexcept;
  static void send(void** blocks, std::size_t count) noexcept;
  static void** send_group(void** next, void** end) noexcept;
  void receive(const freed_blocks& blocks) noexcept;
  bool give_directly(const freed_blocks& blocks) noexcept;
  void take_inbox(taker role) noexcept;
  void take_slab(pages::slab& home, taker role) noexcept;
  void count_returned(pages::slab& home, std::size_t count, bool was_full, bool keeps_one) noexcept;
  void discard_inbox() noexcept;
  static void check_marks(const pages::slab& home, std::size_t word, std::uint64_t freed, bool must_set) noexcept;
  static void check_remote_marks(const pages::slab& home, std::size_t word, std::uint64_t freed,
                                 bool must_set) noexcept;
  void note_posted() noexcept;
  static void note_retained(std::size_t bytes) noexcept;
  void note_waiting(std::size_t bytes) noexcept;
  void collect_if_open() noexcept;
  void reclaim_slab(pages::slab& home) noexcept;
  void subtract_reclaimed() noexcept;
  bool start_tending() noexcept;
  void end_tending() noexcept;
  std::ptrdiff_t record_bytes() const noexcept;
  void make_record_whole() noexcept;
  std::size_t purge_idle_record() noexcept;
  bool visit_without_owner(bool (*stop)() noexcept) noexcept;
  bool purge_without_owner(bool (*stop)() noexcept, std::size_t& purged_bytes) noexcept;
  /// Tells what the owner has done since the last visit. It neglects its inbox if it has not taken in what waited then.
  struct owner_activity {
    bool makes_slow_calls, uses_fronts, neglects_inbox;
  };
  owner_activity activity_since_visit() noexcept;
  /// The classes whose front magazines a visit empties.
  enum class emptied_fronts : std::uint8_t { no_class, idle_classes, every_class };
  emptied_fronts fronts_to_empty(const owner_activity& activity, bool is_worth_it) noexcept;
  bool visit_magazines(bool (*stop)() noexcept, emptied_fronts fronts) noexcept;
  bool visit_classes(bool (*stop)() noexcept, std::size_t& purged_bytes) noexcept;
  std::uint64_t hash_of_tops() const noexcept;
  bool is_worth_visiting() const noexcept;
  bool empty_fronts(bool (*stop)() noexcept, emptied_fronts fronts) noexcept;
  bool drop_all_fronts(bool (*stop)() noexcept) noexcept;
  bool close_gaps(size_class index) noexcept;
  void set_capacity(size_class index, std::uint16_t capacity) noexcept;
  void tend_if_idle() noexcept {
    // seq_cst: retire() says why.
    if (state.load(std::memory_order_seq_cst) == ownership::idle) tend();
  }
  void drop_front(size_class index) noexcept;
  void tick() noexcept;
  bool decay() noexcept;
  void note_run(const pages::slab& run) noexcept;
  void make_room(size_class requested_class, std::size_t units) noexcept;
  void drop_idle_fronts(size_class requested_class) noexcept;
  void purge_idle_pages(size_class requested_class, std::size_t max_bytes, std::uint8_t steps) noexcept;
  void shrink() noexcept;
  /// Forgets the history of the heap's use, for another owner.
  void forget_past_use() noexcept {
    is_growing = false;
    new_bytes = 0;
    peak_in_use = peak_before_shrink = peak_before_decline = shrink_noted_ms = 0;
    min_peak_to_shrink = min_shrunk_bytes;
  }
  void note_growth() noexcept;
  void empty_depots() noexcept;
  void empty_depot(size_class index) noexcept;
};

/// Makes the calling thread the owner for a slow path: the owner of a shared heap is the thread that holds its lock,
/// and any other heap shuts visitors out.
class [[nodiscard]] owner_scope {
 public:
  explicit owner_scope(heap& self) noexcept : heap_(self), is_shared_(self.policy.is_shared()) {
    if (is_shared_) {
      heap_.mutex.lock();
    } else {
      heap_.visits.enter();
    }
  }
  ~owner_scope() {
    if (is_shared_) {
      heap_.mutex.unlock();
    } else {
      heap_.visits.leave();
    }
  }
  owner_scope(const owner_scope&) = delete;
  owner_scope& operator=(const owner_scope&) = delete;

 private:
  heap& heap_;
  bool is_shared_;
};

/// Holds the entries that a shut magazine shows: null below its end, so that it looks empty and full at once.
extern constinit magazine shut_magazine;
inline void** shut_top() noexcept { return shut_magazine.slots + magazine_slots; }

/// detail::local_heap points here before a thread has a heap: all its magazines are shut.
struct no_heap_front : detail::heap_front {
  consteval no_heap_front() noexcept : heap_front{} {
    user = detail::inside_heap::unwatched;
    for (void**& class_top : top) class_top = shut_magazine.slots + magazine_slots;
  }
};
extern constinit no_heap_front no_heap;

}  // namespace tarn::heaps
