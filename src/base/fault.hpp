// Each way to die is one function with a name: it says what happened in one
// line on standard error, with the numbers a person needs, and aborts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

/// `entry` is the name of the function that was called, "free" for example.
[[noreturn]] void fault_foreign_pointer(const char* entry, const void* pointer) noexcept;
[[noreturn]] void fault_double_free(const char* entry, const void* pointer, std::size_t block_bytes) noexcept;
[[noreturn]] void fault_misaligned(const char* entry, const void* pointer, const void* block,
                                   std::size_t block_bytes) noexcept;
[[noreturn]] void fault_wrong_size(const void* pointer, std::size_t said_bytes, std::size_t block_bytes) noexcept;
/// What a guarded block is known by (guard/guard.hpp). Sites are return addresses, threads
/// the kernel's numbers; freed_at is null while nobody has freed it.
struct block_record {
  const void* block;
  std::size_t bytes;  ///< as requested
  const void* allocated_at;
  std::uint32_t allocated_by;
  std::uint32_t freed_by;
  const void* freed_at;
};
[[noreturn]] void fault_double_free(const char* entry, const block_record& of) noexcept;
/// The same, of a block that nothing is remembered of.
[[noreturn]] void fault_late_double_free(const char* entry, const void* pointer) noexcept;
[[noreturn]] void fault_wrong_size(const block_record& of, std::size_t said_bytes) noexcept;
/// Bytes from `first` to before `last`, counted from the start of the block, are not what
/// they were; `all`: they are all that was looked at, so there may be more. Found when
/// `pointer` was freed, mostly the block itself.
[[noreturn]] void fault_overrun(const char* entry, const void* pointer, const block_record& of, std::size_t first,
                                std::size_t last, bool all) noexcept;
/// `written` bytes before the block, or more, are not what they were.
[[noreturn]] void fault_underrun(const char* entry, const block_record& of, std::size_t written) noexcept;
/// A pointer may be a block, but its description is gone.
[[noreturn]] void fault_no_header(const char* entry, const void* pointer) noexcept;
/// `offset` is that of the first changed byte in the block; negative: before it.
[[noreturn]] void fault_use_after_free(const block_record& of, std::ptrdiff_t offset) noexcept;

[[noreturn]] void fault_strict_heap(const char* heap_name, const void* pointer, std::uint32_t freeing_thread,
                                    std::uint32_t owning_thread) noexcept;
/// The heap of a thread, or of the process, was to be destroyed as if it were an object.
[[noreturn]] void fault_not_destroyable() noexcept;
/// A mark of one arena was given to another.
[[noreturn]] void fault_foreign_mark(const char* arena_name, const void* arena, std::uint64_t mark,
                                     const void* other_arena) noexcept;
/// A mark was unwound that had ended already, with an older one or by a reset. `newest` is 0 when no mark is left.
[[noreturn]] void fault_ended_mark(const char* arena_name, const void* arena, std::uint64_t mark, std::uint64_t newest,
                                   std::uint64_t marks_set) noexcept;
/// A destructor that an arena runs called `entry`, which would free what is being destroyed.
[[noreturn]] void fault_arena_in_use(const char* arena_name, const void* arena, const char* entry) noexcept;
/// A block was given to a pool that is not one of its blocks. `block` is the one that contains it, or null.
[[noreturn]] void fault_foreign_to_pool(const char* pool_name, const void* pool, const void* pointer, const void* block,
                                        std::size_t block_bytes) noexcept;
[[noreturn]] void fault_pool_double_free(const char* pool_name, const void* pool, const void* pointer,
                                         std::size_t block_bytes) noexcept;
/// More blocks are free than there are: some were freed twice, or are another pool's.
[[noreturn]] void fault_pool_overfull(const char* pool_name, const void* pool, std::size_t free_blocks,
                                      std::size_t capacity) noexcept;
/// An object cache ended while this many of its objects were with their holders.
[[noreturn]] void fault_cache_in_use(std::size_t objects) noexcept;
/// operator new found no memory, and there is no C++ runtime to throw with.
[[noreturn]] void fault_cannot_throw(std::size_t bytes) noexcept;

/// A mistake of ours.
[[noreturn]] void fault_broken_invariant(const char* condition, const char* file, int line) noexcept;

}  // namespace tarn::base
