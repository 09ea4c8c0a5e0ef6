// Lets tarn record search this process's heap while no thread of the process runs (format::heap_search).
#pragma once

#include <cstdint>
#include <cstring>

#include "profiler/preload/entry.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {

// Waits until tarn record has done a search that it has requested; does nothing without a request.
void await_search(format::heap_search& search) noexcept;

// Lets tarn record look through the contents of all blocks if it wants to, and if as many bytes are in use.
void await_contents_search(std::int64_t min_bytes) noexcept;

// Call this before a free is counted. Few frees pass the comparison: contents_from grows by an eighth each time.
[[gnu::always_inline]] inline void look_through_contents() noexcept {
  if (header().bytes_in_use.load(std::memory_order_relaxed) >= header().contents_from.load(std::memory_order_relaxed))
      [[unlikely]]
    await_contents_search(header().contents_from.load(std::memory_order_relaxed));
}

// Fills a new block, or the new part of one, so that tarn record sees what the program has never written.
inline void mark_unwritten(void* block, std::size_t written, std::size_t bytes) noexcept {
  if (block == nullptr || !is_attached() || !is_recorded() || bytes <= written || bytes > format::max_filled_bytes)
    return;
  if (header().contents.step.load(std::memory_order_relaxed) == format::search_step::unwanted) return;
  std::memset(static_cast<char*>(block) + written, format::unwritten_byte, bytes - written);
}

}  // namespace tarn::preload
