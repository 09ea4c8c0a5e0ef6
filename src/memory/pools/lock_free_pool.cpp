// Manages the memory of lock-free pools.
#include <tarn/lock_free_pool.hpp>

#include <sched.h>

#include <new>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "memory/pools/guarded_blocks.hpp"
#include "memory/pools/upstream.hpp"
#include "platform/race_detector.hpp"

namespace tarn::detail {
namespace {

using namespace base::units;

constexpr std::size_t default_first_bytes = TARN_SMALL ? 256 : 4_KiB;
constexpr std::size_t largest_chunk = PTRDIFF_MAX / 4;

std::uint32_t shift_for(std::size_t blocks) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(std::clamp(blocks, std::size_t{1}, std::size_t{1} << 20) - 1));
}

}  // namespace

lock_free_store::lock_free_store(std::size_t block_bytes_, std::size_t alignment_,
                                 const pool_options& options_) noexcept
    : first_shift(shift_for(options_.first_chunk != 0 ? options_.first_chunk
                                                      : std::max(default_first_bytes / block_bytes_, std::size_t{8}))),
      block_bytes(block_bytes_),
      alignment(std::max(alignment_, block_alignment)),
      options(options_),
      guarded(guarded_blocks::make(this, block_bytes_, alignment_, options_)) {}

lock_free_store::~lock_free_store() {
  guarded_blocks::end(guarded);
  for (std::uint32_t each = 0; each < chunk_count.load(std::memory_order_relaxed); ++each) {
    pools::give_upstream(options.upstream, chunks[each].begin.load(std::memory_order_relaxed), chunk_bytes(each),
                         alignment);
  }
}

std::size_t lock_free_store::chunk_bytes(std::uint32_t number) const noexcept {
  const std::size_t blocks = std::size_t{1} << (first_shift + number);
  return blocks * (block_bytes + sizeof(std::atomic<std::uint32_t>));
}

// Any number of threads may come here at once. Each asks the upstream, one wins, and the others return their chunks.
bool lock_free_store::grow(std::uint32_t seen_chunks) noexcept {
  if (guarded != nullptr) {
    return false;
  }
  const std::size_t blocks = std::size_t{1} << (first_shift + seen_chunks);
  if (seen_chunks == most_chunks || first_shift + seen_chunks > 30 ||
      blocks > largest_chunk / (block_bytes + sizeof(std::uint32_t)) ||
      (options.limit != 0 && blocks_in(seen_chunks) >= options.limit)) {
    return chunk_count.load(std::memory_order_acquire) != seen_chunks;
  }
  void* const memory = pools::take_upstream(options.upstream, chunk_bytes(seen_chunks), alignment);
  if (memory == nullptr) {
    return chunk_count.load(std::memory_order_acquire) != seen_chunks;
  }
  char* const begin = static_cast<char*>(memory);
  auto* const links = reinterpret_cast<std::atomic<std::uint32_t>*>(begin + blocks * block_bytes);
  for (std::size_t at = 0; at < blocks; ++at) {
    ::new (&links[at]) std::atomic<std::uint32_t>(0);
  }
  chunk& made = chunks[seen_chunks];
  char* nothing = nullptr;
  if (!made.begin.compare_exchange_strong(nothing, begin, std::memory_order_acq_rel)) {
    pools::give_upstream(options.upstream, memory, chunk_bytes(seen_chunks), alignment);
    // The winner counts the chunk in a moment.
    while (chunk_count.load(std::memory_order_acquire) == seen_chunks) {
      sched_yield();
    }
    return true;
  }
  made.links = links;
  mark_free(begin, blocks * block_bytes);
  // release: a thread that sees the count sees the whole chunk.
  platform::note_release(&chunk_count);
  chunk_count.store(seen_chunks + 1, std::memory_order_release);
  return true;
}

void lock_free_store::refuse() const {
#if defined(__cpp_exceptions)
  const std::uint64_t held =
      guarded != nullptr ? guarded->in_use() : blocks_in(chunk_count.load(std::memory_order_relaxed));
  if (options.limit != 0 && held >= options.limit) {
    throw pool_limit_reached(options.name, block_bytes, options.limit);
  }
#endif
  throw_bad_alloc();
}

void* lock_free_store::take_elsewhere() noexcept {
  void* const block = guarded != nullptr ? guarded->take(__builtin_return_address(0)) : nullptr;
  mark_allocated(block, block_bytes);
  return block;
}

void lock_free_store::give_elsewhere(void* block) noexcept {
  if (guarded == nullptr) {
    report_foreign(block, nullptr);
  }
  guarded->give(block, __builtin_return_address(0));
}

bool lock_free_store::has_elsewhere(std::size_t blocks) const noexcept {
  return guarded != nullptr && guarded->has_room(blocks);
}

void lock_free_store::report_foreign(const void* block, const void* start) const noexcept {
  base::fault_foreign_to_pool(options.name, this, block, start, block_bytes);
}

void lock_free_store::report_double_free(const void* block) const noexcept {
  base::fault_pool_double_free(options.name, this, block, block_bytes);
}

}  // namespace tarn::detail
