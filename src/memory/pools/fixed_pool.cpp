// The paths of a pool that are not inline: moving blocks between magazine and carriers, fresh blocks, chunks.
#include <tarn/fixed_pool.hpp>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "base/fault.hpp"
#include "base/text.hpp"
#include "memory/pools/guarded_blocks.hpp"
#include "memory/pools/pool_parts.hpp"
#include "memory/pools/upstream.hpp"

namespace tarn::detail {

constinit pool_magazine shut_pool_magazine{};

}  // namespace tarn::detail

namespace tarn {
namespace {

using namespace base::units;
using detail::max_carrier_blocks;
using detail::pool_carrier;
using detail::pool_chunk;
using detail::pool_magazine;
using detail::pool_slots;

/// The number of blocks that move at once between the magazine and the carriers or chunks.
constexpr std::size_t half = pool_slots / 2;

constexpr std::size_t default_first_bytes = TARN_SMALL ? 512 : 4_KiB;
constexpr std::size_t largest_step_bytes = TARN_SMALL ? 16_KiB : 1_MiB;
/// This is a quarter, so that sums of such numbers cannot overflow.
constexpr std::size_t largest_request = PTRDIFF_MAX / 4;

std::size_t chunk_alignment(std::size_t alignment) noexcept { return std::max(alignment, detail::block_alignment); }

/// The bytes that a chunk needs before its first block.
std::size_t header_bytes(std::size_t blocks, std::size_t alignment) noexcept {
  const std::size_t word_count = TARN_CHECKS ? base::divide_up(blocks, 64) : 0;
  return base::align_up(offsetof(pool_chunk, in_use) + word_count * sizeof(std::uint64_t), chunk_alignment(alignment));
}

/// Copies a few addresses. A call of memcpy, which the compiler would make of the loop, costs more.
void** copy_few(void* const* source, std::size_t count, void** target) noexcept {
  for (; count != 0; --count) {
    *target++ = *source++;
    asm("" : "+r"(source));
  }
  return target;
}

/// Calls `work` with the blocks of a carrier. Two, the number for blocks of 16 bytes, is a constant here: a list of
/// such nodes spends a third of its time between magazine and carriers, and this halves the instructions.
template <class Work>
void with_carrier_blocks(std::size_t blocks, Work work) noexcept {
  if (blocks == 2) {
    work(std::integral_constant<std::size_t, 2>());
  } else {
    work(blocks);
  }
}

}  // namespace

pool_limit_reached::pool_limit_reached(const char* name, std::size_t block_bytes, std::size_t limit) noexcept {
  base::text message(text_, sizeof text_ - 1);
  message.append("tarn: pool \"").append_escaped(name).append("\": limit reached: all ").decimal(limit);
  message.append(" blocks of ").decimal(block_bytes).append(" bytes are in use");
  text_[message.view().size()] = '\0';
}

fixed_pool::fixed_pool(std::size_t bytes, std::size_t alignment, const pool_options& options) noexcept
    : wanted_bytes_(bytes),
      alignment_(std::bit_ceil(std::clamp(alignment, sizeof(void*), largest_request / 2))),
      options_(options) {
  block_bytes_ = base::align_up(std::clamp(bytes, sizeof(void*), largest_request), alignment_);
  carrier_blocks_ = std::min(block_bytes_ / sizeof(void*), max_carrier_blocks);
}

// ---------------------------------------------------------------- blocks

fixed_pool::~fixed_pool() {
  detail::guarded_blocks::end(guarded_);
  guarded_ = nullptr;
  release();
}

void* fixed_pool::allocate_slow() {
  void* const block = try_allocate_slow(__builtin_return_address(0));
  if (block == nullptr) refuse();
  return block;
}

void* fixed_pool::try_allocate_slow() noexcept { return try_allocate_slow(__builtin_return_address(0)); }
void* fixed_pool::try_allocate_slow(const void* site) noexcept {
  if (magazine_ == nullptr && is_guarded()) return guarded_->take(site);
  return refill() ? *--top_ : nullptr;
}

bool fixed_pool::is_guarded() noexcept {
  if (guarded_ == nullptr && capacity_ == 0) {
    guarded_ = detail::guarded_blocks::make(this, wanted_bytes_, alignment_, options_);
  }
  return guarded_ != nullptr;
}

void fixed_pool::refuse() const {
#if defined(__cpp_exceptions)
  const std::size_t block_count = guarded_ != nullptr ? guarded_->in_use() : capacity_;
  if (options_.limit_blocks != 0 && block_count >= options_.limit_blocks) {
    throw pool_limit_reached(options_.name, block_bytes_, options_.limit_blocks);
  }
#endif
  detail::throw_bad_alloc();
}

// Refills the empty magazine. Blocks that were used before come first, because they are more likely in a cache.
bool fixed_pool::refill() noexcept {
  if (magazine_ == nullptr && !add_magazine()) return false;
  void** target = magazine_->bottom();
  peak_in_use_ = std::max(peak_in_use_, capacity_ - carried_ - untouched_blocks());
  if (carriers_ != nullptr) {
    with_carrier_blocks(carrier_blocks_, [&](auto carried) {
      pool_carrier* source = carriers_;
      std::size_t left = half / carried;
      do {
        detail::mark_allocated(source, block_bytes_);
        pool_carrier* const next = source->next;
        copy_few(source->blocks, carried - 1, target);
        detail::mark_free(source, block_bytes_);
        target[carried - 1] = source;
        target += carried;
        source = next;
      } while (--left != 0 && source != nullptr);
      carriers_ = source;
      carried_ -= (half / carried - left) * carried;
    });
  } else {
    if (untouched_chunks_ == nullptr) {
      const std::size_t first = options_.first_chunk_blocks != 0
                                    ? options_.first_chunk_blocks
                                    : std::max(default_first_bytes / block_bytes_, std::size_t{8});
      const std::size_t largest_step = std::max(largest_step_bytes / block_bytes_, std::size_t{8});
      const std::size_t later =
          options_.increment_blocks != 0 ? options_.increment_blocks : std::min(capacity_, largest_step);
      if (!add_chunk(1, capacity_ == 0 ? first : later)) return false;
    }
    // The lowest address is on top, so that new blocks are handed out in order.
    const std::size_t count = std::min(untouched_chunks_->untouched_blocks(block_bytes_), half);
    char* const end = untouched_chunks_->untouched + count * block_bytes_;
    for (char* block = end; block != untouched_chunks_->untouched;) {
      block -= block_bytes_;
      *target++ = block;
    }
    untouched_chunks_->untouched = end;
    if (untouched_chunks_->untouched_blocks(block_bytes_) == 0) untouched_chunks_ = untouched_chunks_->next_untouched;
  }
  top_ = target;
  return true;
}

// Makes room when the magazine is full or missing: the older half goes to carriers.
void fixed_pool::spill(void* block) noexcept { spill(block, __builtin_return_address(0)); }
void fixed_pool::spill(void* block, const void* site) noexcept {
  if (guarded_ != nullptr) {
    guarded_->give(block, site);
    return;
  }
  if (magazine_ == nullptr) base::fault_foreign_to_pool(options_.name, this, block, nullptr, block_bytes_);
  if (free_blocks() >= capacity_) base::fault_pool_overfull(options_.name, this, free_blocks() + 1, capacity_);
  void** const bottom = magazine_->bottom();
  void** front_end = bottom;
  with_carrier_blocks(carrier_blocks_, [&](auto carried) {
    pool_carrier* newest = carriers_;
    for (std::size_t left = half / carried; left != 0; --left) {
      auto* const carrier = static_cast<pool_carrier*>(front_end[carried - 1]);
      detail::mark_allocated(carrier, block_bytes_);
      copy_few(front_end, carried - 1, carrier->blocks);
      carrier->next = newest;
      newest = carrier;
      front_end += carried;
      detail::mark_free(carrier, block_bytes_);
    }
    carriers_ = newest;
  });
  carried_ += static_cast<std::size_t>(front_end - bottom);
  top_ = std::copy(front_end, top_, bottom);
  *top_++ = block;
}

std::size_t fixed_pool::take_many(void** target, std::size_t limit, const void* site) noexcept {
  if (magazine_ == nullptr && is_guarded()) {
    *target = guarded_->take(site);
    return *target != nullptr ? 1 : 0;
  }
  if (top_[-1] == nullptr && !refill()) return 0;
  TARN_CHECK(magazine_ != nullptr);
  const std::size_t count = std::min(limit, static_cast<std::size_t>(top_ - magazine_->bottom()));
  std::copy(top_ - count, top_, target);
  top_ -= count;
  return count;
}

void fixed_pool::give_many(void* const* blocks, std::size_t count, const void* site) noexcept {
  while (count != 0) {
    if (top_ == detail::shut_pool_magazine.end() || top_ == magazine_->end()) {
      spill(*blocks++, site);
      --count;
    }
    if (guarded_ != nullptr) continue;
    const std::size_t fitting = std::min(count, static_cast<std::size_t>(magazine_->end() - top_));
    top_ = std::copy_n(blocks, fitting, top_);
    blocks += fitting;
    count -= fitting;
  }
}

// ---------------------------------------------------------------- memory

bool fixed_pool::add_magazine() noexcept {
  void* const memory = pools::take_upstream(options_.upstream, sizeof(pool_magazine), alignof(pool_magazine));
  if (memory == nullptr) return false;
  magazine_ = ::new (memory) pool_magazine;
  magazine_->slots[0] = nullptr;
  top_ = magazine_->bottom();
  chunk_bytes_ += sizeof(pool_magazine);
  ++upstream_calls_;
  return true;
}

bool fixed_pool::add_chunk(std::size_t min_blocks, std::size_t preferred_blocks) noexcept {
  const std::size_t max_blocks = largest_request / 2 / block_bytes_;
  const std::size_t room =
      options_.limit_blocks == 0
          ? max_blocks
          : std::min(max_blocks, options_.limit_blocks > capacity_ ? options_.limit_blocks - capacity_ : 0);
  if (min_blocks > room) return false;
  std::size_t blocks = std::clamp(preferred_blocks, min_blocks, room);
  void* memory = nullptr;
  std::size_t bytes = 0;
  for (;;) {
    bytes = header_bytes(blocks, alignment_) + blocks * block_bytes_;
    memory = pools::take_upstream(options_.upstream, bytes, chunk_alignment(alignment_));
    if (memory != nullptr || blocks == min_blocks) break;
    blocks = min_blocks;
  }
  if (memory == nullptr) return false;
  auto* const added = static_cast<pool_chunk*>(memory);
  added->next = chunks_;
  added->next_untouched = nullptr;
  added->bytes = bytes;
  added->blocks = blocks;
  added->begin = added->untouched = static_cast<char*>(memory) + header_bytes(blocks, alignment_);
  if (TARN_CHECKS) std::fill_n(added->in_use, base::divide_up(blocks, 64), 0);
  detail::mark_free(added->begin, blocks * block_bytes_);
  chunks_ = added;
  pool_chunk** last = &untouched_chunks_;
  while (*last != nullptr) last = &(*last)->next_untouched;
  *last = added;
  capacity_ += blocks;
  chunk_bytes_ += bytes;
  ++chunk_count_;
  ++upstream_calls_;
  return true;
}

void fixed_pool::reserve(std::size_t blocks) {
  if (magazine_ == nullptr && is_guarded()) {
    if (!guarded_->has_room(blocks)) refuse();
    return;
  }
  if (magazine_ == nullptr && !add_magazine()) refuse();
  if (blocks > capacity_ && !add_chunk(blocks - capacity_, blocks - capacity_)) refuse();
}

void fixed_pool::clear() noexcept {
  if (guarded_ != nullptr) {
    guarded_->clear(__builtin_return_address(0));
    return;
  }
  if (free_blocks() > capacity_) base::fault_pool_overfull(options_.name, this, free_blocks(), capacity_);
  peak_in_use_ = statistics().peak_in_use;
  carriers_ = nullptr;
  carried_ = 0;
  if (magazine_ != nullptr) top_ = magazine_->bottom();
  untouched_chunks_ = nullptr;
  for (pool_chunk* visited = chunks_; visited != nullptr;
       visited = visited->next) {  // newest first: the oldest ends in front
    visited->untouched = visited->begin;
    visited->next_untouched = untouched_chunks_;
    untouched_chunks_ = visited;
    detail::mark_free(visited->begin, visited->blocks * block_bytes_);
    if (TARN_CHECKS) std::fill_n(visited->in_use, base::divide_up(visited->blocks, 64), 0);
  }
}

void fixed_pool::release() noexcept {
  clear();
  for (pool_chunk* next = chunks_; next != nullptr;) {
    pool_chunk* const old = next;
    next = old->next;
    pools::give_upstream(options_.upstream, old, old->bytes, chunk_alignment(alignment_));
  }
  if (magazine_ != nullptr) {
    pools::give_upstream(options_.upstream, magazine_, sizeof(pool_magazine), alignof(pool_magazine));
  }
  magazine_ = nullptr;
  top_ = detail::shut_pool_magazine.end();
  chunks_ = untouched_chunks_ = nullptr;
  capacity_ = chunk_count_ = chunk_bytes_ = 0;
}
// ------------------------------------------------------------- statistics

std::size_t fixed_pool::untouched_blocks() const noexcept {
  std::size_t sum = 0;
  for (const pool_chunk* visited = untouched_chunks_; visited != nullptr; visited = visited->next_untouched) {
    sum += visited->untouched_blocks(block_bytes_);
  }
  return sum;
}

std::size_t fixed_pool::free_blocks() const noexcept {
  const std::size_t ready = magazine_ == nullptr ? 0 : static_cast<std::size_t>(top_ - magazine_->bottom());
  return ready + carried_ + untouched_blocks();
}

pool_statistics fixed_pool::statistics() const noexcept {
  if (guarded_ != nullptr) {
    const std::size_t guarded = guarded_->in_use();
    return {.in_use = guarded, .peak_in_use = guarded_->peak_in_use(), .capacity = guarded};
  }
  const std::size_t free = free_blocks();
  const std::size_t in_use = capacity_ > free ? capacity_ - free : 0;
  return {.in_use = in_use,
          .peak_in_use = std::max(peak_in_use_, in_use),
          .capacity = capacity_,
          .chunks = chunk_count_,
          .chunk_bytes = chunk_bytes_,
          .upstream_calls = upstream_calls_};
}

pool_chunk* fixed_pool::chunk_of(const void* block) const noexcept {
  for (pool_chunk* visited = chunks_; visited != nullptr; visited = visited->next) {
    if (block >= visited->begin && block < visited->begin + visited->blocks * block_bytes_) return visited;
  }
  return nullptr;
}

bool fixed_pool::is_valid() const noexcept {
  std::size_t blocks = 0, chunks = 0, bytes = magazine_ == nullptr ? 0 : sizeof(pool_magazine);
  for (const pool_chunk* visited = chunks_; visited != nullptr; visited = visited->next) {
    blocks += visited->blocks;
    bytes += visited->bytes;
    ++chunks;
  }
  if (blocks != capacity_ || chunks != chunk_count_ || bytes != chunk_bytes_ || free_blocks() > capacity_) return false;
  if (magazine_ == nullptr) return top_ == detail::shut_pool_magazine.end() && carriers_ == nullptr;
  const auto is_ours = [this](const void* block) {
    const pool_chunk* const home = chunk_of(block);
    return home != nullptr && block < home->untouched &&
           static_cast<std::size_t>(static_cast<const char*>(block) - home->begin) % block_bytes_ == 0;
  };
  if (magazine_->slots[0] != nullptr || top_ < magazine_->bottom() || top_ > magazine_->end() ||
      !std::all_of(magazine_->bottom(), top_, is_ours)) {
    return false;
  }
  std::size_t carried = 0;
  for (pool_carrier* carrier = carriers_; carrier != nullptr;) {
    if (!is_ours(carrier)) return false;
    detail::mark_allocated(carrier, block_bytes_);
    const bool is_ours_alone = std::all_of(carrier->blocks, carrier->blocks + carrier_blocks_ - 1, is_ours);
    pool_carrier* const next = carrier->next;
    detail::mark_free(carrier, block_bytes_);
    if (!is_ours_alone) return false;
    carried += carrier_blocks_;
    carrier = next;
  }
  return carried == carried_;
}

// ---------------------------------------------------------- checked builds

void fixed_pool::note_taken(void* block) noexcept {
  if (block == nullptr || guarded_ != nullptr) return;
  pool_chunk* const home = chunk_of(block);
  TARN_CHECK(home != nullptr);
  const std::size_t number = static_cast<std::size_t>(static_cast<char*>(block) - home->begin) / block_bytes_;
  TARN_CHECK((home->in_use[number / 64] >> (number % 64) & 1) == 0);
  home->in_use[number / 64] |= std::uint64_t{1} << (number % 64);
}

void fixed_pool::check_returned(void* block) noexcept {
  if (guarded_ != nullptr) {
    return;  // the guard checks it
  }
  pool_chunk* const home = chunk_of(block);
  if (home == nullptr) base::fault_foreign_to_pool(options_.name, this, block, nullptr, block_bytes_);
  const std::size_t number = static_cast<std::size_t>(static_cast<char*>(block) - home->begin) / block_bytes_;
  char* const start = home->begin + number * block_bytes_;
  if (start != block) base::fault_foreign_to_pool(options_.name, this, block, start, block_bytes_);
  const std::uint64_t bit = std::uint64_t{1} << (number % 64);
  if ((home->in_use[number / 64] & bit) == 0) base::fault_pool_double_free(options_.name, this, block, block_bytes_);
  home->in_use[number / 64] &= ~bit;
}

}  // namespace tarn
