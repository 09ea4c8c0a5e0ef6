#include "record/sites.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "record/lock.hpp"
#include "record/memory.hpp"
#include "record/region.hpp"

namespace tarn::record {
namespace {

// Open addressing over twice as many slots as there are sites. A slot is taken once: its number is stored first, then
// its hash is published, by a release store that a reader's acquire load meets.
struct slot {
  std::atomic<std::uint64_t> hash;
  std::atomic<std::uint32_t> site;
};
constexpr std::size_t slots = std::size_t{format::most_sites} * 2;
constinit slot* table = nullptr;
constinit lock adding;

std::uint64_t hash_of(const std::uintptr_t* frames, std::size_t count) noexcept {
  std::uint64_t hash = count;
  for (std::size_t at = 0; at < count; ++at) {
    hash = (hash ^ frames[at]) * 0x9fb21c651e98df25ULL;
    hash ^= hash >> 32;
  }
  return hash | 1;  // 0 is a free slot
}

bool is_known_module(std::uintptr_t address) noexcept {
  const std::uint32_t count = header().modules.load(std::memory_order_relaxed);
  for (std::uint32_t number = count; number-- > 0;) {
    const format::offset place = header().module_at[number].load(std::memory_order_relaxed);
    if (place == 0) continue;
    const auto& each = *at<format::module_record>(place);
    if (each.image == image() && address - each.start < each.end - each.start) return true;
  }
  return false;
}

// Under the lock `adding`.
void note_module(std::uintptr_t address) noexcept {
  dl_find_object where;
  if (::_dl_find_object(reinterpret_cast<void*>(address), &where) != 0 || where.dlfo_link_map == nullptr) return;
  const std::uint32_t number = header().modules.load(std::memory_order_relaxed);
  if (number == format::most_modules) return;
  char own[4096];
  const char* path = where.dlfo_link_map->l_name;
  std::size_t size = std::strlen(path);
  if (size == 0) {  // the program itself
    const long got = raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", own, sizeof own);
    path = own;
    size = got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  const format::offset place = hand_out(sizeof(format::module_record) + size);
  if (place == 0) return;
  auto& made = *at<format::module_record>(place);
  made.image = image();
  made.path_bytes = static_cast<std::uint32_t>(size);
  made.start = reinterpret_cast<std::uintptr_t>(where.dlfo_map_start);
  made.end = reinterpret_cast<std::uintptr_t>(where.dlfo_map_end);
  made.bias = where.dlfo_link_map->l_addr;
  std::memcpy(&made + 1, path, size);
  header().module_at[number].store(place, std::memory_order_release);
  header().modules.store(number + 1, std::memory_order_release);
}

std::uint32_t add(const std::uintptr_t* frames, std::size_t count) noexcept {
  const std::uint32_t number = header().sites.load(std::memory_order_relaxed);
  if (number >= format::most_sites) return 0;
  const format::offset place = hand_out(sizeof(format::site_record) + count * sizeof *frames);
  if (place == 0) return 0;
  for (std::size_t at = 0; at < count; ++at) {
    if (!is_known_module(frames[at] - 1)) note_module(frames[at] - 1);
  }
  auto& made = *at<format::site_record>(place);
  made.image = image();
  made.frames = static_cast<std::uint32_t>(count);
  std::memcpy(&made + 1, frames, count * sizeof *frames);
  header().site_at[number].store(place, std::memory_order_release);
  header().sites.store(number + 1, std::memory_order_release);
  return number;
}

}  // namespace

bool set_up_sites() noexcept {
  adding.begin_anew();
  unmap(table, slots * sizeof(slot));
  table = static_cast<slot*>(map(slots * sizeof(slot)));
  std::uint32_t none = 0;
  header().sites.compare_exchange_strong(none, 1, std::memory_order_relaxed);  // site 0 is taken
  return table != nullptr;
}

std::uint32_t site_of(const std::uintptr_t* frames, std::size_t count) noexcept {
  const std::uint64_t hash = hash_of(frames, count);
  std::size_t at = (hash >> 20) % slots;
  for (;; at = (at + 1) % slots) {
    const std::uint64_t there = table[at].hash.load(std::memory_order_acquire);
    if (there == hash) [[likely]]
      return table[at].site.load(std::memory_order_relaxed);
    if (there == 0) break;
  }
  const holding held(adding);
  for (;; at = (at + 1) % slots) {  // from there on: another thread may have added it
    const std::uint64_t there = table[at].hash.load(std::memory_order_relaxed);
    if (there == hash) return table[at].site.load(std::memory_order_relaxed);
    if (there == 0) break;
  }
  const std::uint32_t number = add(frames, count);
  if (number == 0) return 0;
  table[at].site.store(number, std::memory_order_relaxed);
  table[at].hash.store(hash, std::memory_order_release);
  return number;
}

}  // namespace tarn::record
