// Bump allocation: blocks follow each other, none is freed alone, and all end at once.
//
//   chunks    [first span] → chunk → chunk (current)     older ones are full
//   current   | header | block | block |  record  | block | … free … |
//                                       a mark     top_             end_
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tarn/detail/arena_parts.hpp>
#include <tarn/detail/fast_path.hpp>

namespace tarn {

/// Says how an arena grows. All sizes are in bytes.
struct arena_options {
  const char* name = "";  ///< appears in messages; the arena keeps the pointer, not a copy
  /// Provides the chunks. Null selects the heap that is current when a chunk is needed.
  std::pmr::memory_resource* upstream = nullptr;
  /// Bytes of the first chunk. Each later one is as large as all earlier ones together, up to 1 MiB, or as
  /// large as a single block needs.
  std::size_t first_chunk = detail::default_first_chunk;
  std::size_t limit = 0;        ///< the most bytes in chunks at any time; 0: no limit; a first span does not count
  std::size_t spare_limit = 0;  ///< the most bytes in empty chunks that reset() and rewind() keep; 0: all
};

/// A copy of an arena's counters. Byte counts describe the present unless they say otherwise.
struct arena_statistics {
  std::size_t used_bytes = 0;      ///< in blocks, with rounding to 16 and alignment
  std::size_t peak_bytes = 0;      ///< the highest used_bytes so far
  std::size_t chunk_bytes = 0;     ///< taken from the upstream, in use or kept
  std::size_t spare_bytes = 0;     ///< the part of chunk_bytes that is in empty chunks
  std::size_t chunks = 0;          ///< the number of chunks taken from the upstream
  std::size_t upstream_calls = 0;  ///< all chunks ever taken; constant in a steady state
};

/// The exception of allocate at the limit; what() has the numbers. Copying it throws nothing.
class arena_limit_reached : public std::bad_alloc {
 public:
  /// Made by an arena. All sizes are in bytes.
  arena_limit_reached(const char* name, std::size_t requested_bytes, std::size_t held_bytes,
                      std::size_t limit) noexcept;
  const char* what() const noexcept override { return text_; }

 private:
  char text_[192];
};

/// A position in an arena to which rewind() returns. It is small and may be copied.
class arena_mark {
  friend class arena;
  const arena* owner_ = nullptr;
  detail::arena_record* record_ = nullptr;
  std::uint64_t number_ = 0;
};

/// Allocates by moving a pointer forward.
///
///   tarn::arena request;
///   auto* order = request.create<struct order>(7);        // its destructor runs at the end
///   std::pmr::vector<int> numbers(&request);              // an arena is a std::pmr::memory_resource
///   request.reset();                                      // frees all of it and keeps the memory
///
/// Threads: one at a time. Errors: allocate throws std::bad_alloc (arena_limit_reached at the limit);
/// try_allocate returns null. AddressSanitizer builds poison free memory and 16 bytes behind each block.
/// Cost: allocate is inline and takes 7 instructions for a constant size; a block takes a multiple of 16 bytes.
class arena : public std::pmr::memory_resource {
  static constexpr std::size_t default_alignment = detail::block_alignment;

