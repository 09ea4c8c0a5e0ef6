// Reads the statistics of one heap while its owner works.
#include "memory/heap/heap.hpp"

namespace tarn::heaps {

void heap::note_peak() noexcept {
  const auto raise = [](std::atomic<std::uint64_t>& peak, std::uint64_t now) {
    if (now > peak.load(std::memory_order_relaxed)) {
      peak.store(now, std::memory_order_relaxed);  // two threads at once may lose an update
    }
  };
  raise(peak_bytes, slab_bytes.get() + large_bytes.load(std::memory_order_relaxed));
  raise(run_peak_bytes, slab_bytes.get() + run_bytes.load(std::memory_order_relaxed));
}

heap_statistics heap::statistics() const noexcept {
  heap_statistics now;
  now.counts_calls = policy.is_counting();
  for (size_class index = 0; index < detail::class_count; ++index) {
    const std::uint64_t allocated = classes[index].allocations.get();
    const std::uint64_t freed = classes[index].frees.get();
    now.allocated_blocks += allocated;
    now.freed_blocks += freed;
    now.allocated_bytes += allocated * detail::size_of(index);
    now.freed_bytes += freed * detail::size_of(index);
  }
  if (policy.is_counting()) {
    const std::uint64_t blocks = large_allocated.load(std::memory_order_relaxed);
    const std::uint64_t bytes = large_allocated_bytes.load(std::memory_order_relaxed);
    now.allocated_blocks += blocks;
    now.allocated_bytes += bytes;
    now.freed_blocks += blocks - large_blocks.load(std::memory_order_relaxed);
    now.freed_bytes += bytes - large_bytes.load(std::memory_order_relaxed);
  }
  const auto relaxed = std::memory_order_relaxed;
  now.remote_frees = remote_frees.get() + reclaimed.blocks.load(relaxed);
  now.slabs = slabs.get() - reclaimed.slabs.load(relaxed);
  now.slab_bytes = slab_bytes.get() - reclaimed.slab_bytes.load(relaxed);
  // Another thread's move may be half done: then the parts do not add up.
  const std::uint64_t used_bytes = taken_bytes.get() - reclaimed.block_bytes.load(relaxed);
  const std::uint64_t waiting = depot_bytes.get();
  const large_cache::content cached = large.count();
  const auto less = [](std::uint64_t total, std::uint64_t part) { return total > part ? total - part : 0; };
  const std::uint64_t large_held = large_bytes.load(relaxed);
  now.large_blocks = less(large_blocks.load(relaxed), cached.runs);
  now.large_bytes = less(large_held, cached.units * pages::unit_bytes);
  now.used_bytes = less(used_bytes, waiting) + now.large_bytes;
  now.footprint_bytes = now.slab_bytes + large_held;
  now.peak_footprint_bytes = peak_bytes.load(std::memory_order_relaxed);
  now.refills = refills.get();
  now.flushes = flushes.get();
  return now;
}

// A heap object's blocks never wait in a batch. Their frees are left out, because release() ends those that wait.
waiting_frees heap::waiting() const noexcept {
  const batch_content unsent = batch_content::read(cursor);
  waiting_frees part{outgoing_blocks.get() + unsent.blocks(), outgoing_bytes.get() + unsent.bytes()};
  if (frees_may_wait.load(std::memory_order_relaxed)) {
    part.blocks -= remote_frees.get() + reclaimed.blocks.load(std::memory_order_relaxed);
    part.bytes -= remote_bytes.get() + reclaimed.block_bytes.load(std::memory_order_relaxed);
  }
  return part;
}

}  // namespace tarn::heaps
