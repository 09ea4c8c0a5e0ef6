// The paths of an arena that are not inline: taking another chunk, and rewinding over chunks or objects.
#include <tarn/arena.hpp>

#include <utility>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "base/fault.hpp"
#include "base/text.hpp"
#include "memory/pools/upstream.hpp"

namespace tarn {
namespace {

using namespace base::units;
using chunk = detail::arena_chunk;

constexpr std::size_t chunk_alignment = alignof(chunk);
constexpr std::size_t largest_step = TARN_SMALL ? 4_KiB : 1_MiB;
/// This is a quarter, so that sums of three such numbers cannot overflow.
constexpr std::size_t largest_request = PTRDIFF_MAX / 4;

// The spare chunks form a pairing heap: inserting one takes two stores, and the largest is on top (M. Fredman, R.
// Sedgewick, D. Sleator, R. Tarjan, "The Pairing Heap", 1986).
chunk* meld(chunk* a, chunk* b) noexcept {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  if (a->bytes < b->bytes) std::swap(a, b);
  b->older = a->child;
  a->child = b;
  return a;
}

/// Returns the heap without its top.
chunk* without_top(chunk* top) noexcept {
  chunk* pairs = nullptr;  // melded two by two, in a list
  for (chunk* next = top->child; next != nullptr;) {
    chunk* const first = next;
    chunk* const second = first->older;
    next = second == nullptr ? nullptr : second->older;
    chunk* const pair = meld(first, second);
    pair->older = pairs;
    pairs = pair;
  }
  chunk* chunks = nullptr;
  while (pairs != nullptr) {
    chunk* const older_chunk = pairs->older;
    chunks = meld(chunks, pairs);
    pairs = older_chunk;
  }
  return chunks;
}

void poison(char* begin, char* end) noexcept { detail::mark_free(begin, static_cast<std::size_t>(end - begin)); }

}  // namespace

arena_limit_reached::arena_limit_reached(const char* name, std::size_t requested_bytes, std::size_t held_bytes,
                                         std::size_t limit) noexcept {
  base::text message(text_, sizeof text_ - 1);
  message.append("tarn: arena \"").append_escaped(name).append("\": limit reached: ").decimal(requested_bytes);
  message.append(" bytes requested, ").decimal(held_bytes).append(" of ").decimal(limit);
  message.append(" in chunks; raise arena_options::limit");
  text_[message.view().size()] = '\0';
}

void arena::refuse(std::size_t bytes) const {
#if defined(__cpp_exceptions)
  // The exception names the limit only if the limit is the reason, and not a lack of memory.
  if (options_.limit != 0 && (bytes > options_.limit || chunk_bytes_ > options_.limit - bytes - sizeof(chunk))) {
    throw arena_limit_reached(options_.name, bytes, chunk_bytes_, options_.limit);
  }
#endif
  detail::throw_bad_alloc();
}

void* arena::allocate_slow(std::size_t bytes, std::size_t alignment, bool must_be_newest) {
  void* const block = try_allocate_slow(bytes, alignment, must_be_newest);
  if (block == nullptr) refuse(bytes);
  return block;
}

void* arena::try_allocate_slow(std::size_t bytes, std::size_t alignment, bool must_be_newest) {
  if (bytes > largest_request || alignment > largest_request) return nullptr;
  const std::size_t padding = alignment > chunk_alignment ? alignment - chunk_alignment : 0;
  chunk* const next = take(sizeof(chunk) + padding + detail::arena_bytes_of(bytes));
  return next == nullptr ? nullptr : allocate_in(next, bytes, alignment, must_be_newest);
}

/// Keeps the chunk that has more room after this block as the current one, so that a large block among small ones
/// does not waste the rest of the chunk.
void* arena::allocate_in(chunk* next, std::size_t bytes, std::size_t alignment, bool must_be_newest) noexcept {
  char* const block = base::align_up(next->begin(), alignment);
  char* const behind = block + detail::arena_bytes_of(bytes);
  if (!must_be_newest && next->end() - behind <= end_ - top_) {
    next->older = single_block_chunks_;
    single_block_chunks_ = next;
    base_ -= static_cast<std::size_t>(behind - next->begin());
    poison(next->begin(), next->end());
    detail::mark_allocated(block, bytes);
    return block;
  }
  enter(next);
  return bump(bytes, alignment, [] { return nullptr; });
}

void* arena::reallocate(void* block, std::size_t old_bytes, std::size_t new_bytes, std::size_t alignment) {
  if (block != nullptr && extend(block, old_bytes, new_bytes)) return block;
  void* const new_block = bump(new_bytes, alignment, [=, this] { return allocate_slow(new_bytes, alignment, true); });
  if (block != nullptr) {
    std::memcpy(new_block, block, std::min(old_bytes, new_bytes));
    deallocate(block, old_bytes);
  }
  return new_block;
}

// Chunks are taken from the upstream and returned here.

chunk* arena::take(std::size_t needed) {
  // Several small spare chunks become one, so that the next load of this size never changes chunks.
  if (spare_ != nullptr && spare_bytes_ > spare_->bytes && spare_bytes_ <= largest_step) {
    const std::size_t total = std::max(spare_bytes_, needed);
    if (chunk* const merged = take_upstream(total, total)) {
      give_spare();
      return merged;
    }
  }
  if (spare_ != nullptr && spare_->bytes >= needed) return take_spare();
  const std::size_t step =
      std::max(std::min(options_.first_chunk, largest_request), std::min(chunk_bytes_, largest_step));
  chunk* new_chunk = take_upstream(needed, step);
  // Chunks that the arena keeps, but that are too small for this block, count for the limit. If nothing is in use, the
  // current chunk is one of them.
  if (new_chunk == nullptr && current_ != nullptr && used_bytes() == 0) {
    empty_chunks_until(nullptr, nullptr);
    start();
    new_chunk = spare_ == nullptr ? take_upstream(needed, step) : nullptr;
  }
  if (new_chunk == nullptr && spare_ != nullptr) {
    give_spare();
    new_chunk = take_upstream(needed, step);
  }
  return new_chunk;
}

/// Takes the largest spare chunk.
chunk* arena::take_spare() noexcept {
  chunk* const largest = spare_;
  spare_ = without_top(largest);
  spare_bytes_ -= largest->bytes;
  return largest;
}

/// Takes a chunk of `preferred` bytes, or of at least `needed`.
chunk* arena::take_upstream(std::size_t needed, std::size_t preferred) {
  std::size_t limit = largest_request;
  if (options_.limit != 0) {
    limit = options_.limit > chunk_bytes_ ? base::align_down(options_.limit - chunk_bytes_, chunk_alignment) : 0;
  }
  if (needed > limit) return nullptr;
  const auto ask = [this](std::size_t bytes) {
    return pools::take_upstream(options_.upstream, bytes, chunk_alignment);
  };
  preferred = std::min(std::max(needed, base::align_up(preferred, chunk_alignment)), limit);
  void* memory = ask(preferred);
  if (memory == nullptr && preferred > needed) {
    preferred = needed;
    memory = ask(preferred);
  }
  if (memory == nullptr) return nullptr;
  chunk_bytes_ += preferred;
  ++chunks_;
  ++upstream_calls_;
  return ::new (memory) chunk{nullptr, nullptr, preferred};
}

void arena::give_upstream(chunk* old) noexcept {
  const std::size_t bytes = old->bytes;
  chunk_bytes_ -= bytes;
  --chunks_;
  pools::give_upstream(options_.upstream, old, bytes, chunk_alignment);
}

void arena::give_spare() noexcept {
  while (spare_ != nullptr) {
    chunk* const old = spare_;
    spare_ = without_top(old);
    give_upstream(old);
  }
  spare_bytes_ = 0;
}

void arena::add_spare(chunk* old) noexcept {
  if (options_.spare_limit != 0 &&
      (old->bytes > options_.spare_limit || spare_bytes_ > options_.spare_limit - old->bytes)) {
    give_upstream(old);
    return;
  }
  poison(old->begin(), old->end());
  old->older = nullptr;
  old->child = nullptr;
  spare_bytes_ += old->bytes;
  spare_ = meld(spare_, old);
}

void arena::empty_chunks_until(chunk* current, chunk* single_block_chunks) noexcept {
  while (single_block_chunks_ != single_block_chunks) {
    add_spare(std::exchange(single_block_chunks_, single_block_chunks_->older));
  }
  while (current_ != current) add_spare(std::exchange(current_, current_->older));
}

void arena::enter(chunk* next) noexcept {
  const std::size_t bytes_in_use = used_bytes();
  next->older = current_;
  current_ = next;
  top_ = next->begin();
  end_ = next->end();
  base_ = reinterpret_cast<std::uintptr_t>(top_) - bytes_in_use;
  poison(top_, end_);
}

// Rewinding.

void arena::check_outermost(const char* entry) const noexcept {
  if (min_mark_ != 0) base::fault_arena_in_use(options_.name, this, entry);
}

/// Runs the destructors of everything newer than `until`. They may use the arena, but must not end a mark below
/// `min_mark`.
void arena::finish(detail::arena_finaliser* until, std::uint64_t min_mark) noexcept {
  if (finalisers_ == until) return;
  const std::uint64_t outer = std::exchange(min_mark_, min_mark);
  while (finalisers_ != until) {
    detail::arena_finaliser* const newest = std::exchange(finalisers_, finalisers_->older);
    newest->run(newest);
  }
  min_mark_ = outer;
}

void arena::rewind_slow(const arena_mark& mark) noexcept {
  if (mark.owner_ != this) base::fault_foreign_mark(options_.name, this, mark.number_, mark.owner_);
  // This reads only the records of live marks: the memory of another mark may hold anything by now.
  detail::arena_record* live = marks_;
  while (live != nullptr && live->number > mark.number_) live = live->older;
  if (live == nullptr || live->number != mark.number_) {
    base::fault_ended_mark(options_.name, this, mark.number_, marks_ == nullptr ? 0 : marks_->number, last_mark_);
  }
  if (mark.number_ < min_mark_) base::fault_arena_in_use(options_.name, this, "rewind");
  finish(live->finalisers, mark.number_ + 1);
  note_peak();
  const detail::arena_record oldest = *live;
  char* const top = reinterpret_cast<char*>(live);
  marks_ = oldest.older;
  empty_chunks_until(oldest.current, oldest.single_block_chunks);
  top_ = top;
  end_ = current_ != nullptr ? current_->end() : first_end_;
  base_ = oldest.base;
  poison(top_, end_);
}

/// Frees everything; all chunks become spare or go back.
void arena::empty() noexcept {
  finish(nullptr, last_mark_ + 1);
  note_peak();
  marks_ = nullptr;
  empty_chunks_until(nullptr, nullptr);
  start();
  poison(first_begin_, first_end_);
}

void arena::reset() noexcept {
  check_outermost("reset");
  if (finalisers_ == nullptr && single_block_chunks_ == nullptr) {
    // Most requests leave one chunk in use, the largest, or the first span alone.
    chunk* const only = current_;
    const bool is_largest = only != nullptr && (spare_ == nullptr || spare_->bytes <= only->bytes);
    const bool is_kept =
        is_largest && (options_.spare_limit == 0 || only->bytes + spare_bytes_ <= options_.spare_limit);
    if (only == nullptr || (is_kept && only->older == nullptr && first_begin_ == first_end_)) {
      note_peak();
      marks_ = nullptr;
      char* const top = top_;
      top_ = only != nullptr ? only->begin() : reinterpret_cast<char*>(base_);
      base_ = reinterpret_cast<std::uintptr_t>(top_);
      poison(top_, top);
      return;
    }
  }
  empty();
  // Several chunks stay until the next block merges them.
  if (spare_ != nullptr && spare_->bytes == spare_bytes_ && first_begin_ == first_end_) enter(take_spare());
}

void arena::release() noexcept {
  check_outermost("release");
  empty();
  give_spare();
}

void arena::leave() noexcept { release(); }

arena_statistics arena::statistics() const noexcept {
  const std::size_t bytes_in_use = used_bytes();
  return {.used_bytes = bytes_in_use,
          .peak_bytes = std::max(peak_bytes_, bytes_in_use),
          .chunk_bytes = chunk_bytes_,
          .spare_bytes = spare_bytes_,
          .chunks = chunks_,
          .upstream_calls = upstream_calls_};
}

bool arena::is_valid() const noexcept {
  std::size_t bytes = 0;
  std::size_t count = 0;
  const auto add = [&](const chunk* visited) { bytes += visited->bytes, ++count; };
  for (const chunk* list : {current_, single_block_chunks_}) {
    for (; list != nullptr; list = list->older) add(list);
  }
  // Walks the heap of spare chunks depth first; every child is at most as large as its parent.
  std::size_t spare = 0;
  bool is_ordered = true;
  const auto walk = [&](const auto& self, const chunk* newest) -> void {
    spare += newest->bytes;
    add(newest);
    for (const chunk* child = newest->child; child != nullptr; child = child->older) {
      is_ordered = is_ordered && child->bytes <= newest->bytes;
      self(self, child);
    }
  };
  if (spare_ != nullptr) walk(walk, spare_);
  bool is_falling = true;
  for (const detail::arena_record* record = marks_; record != nullptr; record = record->older) {
    is_falling = is_falling && record->number <= last_mark_ &&
                 (record->older == nullptr || record->older->number < record->number);
  }
  const bool is_inside = current_ != nullptr ? current_->begin() <= top_ && end_ == current_->end()
                                             : first_begin_ <= top_ && end_ == first_end_;
  return is_ordered && is_falling && is_inside && top_ <= end_ && base::is_aligned(top_, chunk_alignment) &&
         base::is_aligned(end_, chunk_alignment) && bytes == chunk_bytes_ && count == chunks_ &&
         spare == spare_bytes_ && (options_.spare_limit == 0 || spare_bytes_ <= options_.spare_limit);
}

}  // namespace tarn
