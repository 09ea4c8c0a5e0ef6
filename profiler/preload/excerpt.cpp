#include "profiler/preload/excerpt.hpp"

#include <algorithm>
#include <limits>

#include "profiler/preload/next.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

void trace_excerpt::begin(format::thread_record& counts) noexcept {
  due_ = ++count_ < format::max_excerpts ? due_ * 4 : not_due;
  if (open_ != nullptr) return;  // the previous excerpt is not full yet
  const format::offset offset = hand_out(sizeof(format::excerpt_record));
  if (offset == 0) return;
  open_ = record_at<format::excerpt_record>(offset);
  open_->allocations = counts.allocations.load(std::memory_order_relaxed);
  if (end_ == nullptr) end_ = &counts.excerpts;
  end_->store(offset, std::memory_order_release);
  end_ = &open_->next;
  enter_slow_path();
}

void trace_excerpt::note(format::excerpt_kind kind, const void* block, std::size_t bytes, std::uint32_t site) noexcept {
  const std::uint32_t number = open_->used_events.load(std::memory_order_relaxed);
  constexpr std::size_t limit = std::numeric_limits<std::uint32_t>::max();
  open_->events[number] = {reinterpret_cast<std::uintptr_t>(block), static_cast<std::uint32_t>(std::min(bytes, limit)),
                           static_cast<std::uint32_t>(kind) << 24 | site};
  open_->used_events.store(number + 1,
                           std::memory_order_release);  // release: a reader that sees the count sees the events
  if (number + 1 < format::excerpt_capacity) return;
  open_ = nullptr;
  leave_slow_path();
}

void trace_excerpt::note_release(const void* block, std::uint32_t site) noexcept {
  const std::size_t bytes =
      next_allocator.malloc_usable_size == nullptr ? 0 : next_allocator.malloc_usable_size(const_cast<void*>(block));
  note(format::excerpt_kind::release, block, bytes, site);
}

}  // namespace tarn::preload
