#include "memory/pools/guarded_blocks.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include <tarn/fixed_pool.hpp>
#include <tarn/heap.hpp>

#include "base/fault.hpp"
#include "base/leaks.hpp"
#include "memory/guard/guard.hpp"

namespace tarn::detail {
namespace {

using hold = std::lock_guard<spin_mutex>;

constexpr std::uint32_t first_room = 64;
constexpr const char* entry = "pool::deallocate";

}  // namespace

guarded_blocks::guarded_blocks(const void* pool, std::size_t bytes, std::size_t alignment,
                               const pool_options& options) noexcept
    : bytes_(bytes), alignment_(alignment), limit_(options.limit_blocks), name_(options.name), pool_(pool) {}

guarded_blocks* guarded_blocks::make(const void* pool, std::size_t bytes, std::size_t alignment,
                                     const pool_options& options) noexcept {
  if ((!options.is_guarded && !guard::is_enabled()) || !guard::prepare()) return nullptr;
  void* const memory = process_heap().try_allocate(sizeof(guarded_blocks), alignof(guarded_blocks));
  return memory == nullptr ? nullptr : ::new (memory) guarded_blocks(pool, bytes, alignment, options);
}

void guarded_blocks::end(guarded_blocks* blocks) noexcept {
  if (blocks == nullptr) return;
  if (blocks->count_ != 0) {
    blocks->report_left();
    blocks->clear(__builtin_return_address(0));
  }
  process_heap().deallocate(blocks->live_, blocks->room_ * sizeof(void*), alignof(void*));
  process_heap().deallocate(blocks, sizeof(guarded_blocks), alignof(guarded_blocks));
}

bool guarded_blocks::grow() noexcept {
  const std::uint32_t new_room = room_ == 0 ? first_room : 2 * room_;
  auto** const grown = static_cast<void**>(process_heap().try_allocate(new_room * sizeof(void*), alignof(void*)));
  if (grown == nullptr) return false;
  std::copy_n(live_, count_, grown);
  process_heap().deallocate(live_, room_ * sizeof(void*), alignof(void*));
  live_ = grown;
  room_ = new_room;
  return true;
}

void* guarded_blocks::take(const void* site) noexcept {
  const hold keep(lock_);
  if (!has_room(count_ + std::size_t{1}) || (count_ == room_ && !grow())) return nullptr;
  void* const block = guard::allocate(bytes_, alignment_, site);
  if (block != nullptr) {
    guard::set_note(block, count_);
    live_[count_++] = block;
    peak_ = std::max(peak_, count_);
  }
  return block;
}

void guarded_blocks::give(void* block, const void* site) noexcept {
  const hold keep(lock_);  // held while freeing, so that one of two freeing threads gets the note
  mark_allocated(block, bytes_);
  const std::uint32_t index = guard::note_of(entry, block);
  if (index >= count_ || live_[index] != block) base::fault_foreign_to_pool(name_, pool_, block, nullptr, bytes_);
  live_[index] = live_[--count_];
  if (index != count_) guard::set_note(live_[index], index);
  guard::deallocate(entry, block, guard::no_stated_size, site);
  mark_free(block, bytes_);
}

void guarded_blocks::clear(const void* site) noexcept {
  const hold keep(lock_);
  while (count_ != 0) {
    void* const block = live_[--count_];
    guard::deallocate("pool::clear", block, guard::no_stated_size, site);
    mark_free(block, bytes_);
  }
}

void guarded_blocks::for_each_live(void (*visit)(void*, void*), void* call) {
  std::sort(live_, live_ + count_);  // by address, as pools promise
  for (std::uint32_t index = 0; index < count_; ++index) guard::set_note(live_[index], index);
  std::for_each_n(live_, count_, [=](void* block) { visit(block, call); });
}

std::size_t guarded_blocks::in_use() noexcept {
  const hold keep(lock_);
  return count_;
}
std::size_t guarded_blocks::peak_in_use() noexcept {
  const hold keep(lock_);
  return peak_;
}

void guarded_blocks::report_left() const noexcept {
  base::leak_report report;
  for (std::uint32_t index = 0; index < count_; ++index) {
    const base::block_record record = guard::record_of(live_[index]);
    report.add(record.bytes, record.allocated_at, record.allocated_by);
  }
  report.print("pool", name_, pool_);
}

}  // namespace tarn::detail