 public:
  arena() noexcept : arena(arena_options{}) {}
  /// Takes no memory yet: the first allocation takes the first chunk.
  explicit arena(const arena_options& options) noexcept : arena(std::span<std::byte>(), options) {}
  /// Uses the memory in `first` before it takes a chunk. `first` must outlive the arena.
  explicit arena(std::span<std::byte> first, const arena_options& options = {}) noexcept;
  /// Runs the registered destructors, and returns all chunks to the upstream.
  ~arena() override {
    if (!is_untouched()) leave();
    detail::mark_allocated(first_begin_, static_cast<std::size_t>(first_end_ - first_begin_));
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// Allocates `bytes` bytes at a multiple of `alignment`, which is a power of two. Never returns null.
  [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t alignment = default_alignment) {
    return bump(bytes, alignment, [=, this] { return allocate_slow(bytes, alignment, false); });
  }
  /// Like allocate, but returns null instead of throwing.
  [[nodiscard, gnu::always_inline]] void* try_allocate(std::size_t bytes,
                                                       std::size_t alignment = default_alignment) noexcept {
    return bump(bytes, alignment, [=, this] { return try_allocate_slow(bytes, alignment, false); });
  }
  /// Frees the newest block. Any other block stays, poisoned, until the arena is rewound.
  void deallocate(void* block, std::size_t bytes, std::size_t alignment = default_alignment) noexcept;

  /// Resizes the newest block in place and returns true. Returns false, and changes nothing, when the block is not
  /// the newest or its chunk has no room.
  [[nodiscard]] bool extend(void* block, std::size_t old_bytes, std::size_t new_bytes) noexcept {
    return extend(block, old_bytes, new_bytes, new_bytes) == new_bytes;
  }
  /// Resizes to as many bytes between `min_bytes` and `max_bytes` as there is room for. Returns the block's size
  /// afterwards.
  [[nodiscard]] std::size_t extend(void* block, std::size_t old_bytes, std::size_t min_bytes,
                                   std::size_t max_bytes) noexcept;
  /// Extends the block, or else copies it into a new one that can grow further. `block` may be null. Throws like
  /// allocate, and then leaves the old block untouched.
  [[nodiscard]] void* reallocate(void* block, std::size_t old_bytes, std::size_t new_bytes,
                                 std::size_t alignment = default_alignment);

  /// Creates a T. Its destructor runs when the arena is rewound or ends, newest objects first. A T with a
  /// destructor costs 16 more bytes.
  template <class T, class... Arguments>
  T* create(Arguments&&... arguments);
  /// Creates `count` value-initialised objects, whose destructors run as those of create.
  template <class T>
  std::span<T> create_array(std::size_t count);
  /// Copies the bytes of `text` into the arena, without a terminating zero.
  std::string_view copy(std::string_view text);

  /// Marks the present position, in 48 bytes of the arena. Marks nest: rewind() to one ends it and all newer ones.
  [[nodiscard]] arena_mark mark();
  /// Frees everything newer than the mark, in reverse order. A mark that has ended, or that belongs to another arena,
  /// is a fault.
  void rewind(const arena_mark& mark) noexcept;
  /// Frees everything, ends all marks, and keeps the chunks. Several small chunks (up to 1 MiB together) become one at
  /// the next use, so that a repeated load soon stays in one chunk and asks the upstream for nothing.
  void reset() noexcept;
  /// Like reset(), and returns the chunks to the upstream.
  void release() noexcept;

  /// Returns a copy of the counters.
  arena_statistics statistics() const noexcept;
  /// Returns the name from the options.
  const char* name() const noexcept { return options_.name; }
  /// Returns whether the arena's internal structures are consistent. It is slow and meant for tests.
  bool is_valid() const noexcept;

 private:
  friend class arena_string;
  static constexpr std::size_t gap = detail::arena_gap;

  /// Allocates inline from the current chunk; returns the result of `otherwise` when that has no room.
  template <class Otherwise>
  [[gnu::always_inline]] void* bump(std::size_t bytes, std::size_t alignment, Otherwise otherwise) {
    // top_ and end_ are multiples of 16. A larger alignment can move past the end, or even past the last address.
    std::size_t room = static_cast<std::size_t>(end_ - top_);
    std::size_t padding = 0;
    if (alignment > detail::block_alignment) {
      padding = -reinterpret_cast<std::uintptr_t>(top_) & (alignment - 1);
      if (padding > room) [[unlikely]] {
        return otherwise();
      }
      room -= padding;
    }
    // The room is a multiple of 16, too. So a size that fits still fits when it is rounded up, and nothing overflows.
    if (bytes > room || room - bytes < gap) [[unlikely]] {
      return otherwise();
    }
    char* const block = top_ + padding;
    top_ = block + detail::arena_bytes_of(bytes);
    detail::mark_allocated(block, bytes);
    return block;
  }

  bool is_untouched() const noexcept {
    return current_ == nullptr && single_block_chunks_ == nullptr && spare_ == nullptr && finalisers_ == nullptr;
  }
  bool is_newest(const void* block, std::size_t bytes) const noexcept {
    return static_cast<const char*>(block) + detail::arena_bytes_of(bytes) == top_;
  }
  std::size_t used_bytes() const noexcept { return reinterpret_cast<std::uintptr_t>(top_) - base_; }
  void note_peak() noexcept { peak_bytes_ = std::max(peak_bytes_, used_bytes()); }

  /// With `must_be_newest`, the block must end where the arena continues, so that it can be extended or be a mark.
  [[gnu::noinline]] void* allocate_slow(std::size_t bytes, std::size_t alignment, bool must_be_newest);
  [[gnu::noinline]] void* try_allocate_slow(std::size_t bytes, std::size_t alignment, bool must_be_newest);
  void* allocate_in(detail::arena_chunk* chunk, std::size_t bytes, std::size_t alignment, bool must_be_newest) noexcept;
  [[gnu::noinline]] void rewind_slow(const arena_mark& mark) noexcept;
  [[noreturn]] void refuse(std::size_t bytes) const;
  void leave() noexcept;
  void check_outermost(const char* entry) const noexcept;
  void finish(detail::arena_finaliser* until, std::uint64_t min_mark) noexcept;
  void empty() noexcept;

  detail::arena_chunk* take(std::size_t needed);
  detail::arena_chunk* take_spare() noexcept;
  detail::arena_chunk* take_upstream(std::size_t min_bytes, std::size_t preferred_bytes);
  void give_upstream(detail::arena_chunk* chunk) noexcept;
  void give_spare() noexcept;
  void add_spare(detail::arena_chunk* chunk) noexcept;
  void empty_chunks_until(detail::arena_chunk* current, detail::arena_chunk* single_block_chunks) noexcept;
  void enter(detail::arena_chunk* chunk) noexcept;
  void start() noexcept;

  void* do_allocate(std::size_t bytes, std::size_t alignment) final { return allocate(bytes, alignment); }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) final {
    deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& resource) const noexcept final { return this == &resource; }

