// Manages the memory of lock-free pools.
#include <tarn/lock_free_pool.hpp>

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
constexpr std::size_t max_chunk_bytes = PTRDIFF_MAX / 4;

std::uint32_t shift_for(std::size_t blocks) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(std::clamp(blocks, std::size_t{1}, std::size_t{1} << 20) - 1));
}

}  // namespace

lock_free_store::lock_free_store(std::size_t block_bytes_, std::size_t alignment_,
                                 const pool_options& options_) noexcept
    : first_shift(shift_for(options_.first_chunk_blocks != 0
                                ? options_.first_chunk_blocks
                                : std::max(default_first_bytes / block_bytes_, std::size_t{8}))),
      block_bytes(block_bytes_),
      alignment(std::max(alignment_, block_alignment)),
      options(options_),
      guarded(guarded_blocks::make(this, block_bytes_, alignment_, options_)) {}

lock_free_store::~lock_free_store() {
  guarded_blocks::end(guarded);
  const std::uint32_t count = chunk_count.load(std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < count; ++number) {
    pools::give_upstream(options.upstream, chunks[number].begin.load(std::memory_order_relaxed), chunk_bytes(number),
                         alignment);
  }
}

std::size_t lock_free_store::chunk_bytes(std::uint32_t number) const noexcept {
  const std::size_t blocks = std::size_t{1} << (first_shift + number);
  return blocks * (block_bytes + sizeof(std::atomic<std::uint32_t>));
}

// Several threads may grow the pool at once. Each asks the upstream, one installs its chunk, and the others return
// theirs. A thread that finds a chunk installed counts it, because the thread that installed it may have been stopped.
// So no thread waits for another one here (tests/models/lock_free_growth.pml).
bool lock_free_store::grow(std::uint32_t seen_chunks) noexcept {
  if (guarded != nullptr) return false;
  const std::size_t blocks = std::size_t{1} << (first_shift + seen_chunks);
  if (seen_chunks == max_chunks || first_shift + seen_chunks > 30 ||
      blocks > max_chunk_bytes / (block_bytes + sizeof(std::uint32_t)) ||
      (options.limit_blocks != 0 && blocks_in(seen_chunks) >= options.limit_blocks)) {
    return chunk_count.load(std::memory_order_acquire) != seen_chunks;
  }
  chunk& next = chunks[seen_chunks];
  // acquire: the links that another thread constructed in the chunk are complete.
  char* begin = next.begin.load(std::memory_order_acquire);
  if (begin == nullptr) begin = install(next, seen_chunks);
  platform::note_acquire(&next.begin);
  if (begin == nullptr) return chunk_count.load(std::memory_order_acquire) != seen_chunks;
  next.links.store(links_of(begin, blocks), std::memory_order_relaxed);  // every thread stores the same
  // release: a thread that sees the count sees the whole chunk. A store instead of an exchange would let a thread that
  // was stopped here take later chunks out of the count.
  platform::note_release(&chunk_count);
  std::uint32_t expected_count = seen_chunks;
  chunk_count.compare_exchange_strong(expected_count, seen_chunks + 1, std::memory_order_release,
                                      std::memory_order_relaxed);
  return true;
}

std::atomic<std::uint32_t>* lock_free_store::links_of(char* begin, std::size_t blocks) const noexcept {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(begin + blocks * block_bytes);
}

// Returns the begin of the chunk that is installed then, by this thread or another one; null without memory.
char* lock_free_store::install(chunk& target, std::uint32_t number) noexcept {
  const std::size_t blocks = std::size_t{1} << (first_shift + number);
  auto* const begin = static_cast<char*>(pools::take_upstream(options.upstream, chunk_bytes(number), alignment));
  char* installed = nullptr;
  if (begin == nullptr) return target.begin.load(std::memory_order_acquire);
  std::atomic<std::uint32_t>* const links = links_of(begin, blocks);
  for (std::size_t index = 0; index < blocks; ++index) ::new (&links[index]) std::atomic<std::uint32_t>(0);
  mark_free(begin, blocks * block_bytes);  // before another thread can count the chunk and hand its blocks out
  platform::note_release(&target.begin);
  if (!target.begin.compare_exchange_strong(installed, begin, std::memory_order_acq_rel, std::memory_order_acquire)) {
    pools::give_upstream(options.upstream, begin, chunk_bytes(number), alignment);
    return installed;
  }
  return begin;
}

void lock_free_store::refuse() const {
#if defined(__cpp_exceptions)
  const std::uint64_t block_count =
      guarded != nullptr ? guarded->in_use() : blocks_in(chunk_count.load(std::memory_order_relaxed));
  if (options.limit_blocks != 0 && block_count >= options.limit_blocks) {
    throw pool_limit_reached(options.name, block_bytes, options.limit_blocks);
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
  if (guarded == nullptr) report_foreign(block, nullptr);
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
