#include "profiler/preload/sampled_blocks.hpp"

#include <cstddef>
#include <utility>

#include "profiler/preload/base/filter.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"

namespace tarn::preload {
namespace {

struct slot {
  const void* block;  // null: the slot is free
  allocation_record record;
};

constexpr std::size_t first_slots = 1024;
constinit lock held_by;
constinit slot* table = nullptr;
constinit std::size_t slots = 0, used_slots = 0;

std::size_t home_of(const void* block, std::size_t slot_count) noexcept {
  return ((reinterpret_cast<std::uintptr_t>(block) >> 4) * 0xd6e8feb86659fd93ULL >> 20) & (slot_count - 1);
}

std::size_t find(const void* block) noexcept {
  std::size_t index = home_of(block, slots);
  while (table[index].block != nullptr && table[index].block != block) index = (index + 1) & (slots - 1);
  return index;
}

void enter_filter(const void* block) noexcept {
  std::atomic<std::uint8_t>& cell = filter_of(block);
  const std::uint8_t count = cell.load(std::memory_order_relaxed);
  if (count != filter_full) cell.store(count + 1, std::memory_order_relaxed);
}
void leave_filter(const void* block) noexcept {
  std::atomic<std::uint8_t>& cell = filter_of(block);
  const std::uint8_t count = cell.load(std::memory_order_relaxed);
  if (count != filter_full) cell.store(count - 1, std::memory_order_relaxed);
}

bool grow() noexcept {
  const std::size_t slot_count = slots == 0 ? first_slots : slots * 2;
  auto* const new_table = static_cast<slot*>(map(slot_count * sizeof(slot)));
  if (new_table == nullptr) return false;
  for (std::size_t old = 0; old < slots; ++old) {
    if (table[old].block == nullptr) continue;
    std::size_t index = home_of(table[old].block, slot_count);
    while (new_table[index].block != nullptr) index = (index + 1) & (slot_count - 1);
    new_table[index] = table[old];
  }
  unmap(table, slots * sizeof(slot));
  table = new_table;
  slots = slot_count;
  return true;
}

// Removes a slot's entry. Linear probing without tombstones needs the entries behind it to move up.
void remove(std::size_t hole) noexcept {
  for (std::size_t index = (hole + 1) & (slots - 1); table[index].block != nullptr; index = (index + 1) & (slots - 1)) {
    const std::size_t distance = (index - home_of(table[index].block, slots)) & (slots - 1);
    if (distance < ((index - hole) & (slots - 1))) continue;
    table[hole] = table[index];
    hole = index;
  }
  table[hole] = {};
  --used_slots;
}

}  // namespace

constinit std::atomic<std::uint8_t> filter[filter_slots] = {};

bool set_up_sampled() noexcept {
  held_by.begin_anew();
  for (auto& cell : filter) cell.store(0, std::memory_order_relaxed);
  filter_of(nullptr).store(filter_full, std::memory_order_relaxed);
  unmap(std::exchange(table, nullptr), slots * sizeof(slot));
  slots = used_slots = 0;
  return grow();
}

void forget_sampled() noexcept {
  const holding guard(held_by);
  for (std::size_t index = 0; index < slots; ++index) {
    if (table[index].block != nullptr) leave_filter(table[index].block);
    table[index] = {};
  }
  used_slots = 0;
}

bool note_sampled(const void* block, const allocation_record& record) noexcept {
  const holding guard(held_by);
  if (used_slots * 2 >= slots && !grow()) return false;
  const std::size_t index = find(block);
  if (table[index].block == nullptr) {
    ++used_slots;
    enter_filter(block);
  }
  table[index] = {block, record};
  return true;
}

allocation_record take_sampled(const void* block) noexcept {
  const holding guard(held_by);
  const std::size_t index = find(block);
  if (table[index].block == nullptr) return {};
  const allocation_record record = table[index].record;
  remove(index);
  leave_filter(block);
  return record;
}

}  // namespace tarn::preload