  // Invariant: top_ <= end_; both are multiples of 16 and lie in the current chunk, or in the first span if there is
  // no chunk. The bytes in use, over all chunks, are top_ - base_.
  char* top_;
  char* end_;
  std::uintptr_t base_;
  detail::arena_chunk* current_ = nullptr;  ///< holds top_; the full chunks follow it, newest first
  /// Chunks of one block each that were too large to become current.
  detail::arena_chunk* single_block_chunks_ = nullptr;
  detail::arena_chunk* spare_ = nullptr;           ///< empty chunks, in a binary heap with the largest on top
  detail::arena_finaliser* finalisers_ = nullptr;  ///< newest first
  detail::arena_record* marks_ = nullptr;          ///< newest first

  char* first_begin_;
  char* first_end_;
  std::uint64_t last_mark_ = 0;  ///< the number of the newest mark
  std::uint64_t min_mark_ = 0;   ///< while destructors run: the first mark that they may end
  std::size_t chunk_bytes_ = 0;  ///< total size of all chunks
  std::size_t spare_bytes_ = 0;  ///< total size of the chunks in spare_
  std::size_t chunks_ = 0;
  std::size_t upstream_calls_ = 0;
  std::size_t peak_bytes_ = 0;
  arena_options options_;
};

/// Rewinds an arena at the end of a scope:
///   { tarn::arena_scope inner(request); … }   // everything allocated inside ends at the brace
///
/// Threads: the one that uses the arena. Errors: a scope whose mark has ended, because an outer mark was rewound, is a
/// fault. Cost: one allocation from the arena; the end of the scope is inline unless destructors have to run.
class arena_scope {
 public:
  /// Marks the present position, which takes 48 bytes of the arena. Throws like arena::allocate.
  explicit arena_scope(arena& owner) : owner_(owner), mark_(owner.mark()) {}
  ~arena_scope() { owner_.rewind(mark_); }
  arena_scope(const arena_scope&) = delete;
  arena_scope& operator=(const arena_scope&) = delete;

 private:
  arena& owner_;
  arena_mark mark_;
};

/// An arena that contains its first `Bytes` bytes, for example on the stack. Loads that fit need no upstream. Threads,
/// errors and cost are those of arena.
template <std::size_t Bytes>
class stack_arena : private detail::arena_bytes<Bytes>, public arena {
 public:
  /// The first span is part of the object. Options apply to the chunks after it.
  explicit stack_arena(const arena_options& options = {}) noexcept
      : arena(std::span<std::byte>(this->bytes, Bytes), options) {}
};

/// An allocator for standard containers. Its calls are inline, where a polymorphic allocator makes virtual calls. Two
/// are equal when they use the same arena, which must outlive the container. Threads, errors and cost are those of
/// arena; the allocator itself may be copied by any thread.
template <class T>
class arena_allocator {
 public:
  using value_type = T;

  /// Allocates from `owner`, for the life of the container.
  arena_allocator(arena& owner) noexcept : owner_(&owner) {}
  template <class U>
  arena_allocator(const arena_allocator<U>& source) noexcept : owner_(source.owner_) {}

  /// Allocates room for `n` elements. Throws like arena::allocate.
  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    return static_cast<T*>(owner_->allocate(n * sizeof(T), alignof(T)));
  }
  /// Frees room for `n` elements if it is the newest block, and does nothing otherwise.
  void deallocate(T* block, std::size_t n) noexcept { owner_->deallocate(block, n * sizeof(T), alignof(T)); }

  friend bool operator==(const arena_allocator& a, const arena_allocator& b) noexcept { return a.owner_ == b.owner_; }

 private:
  template <class U>
  friend class arena_allocator;
  arena* owner_;
};

