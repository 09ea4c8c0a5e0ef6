#include "memory/guard/samples.hpp"

#include <new>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "memory/heap/canary.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/thread/fork.hpp"
#include "memory/thread/threads.hpp"
#include "platform/mutex.hpp"
#include "platform/platform.hpp"
#include "platform/random.hpp"

namespace tarn::guard::samples {

constinit thread_local std::int32_t blocks_left = -1;  // a new thread draws at its first refill

namespace {

namespace canary = heaps::canary;

/// The option: 0 samples nothing; 1 samples every allocation, for tests.
constinit std::uint32_t interval = 0;
constinit std::uint64_t seed = 0;
constinit std::atomic<std::uint64_t> draws{0};
constinit std::atomic<std::uint64_t> last_sample_ms{0};
constinit thread_local bool has_drawn = false;
constinit thread_local bool is_noting = false;  ///< the unwinder may call malloc

void note(base::call_stack& stack, const void* site) noexcept {
  is_noting = true;
  stack.note(site);
  is_noting = false;
}

/// The least time between two samples. A sample takes 20 microseconds, so sampling costs at most half a percent.
constexpr std::uint64_t min_gap_ms = 4;

/// Protects the free slots, which are in the order in which they were freed.
constinit platform::mutex lock{platform::lock_rank::user};
constinit slot_record* records = nullptr;
constinit bool is_refused = false;
constinit std::uint16_t freed[slot_count] = {};
constinit std::size_t freed_first = 0, freed_count = 0;
constinit std::size_t started_count = 0;  ///< slots that have had a block

using hold = platform::locked<platform::mutex>;

std::uint64_t mixed(std::uint64_t number) noexcept {  // SplitMix64
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}
std::uint64_t draw() noexcept { return mixed(seed + draws.fetch_add(1, std::memory_order_relaxed)); }

constexpr std::size_t stride = slot_bytes + gap_bytes;
char* slot_start(std::size_t number) noexcept {
  return reinterpret_cast<char*>(region_start.load(std::memory_order_relaxed) + gap_bytes + number * stride);
}
std::size_t number_of(const slot_record& slot) noexcept { return static_cast<std::size_t>(&slot - records); }

// Reserves the region and its records. Under the lock.
bool set_up() noexcept {
  if (records != nullptr || is_refused) return records != nullptr;
  is_refused = true;  // there is one attempt, because a process at the limit of its address space would fail each time
  const std::size_t limit = platform::address_space_limit();
  if (platform::page_bytes() > gap_bytes || (limit != 0 && limit / 32 < region_bytes)) return false;
  void* const memory = pages::metadata::allocate(slot_count * sizeof(slot_record), alignof(slot_record));
  void* const start = memory == nullptr ? nullptr : platform::reserve(region_bytes);
  if (start == nullptr) return false;
  auto* const new_records = static_cast<slot_record*>(memory);
  for (std::size_t index = 0; index < slot_count; ++index) ::new (new_records + index) slot_record;
  records = new_records;
  region_start.store(reinterpret_cast<std::uintptr_t>(start), std::memory_order_relaxed);
  return true;
}

// Takes a slot that has rested. Returns null if there is none.
slot_record* take_slot() noexcept {
  const hold guard(lock);
  if (!set_up()) return nullptr;
  if (started_count < slot_count) return records + started_count++;
  if (freed_count <= resting_slots) return nullptr;
  slot_record* const oldest = records + freed[freed_first];
  freed_first = (freed_first + 1) % slot_count;
  --freed_count;
  return oldest;
}

void give_slot(const slot_record& slot) noexcept {
  const hold guard(lock);
  freed[(freed_first + freed_count) % slot_count] = static_cast<std::uint16_t>(number_of(slot));
  ++freed_count;
}

// The accessible pages of a slot, from the first to the last page of its block.
struct extent {
  char* first;
  char* last;
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(last - first); }
};
extent pages_of(const slot_record& slot) noexcept {
  const std::size_t page = platform::page_bytes();
  return {base::align_down(slot.user, page), base::align_up(slot.user + (slot.bytes == 0 ? 1 : slot.bytes), page)};
}

// The clock decides whether a sample is due now, so that samples take a bounded part of the processor's time.
bool take_turn() noexcept {
  const std::uint64_t now = platform::now_ms();
  std::uint64_t last = last_sample_ms.load(std::memory_order_relaxed);
  return now - last >= min_gap_ms && last_sample_ms.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

// Returns whether this allocation is sampled, and draws when the next one is.
bool choose() noexcept {
  if (interval == 1) {
    blocks_left = -1;
    return true;
  }
  if (interval == 0) {
    blocks_left = INT32_MAX;
    return false;
  }
  // The distance is at least half of the interval, so that a program that allocates little is never sampled.
  blocks_left = static_cast<std::int32_t>(interval / 2 + draw() % interval);
  const bool is_first = !has_drawn;
  has_drawn = true;
  return !is_first && take_turn();
}

// Counts a call in a heap that counts its calls.
void note_call(std::size_t bytes, heaps::owner_counter heaps::class_state::*member) noexcept {
  heaps::heap* const caller = threads::ready(detail::local_heap);
  if (caller == nullptr || !caller->policy.is_counting()) return;
  heaps::owner_counter& counter = caller->classes[detail::class_of(bytes)].*member;
  if (!caller->policy.is_shared()) {
    counter.add(1);
    return;
  }
  const platform::locked guard(caller->mutex);
  counter.add(1);
}

slot_record& slot_at(const char* entry, const void* pointer) noexcept {
  const auto* const record = record_near(pointer);
  if (record == nullptr) base::fault_foreign_pointer(entry, pointer);
  return records[number_of(*record)];
}

void fault_if_damaged(const char* entry, const slot_record& slot) noexcept {
  const extent pages = pages_of(slot);
  char* const end = slot.user + slot.bytes;
  if (char* const first = canary::first_changed(pages.first, slot.user); first != slot.user) {
    fault_sampled_damage(entry, slot, first - slot.user, canary::last_changed(pages.first, slot.user) - slot.user);
  }
  if (char* const first = canary::first_changed(end, pages.last); first != pages.last) {
    fault_sampled_damage(entry, slot, first - slot.user, canary::last_changed(end, pages.last) - slot.user);
  }
}

}  // namespace

void configure(std::uint32_t new_interval) noexcept {
  interval = new_interval;
  if (new_interval != 0) {
    canary::draw();
    seed = platform::random_number();
    // This thread may have allocated before, when there was no interval: musl's pthread_atfork() does.
    blocks_left = -1;
    threads::hold_around_fork(lock);
  }
}

const slot_record* record_near(const void* address) noexcept {
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(address) - region_start.load(std::memory_order_relaxed) - gap_bytes / 2;
  // Half of the gap between two slots belongs to each of them.
  const std::size_t number = static_cast<std::intptr_t>(offset) < 0 ? 0 : offset / stride;
  if (number >= slot_count || records[number].state.load(std::memory_order_acquire) == slot_state::unused) {
    return nullptr;
  }
  return records + number;
}

void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  if (is_noting || bytes > slot_bytes || alignment > platform::page_bytes() || !choose()) return nullptr;
  slot_record* const slot = take_slot();
  if (slot == nullptr) return nullptr;
  char* const first = slot_start(number_of(*slot));
  const std::size_t step = alignment < 16 ? 16 : alignment;
  // With interval 1 blocks alternate between the start and the end of a slot, so that a test knows the position.
  const bool is_at_end = interval == 1 ? number_of(*slot) % 2 == 0 : (draw() & 1) != 0;
  slot->user = is_at_end ? base::align_down(first + slot_bytes - (bytes == 0 ? 1 : bytes), step) : first;
  slot->bytes = bytes;
  const extent pages = pages_of(*slot);
  if (!platform::make_writable(pages.first, pages.bytes())) {
    give_slot(*slot);
    return nullptr;
  }
  canary::fill(pages.first, slot->user);
  canary::fill(slot->user + bytes, pages.last);
  note(slot->allocated_at, site);
  slot->allocated_by = platform::thread_number();
  // release: a fault in another thread finds the record.
  slot->state.store(slot_state::live, std::memory_order_release);
  install_handler();
  note_call(bytes, &heaps::class_state::allocations);
  return slot->user;
}

