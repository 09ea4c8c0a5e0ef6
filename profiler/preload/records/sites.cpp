#include "profiler/preload/records/sites.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/records/modules.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {
namespace {

// A table with open addressing, at most half full. A slot is filled once: its number is stored first, then its hash
// is published, by a release store that a reader's acquire load meets.
struct slot {
  std::atomic<std::uint64_t> hash;
  std::atomic<std::uint32_t> site;
};
// The table grows by being replaced, because hashes touch pages all over it. The old table's pages except the first go
// back to the system, but its addresses stay reserved: a thread that still reads there finds zeroes, and so no site.
struct slots {
  std::size_t count;  // a power of two; the slots follow this header
  std::size_t reserved;

  slot& operator[](std::size_t number) noexcept { return reinterpret_cast<slot*>(this + 1)[number]; }
};
constexpr std::size_t first_slots = 4096, page = 4096;
constinit std::atomic<slots*> table = nullptr;
constinit lock adding;
constinit std::size_t used_slots = 0;  // used slots of the table

std::size_t bytes_of(std::size_t count) noexcept { return sizeof(slots) + count * sizeof(slot); }

slots* make_slots(std::size_t count) noexcept {
  auto* const new_slots = static_cast<slots*>(map(bytes_of(count)));
  if (new_slots != nullptr) new_slots->count = count;
  return new_slots;
}

// Returns the slot of a hash, or the free slot where it belongs.
slot& find(slots& slots_of_sites, std::uint64_t hash) noexcept {
  std::size_t index = (hash >> 20) & (slots_of_sites.count - 1);
  for (;; index = (index + 1) & (slots_of_sites.count - 1)) {
    const std::uint64_t stored_hash = slots_of_sites[index].hash.load(std::memory_order_acquire);
    if (stored_hash == hash || stored_hash == 0) return slots_of_sites[index];
  }
}

void put(slots& slots_of_sites, std::uint64_t hash, std::uint32_t site) noexcept {
  slot& entry = find(slots_of_sites, hash);
  entry.site.store(site, std::memory_order_relaxed);
  entry.hash.store(hash, std::memory_order_release);
}

// Returns the table with room for another site. The caller holds `adding`. Returns null when there is no memory; then
// no further site becomes known.
slots* with_room() noexcept {
  slots* const old = table.load(std::memory_order_relaxed);
  if (used_slots < old->count / 2) return old;
  slots* const larger = make_slots(old->count * 2);
  if (larger == nullptr) return nullptr;
  for (std::size_t index = 0; index < old->count; ++index) {
    const std::uint64_t hash = (*old)[index].hash.load(std::memory_order_relaxed);
    if (hash != 0) put(*larger, hash, (*old)[index].site.load(std::memory_order_relaxed));
  }
  table.store(larger, std::memory_order_release);  // release: a reader that sees it sees its slots
  own_call(SYS_madvise, reinterpret_cast<char*>(old) + page, bytes_of(old->count) - page, MADV_DONTNEED);
  return larger;
}

std::uint64_t hash_of(const std::uintptr_t* frames, std::size_t count) noexcept {
  std::uint64_t hash = count;
  for (std::size_t index = 0; index < count; ++index) {
    hash = (hash ^ frames[index]) * 0x9fb21c651e98df25ULL;
    hash ^= hash >> 32;
  }
  return hash | 1;  // 0 marks a free slot
}

std::uint32_t add(const std::uintptr_t* frames, std::size_t count) noexcept {
  const std::uint32_t number = header().sites.load(std::memory_order_relaxed);
  if (number >= format::max_sites) return 0;
  const format::offset offset = hand_out(sizeof(format::site_record) + count * sizeof *frames);
  if (offset == 0) return 0;
  auto& record = *record_at<format::site_record>(offset);
  record.image = image();
  record.frames = static_cast<std::uint32_t>(count);
  std::memcpy(&record + 1, frames, count * sizeof *frames);
  header().site_at[number].store(offset, std::memory_order_release);
  header().sites.store(number + 1, std::memory_order_release);
  return number;
}

// Returns 0 where there is none.
std::uint32_t known_site(std::uint64_t hash) noexcept {
  const slot& entry = find(*table.load(std::memory_order_acquire), hash);
  return entry.hash.load(std::memory_order_acquire) == hash ? entry.site.load(std::memory_order_relaxed) : 0;
}

}  // namespace

bool set_up_sites() noexcept {
  adding.begin_anew();
  begin_modules_anew();
  if (slots* const old = table.load(std::memory_order_relaxed)) unmap(old, bytes_of(old->count));
  table.store(make_slots(first_slots), std::memory_order_relaxed);
  used_slots = 0;
  std::uint32_t no_frames = 0;
  header().sites.compare_exchange_strong(no_frames, 1, std::memory_order_relaxed);  // site 0 is reserved
  return table.load(std::memory_order_relaxed) != nullptr;
}

std::uint32_t site_of(std::uintptr_t* frames, std::size_t count) noexcept {
  set_generations(frames, count);
  std::uint64_t hash = hash_of(frames, count);
  if (const std::uint32_t site = known_site(hash); site != 0) [[likely]]
    return site;
  if (note_modules(frames, count)) {
    set_generations(frames, count);
    hash = hash_of(frames, count);
  }
  const holding guard(adding);
  const slot& now = find(*table.load(std::memory_order_relaxed), hash);  // another thread may have added it
  if (now.hash.load(std::memory_order_relaxed) == hash) return now.site.load(std::memory_order_relaxed);
  slots* const roomy = with_room();
  const std::uint32_t number = roomy == nullptr ? 0 : add(frames, count);
  if (number == 0) return 0;
  put(*roomy, hash, number);
  ++used_slots;
  return number;
}

}  // namespace tarn::preload
