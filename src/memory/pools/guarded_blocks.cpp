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
    : bytes_(bytes), alignment_(alignment), limit_(options.limit), name_(options.name), pool_(pool) {}

guarded_blocks* guarded_blocks::make(const void* pool, std::size_t bytes, std::size_t alignment,
                                     const pool_options& options) noexcept {
  if ((!options.guard && !guard::wanted()) || !guard::prepare()) {
    return nullptr;
  }
  void* const memory = global().try_allocate(sizeof(guarded_blocks), alignof(guarded_blocks));
  return memory == nullptr ? nullptr : ::new (memory) guarded_blocks(pool, bytes, alignment, options);
}

void guarded_blocks::end(guarded_blocks* of) noexcept {
  if (of == nullptr) {
    return;
  }
  if (of->count_ != 0) {
    of->report_left();
    of->clear(__builtin_return_address(0));
  }
  global().deallocate(of->live_, of->room_ * sizeof(void*), alignof(void*));
  global().deallocate(of, sizeof(guarded_blocks), alignof(guarded_blocks));
}

bool guarded_blocks::grow() noexcept {
  const std::uint32_t wanted = room_ == 0 ? first_room : 2 * room_;
  auto** const made = static_cast<void**>(global().try_allocate(wanted * sizeof(void*), alignof(void*)));
  if (made == nullptr) {
    return false;
  }
  std::copy_n(live_, count_, made);
  global().deallocate(live_, room_ * sizeof(void*), alignof(void*));
  live_ = made;
  room_ = wanted;
  return true;
}

void* guarded_blocks::take(const void* site) noexcept {
  const hold keep(lock_);
  if (!has_room(count_ + std::size_t{1}) || (count_ == room_ && !grow())) {
    return nullptr;
  }
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
  const std::uint32_t at = guard::note_of(entry, block);
  if (at >= count_ || live_[at] != block) {
    base::fault_foreign_to_pool(name_, pool_, block, nullptr, bytes_);
  }
  live_[at] = live_[--count_];
  if (at != count_) {
    guard::set_note(live_[at], at);
  }
  guard::deallocate(entry, block, guard::unsaid, site);
  mark_free(block, bytes_);
}

void guarded_blocks::clear(const void* site) noexcept {
  const hold keep(lock_);
  while (count_ != 0) {
    void* const block = live_[--count_];
    guard::deallocate("pool::clear", block, guard::unsaid, site);
    mark_free(block, bytes_);
  }
}

void guarded_blocks::for_each_live(void (*each)(void*, void*), void* call) {
  std::sort(live_, live_ + count_);  // by address, as pools promise
  for (std::uint32_t at = 0; at < count_; ++at) {
    guard::set_note(live_[at], at);
  }
  std::for_each_n(live_, count_, [=](void* block) { each(block, call); });
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
  for (std::uint32_t at = 0; at < count_; ++at) {
    const base::block_record of = guard::record_of(live_[at]);
    report.add(of.bytes, of.allocated_at, of.allocated_by);
  }
  report.print("pool", name_, pool_);
}

}  // namespace tarn::detail
