// Each way to die is one named function. It writes two lines to standard error and aborts: the first names the object
// and the mistake, the second says what to do next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

/// The next steps that several faults name.
namespace next_step {
inline constexpr const char* free_the_start = "pass the address that the allocation returned";
/// Both frees are in the message.
inline constexpr const char* free_once = "free each block once: remove one of these two frees";
inline constexpr const char* end_the_use = "end every use of the block before its free";
inline constexpr const char* mend_the_writer =
    "find the code that writes past the end of the block: its size is too small, or an index is too large";
inline constexpr const char* mend_writer_before =
    "find the code that writes before the start of the block: an index is negative, or a pointer moved back too far";
}  // namespace next_step

/// `entry` is the name of the called function, for example "free".
[[noreturn]] void fault_foreign_pointer(const char* entry, const void* pointer) noexcept;
[[noreturn]] void fault_double_free(const char* entry, const void* pointer, std::size_t block_bytes) noexcept;
[[noreturn]] void fault_misaligned(const char* entry, const void* pointer, const void* block,
                                   std::size_t block_bytes) noexcept;
/// The size that the program has stated. Inline code passes on only its size class, so it is a range.
struct stated_size {
  std::size_t smallest, largest;  // bytes
};
[[noreturn]] void fault_wrong_size(const void* pointer, stated_size stated, std::size_t block_bytes) noexcept;
/// Identifies a guarded block (memory/guard/guard.hpp). Sites are return addresses, threads are the kernel's numbers;
/// freed_at is null for a block that was not freed.
struct block_record {
  const void* block;
  std::size_t bytes;  ///< the requested size
  const void* allocated_at;
  std::uint32_t allocated_by;
  std::uint32_t freed_by;
  const void* freed_at;
};
[[noreturn]] void fault_double_free(const char* entry, const block_record& block) noexcept;
/// Reports the same for a block whose allocation and free are no longer remembered.
[[noreturn]] void fault_late_double_free(const char* entry, const void* pointer) noexcept;
[[noreturn]] void fault_wrong_size(const block_record& block, stated_size stated) noexcept;
/// Reports that bytes from `first` to before `last`, counted from the start of the block, have changed. With
/// `may_be_longer`, these are all the bytes that were checked, so there may be more. The change was found when
/// `pointer` was freed, mostly the block itself.
[[noreturn]] void fault_overrun(const char* entry, const void* pointer, const block_record& block, std::size_t first,
                                std::size_t last, bool may_be_longer) noexcept;
/// Reports that at least `written` bytes before the block have changed.
[[noreturn]] void fault_underrun(const char* entry, const block_record& block, std::size_t written) noexcept;
/// Reports a pointer that may be a block, but whose description is gone.
[[noreturn]] void fault_no_header(const char* entry, const void* pointer) noexcept;
/// `offset` is that of the first changed byte in the block; a negative one lies before the block.
[[noreturn]] void fault_use_after_free(const block_record& block, std::ptrdiff_t offset) noexcept;

/// Describes an access to memory of a heap object that has ended (memory/guard/ended_heaps.hpp).
struct ended_access {
  const void* address;
  const char* heap_name;
  std::uint32_t ended_by;  ///< the thread that ended the heap
  const char* verb;        ///< of the access: "read"
  const void* instruction;
  std::uint32_t thread;
};
[[noreturn]] void fault_ended_heap(const ended_access& access) noexcept;

/// Identifies a block of a hardened heap (memory/drop_in/hardening.hpp).
struct hardened_record {
  const void* block;
  std::size_t bytes;     ///< the requested size; the most that it can have been if the size is lost
  bool is_exact;         ///< the size is not lost
  const void* freed_at;  ///< null: not freed, or nothing is remembered
};
[[noreturn]] void fault_double_free(const char* entry, const hardened_record& block) noexcept;
[[noreturn]] void fault_overrun(const char* entry, const hardened_record& block) noexcept;
/// `offset` is that of the first byte that was written while the block was free.
[[noreturn]] void fault_use_after_free(const hardened_record& block, std::size_t offset) noexcept;

[[noreturn]] void fault_strict_heap(const char* heap_name, const void* pointer, std::uint32_t freeing_thread,
                                    std::uint32_t owning_thread) noexcept;
/// Reports that a scoped_current_heap ends, at the call that returns to `site`, after its own heap, or after the heap
/// that it would make current again.
[[noreturn]] void fault_ended_current(bool is_own_heap, const void* site, std::uint32_t thread) noexcept;
/// Reports that a thread uses a heap object while another one does, in the call that returns to `site`.
[[noreturn]] void fault_two_threads(const char* heap_name, const void* site, std::uint32_t thread) noexcept;
/// Reports an attempt to destroy the heap of a thread, or of the process, like a heap object.
[[noreturn]] void fault_not_destroyable(const char* heap_name, const void* heap) noexcept;
/// Reports a mark that belongs to another arena.
[[noreturn]] void fault_foreign_mark(const char* arena_name, const void* arena, std::uint64_t mark,
                                     const void* other_arena) noexcept;
/// Reports a rewind to a mark that has ended, with an older one or by a reset. `newest` is 0 when no mark is left.
[[noreturn]] void fault_ended_mark(const char* arena_name, const void* arena, std::uint64_t mark, std::uint64_t newest,
                                   std::uint64_t marks_set) noexcept;
/// Reports that a destructor which an arena runs called `entry`, which would free what is being destroyed.
[[noreturn]] void fault_arena_in_use(const char* arena_name, const void* arena, const char* entry) noexcept;
/// Reports a block that does not belong to the pool it was given to. `block` contains the pointer, or is null.
[[noreturn]] void fault_foreign_to_pool(const char* pool_name, const void* pool, const void* pointer, const void* block,
                                        std::size_t block_bytes) noexcept;
[[noreturn]] void fault_pool_double_free(const char* pool_name, const void* pool, const void* pointer,
                                         std::size_t block_bytes) noexcept;
/// Reports that more blocks are free than exist: some were freed twice, or belong to another pool.
[[noreturn]] void fault_pool_overfull(const char* pool_name, const void* pool, std::size_t free_blocks,
                                      std::size_t capacity) noexcept;
/// Reports that an object cache ends while handles own this many of its objects.
[[noreturn]] void fault_cache_in_use(const void* cache, std::size_t objects) noexcept;
/// Reports that operator new found no memory, and that there is no C++ runtime to throw with.
[[noreturn]] void fault_cannot_throw(std::size_t bytes) noexcept;

/// Reports a mistake of ours.
[[noreturn]] void fault_broken_invariant(const char* condition, const char* file, int line) noexcept;

}  // namespace tarn::base