void deallocate(const char* entry, void* block, const void* site) noexcept {
  slot_record& slot = slot_at(entry, block);
  auto expected = slot_state::live;
  if (block != slot.user) fault_sampled_misaligned(entry, slot, block);
  // If two threads free a block at once, one gets it, and the other reports the fault.
  if (!slot.state.compare_exchange_strong(expected, slot_state::leaving, std::memory_order_acq_rel)) {
    for (int round = 0; slot.state.load(std::memory_order_acquire) == slot_state::leaving && round < 1000; ++round) {
      platform::sleep_ms(1);
    }
    fault_sampled_double_free(entry, slot);
  }
  fault_if_damaged(entry, slot);
  note(slot.freed_at, site);
  slot.freed_by = platform::thread_number();
  note_call(slot.bytes, &heaps::class_state::frees);
  const extent pages = pages_of(slot);
  slot.state.store(slot_state::freed, std::memory_order_release);
  if (platform::make_inaccessible(pages.first, pages.bytes())) {
    give_slot(slot);
  }  // otherwise the slot is never used again
}

std::size_t usable_bytes(const char* entry, const void* block) noexcept {
  const slot_record& slot = slot_at(entry, block);
  if (block != slot.user) fault_sampled_misaligned(entry, slot, block);
  if (slot.state.load(std::memory_order_acquire) != slot_state::live) fault_sampled_use(entry, slot);
  return slot.bytes;
}

}  // namespace tarn::guard::samples