inline arena::arena(std::span<std::byte> first, const arena_options& options) noexcept
    : first_begin_(reinterpret_cast<char*>(first.data())), first_end_(first_begin_ + first.size()), options_(options) {
  // A span is trimmed to multiples of 16, like each chunk. A span that is too small for that is not used.
  first_begin_ += -reinterpret_cast<std::uintptr_t>(first_begin_) % detail::block_alignment;
  first_end_ -= reinterpret_cast<std::uintptr_t>(first_end_) % detail::block_alignment;
  if (first_end_ <= first_begin_) first_begin_ = first_end_ = reinterpret_cast<char*>(detail::arena_nothing);
  start();
  detail::mark_free(first_begin_, static_cast<std::size_t>(first_end_ - first_begin_));
}

/// Moves to the beginning of the first span, with nothing in use.
inline void arena::start() noexcept {
  top_ = first_begin_;
  end_ = first_end_;
  base_ = reinterpret_cast<std::uintptr_t>(top_);
}

inline void arena::deallocate(void* block, std::size_t bytes, std::size_t) noexcept {
  detail::mark_free(block, bytes);
  if (is_newest(block, bytes)) {
    note_peak();
    top_ = static_cast<char*>(block);
  }
}

inline std::size_t arena::extend(void* block, std::size_t old_bytes, std::size_t min_bytes,
                                 std::size_t max_bytes) noexcept {
  if (!is_newest(block, old_bytes)) return old_bytes;
  const std::size_t room = static_cast<std::size_t>(end_ - static_cast<char*>(block)) - gap;
  const std::size_t bytes = std::min(max_bytes, room);
  if (bytes < min_bytes) return old_bytes;
  if (bytes < old_bytes) {
    note_peak();
    detail::mark_free(static_cast<char*>(block) + bytes, old_bytes - bytes);
  }
  top_ = static_cast<char*>(block) + detail::arena_bytes_of(bytes);
  detail::mark_allocated(block, bytes);
  return bytes;
}

template <class T, class... Arguments>
T* arena::create(Arguments&&... arguments) {
  if constexpr (std::is_trivially_destructible_v<T>) {
    void* const block = allocate(sizeof(T), alignof(T));
    detail::arena_rollback undo(*this, block, sizeof(T));
    T* const object = ::new (block) T(std::forward<Arguments>(arguments)...);
    undo.keep();
    return object;
  } else {
    using part = detail::arena_object<T>;
    void* const block = allocate(part::bytes, part::alignment);
    detail::arena_rollback undo(*this, block, part::bytes);
    T* const object = ::new (part::object(block)) T(std::forward<Arguments>(arguments)...);
    undo.keep();
    finalisers_ = ::new (block) detail::arena_finaliser{finalisers_, part::finish};
    return object;
  }
}

template <class T>
std::span<T> arena::create_array(std::size_t count) {
  using part = detail::arena_array<T>;
  constexpr std::size_t before = std::is_trivially_destructible_v<T> ? 0 : part::offset;
  if (count > (std::numeric_limits<std::ptrdiff_t>::max() - before) / sizeof(T)) [[unlikely]] {
    detail::throw_bad_alloc();
  }
  const std::size_t bytes = before + count * sizeof(T);
  void* const block = allocate(bytes, before == 0 ? alignof(T) : part::alignment);
  detail::arena_rollback undo(*this, block, bytes);
  T* const first = reinterpret_cast<T*>(static_cast<char*>(block) + before);
  std::uninitialized_value_construct_n(first, count);
  undo.keep();
  if constexpr (before != 0) {
    finalisers_ = ::new (block) part{{finalisers_, part::finish}, count};
  }
  return {first, count};
}

inline std::string_view arena::copy(std::string_view text) {
  char* const block = static_cast<char*>(allocate(text.size(), 1));
  if (!text.empty()) std::memcpy(block, text.data(), text.size());
  return {block, text.size()};
}

inline arena_mark arena::mark() {
  using record = detail::arena_record;
  void* const memory =
      bump(sizeof(record), alignof(record), [this] { return allocate_slow(sizeof(record), alignof(record), true); });
  arena_mark mark;
  mark.owner_ = this;
  mark.number_ = ++last_mark_;
  // This restores base_, so that the bytes in use follow from the record's address again.
  mark.record_ = marks_ =
      ::new (memory) record{marks_, mark.number_, current_, single_block_chunks_, finalisers_, base_};
  return mark;
}

inline void arena::rewind(const arena_mark& mark) noexcept {
  detail::arena_record* const record = marks_;
  // The usual case is the newest mark, with only blocks of the same chunk since then, and no destructors to run.
  if (mark.record_ != record || record == nullptr || record->number != mark.number_ || record->current != current_ ||
      record->single_block_chunks != single_block_chunks_ || record->finalisers != finalisers_) [[unlikely]] {
    rewind_slow(mark);
    return;
  }
  note_peak();
  marks_ = record->older;
  char* const top = top_;
  top_ = reinterpret_cast<char*>(record);
  detail::mark_free(top_, static_cast<std::size_t>(top - top_));
}

}  // namespace tarn
