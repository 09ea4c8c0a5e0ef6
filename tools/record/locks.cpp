#include "record/locks.hpp"

#include <cstddef>

#include "format/clock.hpp"
#include "record/entry.hpp"
#include "record/memory.hpp"
#include "record/quiet.hpp"
#include "record/region.hpp"

namespace tarn::record {
namespace {

// A table with open addressing. An address stays once entered, as a lock that ends is mostly followed by another one
// at the same address. An entry is written under `adding` and published by its address.
constexpr std::size_t entries = std::size_t{format::most_locks} * 2;
constinit lock adding;
constinit std::atomic<lock_entry*> table = nullptr;
constinit std::size_t used = 0;
constinit lock_entry others = {};  // shared by the locks beyond the limit

// A holder is its site and thread plus one, so that 0 means nobody.
constexpr std::uint64_t nobody = 0;

std::size_t home_of(const void* address) noexcept {
  return (reinterpret_cast<std::uintptr_t>(address) >> 3) * 0x9e3779b97f4a7c15ULL >> 47;
}
static_assert(std::size_t{1} << (64 - 47) == entries);

lock_entry* entries_made() noexcept {
  lock_entry* made = table.load(std::memory_order_acquire);
  if (made != nullptr) return made;
  const holding held(adding);
  made = table.load(std::memory_order_relaxed);
  if (made == nullptr) made = static_cast<lock_entry*>(map(entries * sizeof(lock_entry)));
  table.store(made, std::memory_order_release);  // release: a thread that sees the table sees it empty
  return made;
}

// Returns the entry of the address, or the free entry where it belongs.
lock_entry& place_of(lock_entry* all, const void* address) noexcept {
  std::size_t at = home_of(address);
  for (;; at = (at + 1) % entries) {
    const void* const there = all[at].address.load(std::memory_order_acquire);
    if (there == address || there == nullptr) return all[at];
  }
}

// Gives the lock a number and a record in the region. The caller holds `adding`. Returns 0 when there is no room.
std::uint32_t note(const void* address, format::lock_type type, std::uint32_t site) noexcept {
  std::uint32_t number = header().locks.load(std::memory_order_relaxed);
  if (number == 0) number = 1;  // 0 is no lock's number
  if (number >= format::most_locks) return 0;
  const format::offset place = hand_out(sizeof(format::lock_record));
  if (place == 0) return 0;
  auto& made = *at<format::lock_record>(place);
  made.image = image();
  made.type = static_cast<std::uint32_t>(type);
  made.site = site;
  made.address = reinterpret_cast<std::uintptr_t>(address);
  header().lock_at[number].store(place, std::memory_order_release);
  header().locks.store(number + 1, std::memory_order_release);
  return number;
}

[[gnu::noinline]] lock_entry& begin(lock_entry* all, const void* address, format::lock_type type,
                                    std::uint32_t site) noexcept {
  const holding held(adding);
  lock_entry& place = place_of(all, address);
  const bool is_new = place.address.load(std::memory_order_relaxed) == nullptr;
  if (!is_new && place.number.load(std::memory_order_relaxed) != 0) return place;
  if (is_new && used >= entries / 4 * 3) return others;
  const bool is_the_same = !is_new && place.first_site == site && place.type == type && place.last_number != 0;
  const std::uint32_t number = is_the_same ? place.last_number : note(address, type, site);
  if (number == 0) return others;
  place.last_number = number;
  place.first_site = site;
  place.type = type;
  if (is_new) ++used;
  place.number.store(number, std::memory_order_relaxed);
  place.address.store(address, std::memory_order_release);  // release: a thread that finds the entry finds its number
  return place;
}

lock_entry* entry_of(const void* address, format::lock_type type, std::uint32_t site) noexcept {
  lock_entry* const all = entries_made();
  if (all == nullptr) return nullptr;
  lock_entry& found = place_of(all, address);
  if (found.number.load(std::memory_order_relaxed) != 0) [[likely]]
    return &found;
  return &begin(all, address, type, site);
}

bool records_calls() noexcept { return (header().sources & format::source_bit(format::call_kind)) != 0; }

void keep_longest(std::atomic<std::uint64_t>& longest, std::uint64_t ticks) noexcept {
  if (longest.load(std::memory_order_relaxed) < ticks) longest.store(ticks, std::memory_order_relaxed);
}

}  // namespace

void begin_locks_anew() noexcept {
  adding.begin_anew();
  unmap(table.exchange(nullptr, std::memory_order_relaxed), entries * sizeof(lock_entry));
  used = 0;
}

acquisition::acquisition(const void* lock, format::lock_type type, const caller& from, bool for_ever) noexcept
    : address_(lock), for_ever_(for_ever) {
  entry here;
  if (!here) return;
  site_ = site_from(here.self(), from);
  lock_entry* const found = entry_of(lock, type, site_);
  if (found != nullptr) cell_ = here.self().lock_cell_of(site_, found->number.load(std::memory_order_relaxed));
  if (cell_ == nullptr) here.self().count_forgotten();
  if (cell_ != nullptr) entry_ = found;
}

void acquisition::waits() noexcept {
  if (entry_ == nullptr) return;
  holder_ = entry_->holder.load(std::memory_order_relaxed);
  // Counts before the wait, as the wait does not end in a deadlock.
  if (for_ever_) {
    entry here;
    if (here) count_orders(here.self(), format::orders, 1);
  }
  waiting_since_ = format::ticks();
}

void acquisition::count_orders(thread& self, format::order_counter which, std::uint64_t amount) noexcept {
  const holds& held = self.locks;
  if (held.count() == 0) [[likely]]
    return;
  // Skips threads that share a number, as it is not known which of them holds a lock, and locks that this thread
  // holds already, as it does not wait for them.
  if (!for_ever_ || self.shared_lock() != nullptr || self.locks.find(address_) != nullptr) return;
  constexpr std::size_t most = 8;  // only the newest of the held locks
  const std::uint64_t wanted = cell_->key.load(std::memory_order_relaxed);
  const hold& outermost = held[0];
  const auto gate =
      outermost.shared ? 0 : static_cast<std::uint32_t>(outermost.cell->key.load(std::memory_order_relaxed));
  for (std::size_t at = held.count() > most ? held.count() - most : 0; at < held.count(); ++at) {
    const std::uint64_t other = held[at].cell->key.load(std::memory_order_relaxed);
    format::order_cell* const of = self.order_cell_of(wanted, other, at == 0 ? 0 : gate);
    if (of == nullptr) return self.count_forgotten();
    add(of->value[which], amount);
  }
}

void acquisition::count_wait(thread& self) noexcept {
  const std::uint64_t ticks = format::ticks() - waiting_since_;
  add(cell_->value[format::wait_ticks], ticks);
  keep_longest(cell_->value[format::longest_wait], ticks);
  // Where system calls are recorded, the wait has been counted as one already.
  if (is_in_region() && !records_calls()) [[unlikely]]
    hear(self, format::lock_waits, site_);
  const std::uint32_t number = entry_->number.load(std::memory_order_relaxed);
  if (holder_ == nobody || number == 0) return;  // a condition, or acquired before the recording
  format::wait_cell* const of = self.wait_cell_of(site_, number, holder_ - 1);
  if (of == nullptr) return self.count_forgotten();
  add(of->value[format::waits], 1);
  add(of->value[format::waited_ticks], ticks);
  count_orders(self, format::order_waits, 1);
  count_orders(self, format::order_ticks, ticks);
}

void acquisition::succeeded(bool shared) noexcept {
  if (entry_ == nullptr) return;
  entry here;
  if (!here) return;
  thread& self = here.self();
  if (entry_ != &others) {
    entry_->holder.store((std::uint64_t{site_} << 32 | self.number()) + 1, std::memory_order_relaxed);
  }
  add(cell_->value[format::acquisitions], 1);
  if (shared) add(cell_->value[format::shared_ones], 1);
  if (waiting_since_ != 0) {
    add(cell_->value[format::contended], 1);
    count_wait(self);
  } else {
    count_orders(self, format::orders, 1);
  }
  self.locks.push({address_, cell_, format::ticks(), shared});
}

void acquisition::failed() noexcept {
  if (entry_ == nullptr) return;
  entry here;
  if (!here) return;
  add(cell_->value[format::refused], 1);
  if (waiting_since_ != 0) count_wait(here.self());
}

void acquisition::waited(bool in_time) noexcept {
  if (entry_ == nullptr) return;
  entry here;
  if (!here) return;
  add(cell_->value[in_time ? format::acquisitions : format::refused], 1);
  if (in_time) add(cell_->value[format::contended], 1);
  count_wait(here.self());
}

void releases(const void* lock) noexcept {
  entry here;
  if (!here) return;
  hold* const found = here.self().locks.find(lock);
  if (found == nullptr) return;
  if (found->since != 0) {
    const std::uint64_t ticks = format::ticks() - found->since;
    add(found->cell->value[format::held], 1);
    add(found->cell->value[format::held_ticks], ticks);
    keep_longest(found->cell->value[format::longest_held], ticks);
  }
  here.self().locks.remove(found);
}

void ends(const void* lock) noexcept {
  lock_entry* const all = table.load(std::memory_order_acquire);
  if (all == nullptr) return;
  lock_entry& found = place_of(all, lock);
  if (found.address.load(std::memory_order_relaxed) == lock) found.number.store(0, std::memory_order_relaxed);
}

condition_wait::condition_wait(const void* condition, const void* mutex, const caller& from) noexcept
    : waits_(condition, format::lock_type::condition, from), mutex_(mutex) {
  waits_.waits();
  entry here;
  if (!here) return;
  hold* const found = here.self().locks.find(mutex);
  if (found == nullptr || found->since == 0) return;
  add(found->cell->value[format::held_ticks], format::ticks() - found->since);
  found->since = 0;  // stays 0 when the wait is cancelled
}

void condition_wait::over(bool in_time) noexcept {
  waits_.waited(in_time);
  entry here;
  if (!here) return;
  if (hold* const found = here.self().locks.find(mutex_)) found->since = format::ticks();
}

}  // namespace tarn::record
