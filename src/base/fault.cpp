#include "base/fault.hpp"

#include <cstdlib>

#include "base/site.hpp"
#include "base/text.hpp"

namespace tarn::base {
namespace {

constexpr int standard_error = 2;
using line = text_buffer<512>;
using line_with_sites = text_buffer<2048>;

/// Writes the message, and a second line that tells the reader what to do next, in one system call.
[[noreturn]] void die(text& message, const char* next_step) noexcept {
  message.append("\ntarn: ").append(next_step).append('\n').write_to(standard_error);
  std::abort();
}

constexpr const char* free_once = "free each block once; TARN_GUARD=1 shows where it was allocated and freed before";
constexpr const char* free_in_own_pool =
    "free a block in the pool that it came from, by the address that allocate() returned";
constexpr const char* pass_the_size = "pass the size that was allocated: delete an object by its own type";
constexpr const char* show_the_allocation = "TARN_GUARD=1 shows where the block was allocated";
constexpr const char* end_the_use =
    "end every use of the block before its free; TARN_GUARD=1 shows where it was allocated";

void append_place(text& message, const void* site, std::uint32_t thread) noexcept {
  append_site(message.append(" at "), site).append(" by thread ").decimal(thread);
}
void append_call(text& message, const char* entry, const void* pointer) noexcept {
  message.append("tarn: ").append(entry).append("(").pointer(pointer).append("): ");
}
void append_sized_call(text& message, const void* pointer, stated_size stated) noexcept {
  message.append("tarn: free(").pointer(pointer).append(", ");
  if (stated.smallest != stated.largest) message.decimal(stated.smallest).append(" to ");
  message.decimal(stated.largest).append("): wrong size: ");
}
void append_block(text& message, std::size_t bytes) noexcept {
  message.append("block of ").decimal(bytes).append(" bytes");
}

}  // namespace

void fault_foreign_pointer(const char* entry, const void* pointer) noexcept {
  line message;
  message.append("tarn: ").append(entry).append("(").pointer(pointer);
  message.append("): foreign pointer: not a block of this allocator");
  die(message,
      "free a block with the allocator that it came from; memory of the stack or a static object is never freed");
}

void fault_double_free(const char* entry, const void* pointer, std::size_t block_bytes) noexcept {
  line message;
  message.append("tarn: ").append(entry).append("(").pointer(pointer).append("): double free of a block of ");
  message.decimal(block_bytes).append(" bytes");
  die(message, free_once);
}

void fault_misaligned(const char* entry, const void* pointer, const void* block, std::size_t block_bytes) noexcept {
  const auto distance = static_cast<const char*>(pointer) - static_cast<const char*>(block);
  line message;
  message.append("tarn: ").append(entry).append("(").pointer(pointer);
  message.append("): misaligned pointer: ").decimal(static_cast<std::uint64_t>(distance));
  message.append(" bytes into the ").decimal(block_bytes).append("-byte block at ").pointer(block);
  die(message, next_step::free_the_start);
}

void fault_wrong_size(const void* pointer, stated_size stated, std::size_t block_bytes) noexcept {
  line message;
  append_sized_call(message, pointer, stated);
  message.append("the block has ").decimal(block_bytes).append(" bytes");
  die(message, pass_the_size);
}

void fault_double_free(const char* entry, const block_record& block) noexcept {
  line_with_sites message;
  append_call(message, entry, block.block);
  append_block(message.append("double free of a "), block.bytes);
  if (block.freed_at != nullptr) {
    append_place(message.append("; freed before"), block.freed_at, block.freed_by);
  }
  append_place(message.append("; allocated"), block.allocated_at, block.allocated_by);
  die(message, next_step::free_once);
}

void fault_late_double_free(const char* entry, const void* pointer) noexcept {
  line message;
  append_call(message, entry, pointer);
  message.append("double free of a block that was freed long ago");
  die(message, "free each block once; TARN_GUARD remembers the places of the last 8192 frees");
}

void fault_wrong_size(const block_record& block, stated_size stated) noexcept {
  line_with_sites message;
  append_sized_call(message, block.block, stated);
  message.append("the block has ").decimal(block.bytes).append(" bytes; allocated");
  append_place(message, block.allocated_at, block.allocated_by);
  die(message, pass_the_size);
}

void fault_overrun(const char* entry, const void* pointer, const block_record& block, std::size_t first,
                   std::size_t last, bool may_be_longer) noexcept {
  line_with_sites message;
  append_call(message, entry, pointer);
  message.append("overrun: ").decimal(last - block.bytes).append(may_be_longer ? " or more" : "");
  append_block(message.append(" bytes written past the end of the "), block.bytes);
  if (block.block != pointer) message.append(" at ").pointer(block.block);
  append_place(message.append(" allocated"), block.allocated_at, block.allocated_by);
  message.append("; the first is byte ").decimal(first);
  die(message, next_step::mend_the_writer);
}

void fault_underrun(const char* entry, const block_record& block, std::size_t written) noexcept {
  line_with_sites message;
  append_call(message, entry, block.block);
  message.append("underrun: ").decimal(written);
  append_block(message.append(" or more bytes written before the start of the "), block.bytes);
  append_place(message.append(" allocated"), block.allocated_at, block.allocated_by);
  die(message, next_step::mend_writer_before);
}

void fault_no_header(const char* entry, const void* pointer) noexcept {
  line message;
  append_call(message, entry, pointer);
  message.append("not a block, or more than 8 bytes before it were overwritten");
  die(message,
      "free only what an allocation returned; if this was a block, find the code that writes before its start");
}

void fault_use_after_free(const block_record& block, std::ptrdiff_t offset) noexcept {
  line_with_sites message;
  message.append("tarn: use after free: byte ");
  message.decimal(static_cast<std::uint64_t>(offset < 0 ? -offset : offset));
  append_block(message.append(offset < 0 ? " before the " : " of the "), block.bytes);
  message.append(" at ").pointer(block.block).append(" was written after it was freed");
  append_place(message, block.freed_at, block.freed_by);
  append_place(message.append("; allocated"), block.allocated_at, block.allocated_by);
  die(message, next_step::end_the_use);
}

void fault_ended_heap(const ended_access& access) noexcept {
  line_with_sites message;
  message.append("tarn: use after free: a block of heap \"")
      .append_escaped(access.heap_name)
      .append("\", which ended in thread ");
  message.decimal(access.ended_by).append(", is ").append(access.verb).append(" at address ").pointer(access.address);
  // append_site shows the instruction before its argument, which is mostly a return address.
  append_site(message.append(" at "), static_cast<const char*>(access.instruction) + 1);
  message.append(" by thread ").decimal(access.thread);
  die(message,
      "end every use of a heap's blocks before the heap ends, or allocate the block from a heap that lives longer");
}

void fault_double_free(const char* entry, const hardened_record& block) noexcept {
  line_with_sites message;
  append_call(message, entry, block.block);
  append_block(message.append("double free of a "), block.bytes);
  if (block.freed_at != nullptr) {
    append_site(message.append("; freed before at "), block.freed_at);
  }
  die(message, free_once);
}

void fault_overrun(const char* entry, const hardened_record& block) noexcept {
  line message;
  append_call(message, entry, block.block);
  message.append("overrun: bytes were written past the end of the ");
  append_block(message, block.bytes);
  message.append(block.is_exact ? "" : " or fewer, or before the block behind it");
  die(message, show_the_allocation);
}

void fault_use_after_free(const hardened_record& block, std::size_t offset) noexcept {
  line_with_sites message;
  message.append("tarn: use after free: byte ").decimal(offset);
  append_block(message.append(" of the "), block.bytes);
  message.append(block.is_exact ? "" : " or fewer").append(" at ").pointer(block.block);
  message.append(" was written after it was freed");
  if (block.freed_at != nullptr) append_site(message.append(" at "), block.freed_at);
  die(message, end_the_use);
}

void fault_strict_heap(const char* heap_name, const void* pointer, std::uint32_t freeing_thread,
                       std::uint32_t owning_thread) noexcept {
  line message;
  message.append("tarn: heap \"").append_escaped(heap_name).append("\": block ").pointer(pointer);
  message.append(" freed by thread ").decimal(freeing_thread).append(", but only thread ");
  message.decimal(owning_thread).append(" may free blocks of this heap");
  die(message, "free the block in the thread of its heap, or create the heap without forbids_remote_frees");
}

void fault_two_threads(const char* heap_name, const void* site, std::uint32_t thread) noexcept {
  line_with_sites message;
  message.append("tarn: heap \"").append_escaped(heap_name).append("\" is used");
  append_place(message, site, thread);
  die(message.append(" while another thread uses it"),
      "let one thread at a time allocate from a heap; other threads free its blocks through "
      "tarn::current_heap().deallocate()");
}

void fault_ended_current(bool is_own_heap, const void* site, std::uint32_t thread) noexcept {
  line_with_sites message;
  message.append("tarn: a heap ended while it was current: the tarn::scoped_current_heap that ends");
  append_place(message, site, thread);
  die(message.append(is_own_heap ? " had made it current" : " would make it current again"),
      "declare the heap before the scoped_current_heap, so that the heap ends after it");
}

void fault_not_destroyable(const char* heap_name, const void* heap) noexcept {
  line message;
  message.append("tarn: heap \"").append_escaped(heap_name).append("\" at ").pointer(heap);
  die(message.append(" is destroyed, but belongs to a thread or to the process"),
      "destroy only heaps that the program created; tarn::current_heap() and tarn::process_heap() end by themselves");
}

void fault_foreign_mark(const char* arena_name, const void* arena, std::uint64_t mark,
                        const void* other_arena) noexcept {
  line message;
  message.append("tarn: arena \"").append_escaped(arena_name).append("\" at ").pointer(arena);
  message.append(": rewind to mark ").decimal(mark).append(" of another arena, at ").pointer(other_arena);
  die(message, "rewind an arena to a mark that its own mark() returned");
}

void fault_ended_mark(const char* arena_name, const void* arena, std::uint64_t mark, std::uint64_t newest,
                      std::uint64_t marks_set) noexcept {
  line message;
  message.append("tarn: arena \"").append_escaped(arena_name).append("\" at ").pointer(arena);
  message.append(": rewind to mark ").decimal(mark).append(", which has ended: marks end newest first; ");
  if (newest == 0) {
    message.append("none is left");
  } else {
    message.append("the newest left is ").decimal(newest);
  }
  message.append(" of ").decimal(marks_set).append(" set");
  die(message, "rewind to a mark before any older mark, and before reset() and release()");
}

void fault_arena_in_use(const char* arena_name, const void* arena, const char* entry) noexcept {
  line message;
  message.append("tarn: arena \"").append_escaped(arena_name).append("\" at ").pointer(arena);
  message.append(": ").append(entry).append("() by a destructor that the arena itself is running");
  die(message, "do not reset, release or rewind an arena in the destructor of an object in it");
}

namespace {
void append_pool(line& message, const char* name, const void* pool) noexcept {
  message.append("tarn: pool \"").append_escaped(name).append("\" at ").pointer(pool).append(": ");
}
}  // namespace

void fault_foreign_to_pool(const char* pool_name, const void* pool, const void* pointer, const void* block,
                           std::size_t block_bytes) noexcept {
  line message;
  append_pool(message, pool_name, pool);
  message.append("foreign pointer ").pointer(pointer).append(": ");
  if (block == nullptr) {
    message.append("not a block of this pool");
  } else {
    message.decimal(static_cast<std::size_t>(static_cast<const char*>(pointer) - static_cast<const char*>(block)));
    message.append(" bytes into the ").decimal(block_bytes).append("-byte block at ").pointer(block);
  }
  die(message, free_in_own_pool);
}

void fault_pool_double_free(const char* pool_name, const void* pool, const void* pointer,
                            std::size_t block_bytes) noexcept {
  line message;
  append_pool(message, pool_name, pool);
  message.append("double free of the ").decimal(block_bytes).append("-byte block at ").pointer(pointer);
  die(message, "free each block once; pool_options::is_guarded shows where it was freed before");
}

void fault_pool_overfull(const char* pool_name, const void* pool, std::size_t free_blocks,
                         std::size_t capacity) noexcept {
  line message;
  append_pool(message, pool_name, pool);
  message.decimal(free_blocks).append(" blocks are free, but the pool has ").decimal(capacity);
  message.append(": some were freed twice, or came from another pool");
  die(message, "set pool_options::is_guarded: the pool then stops at the wrong free");
}

void fault_cache_in_use(const void* cache, std::size_t objects) noexcept {
  line message;
  message.append("tarn: object cache at ").pointer(cache).append(" ends while ").decimal(objects);
  die(message.append(objects == 1 ? " of its objects is in use" : " of its objects are in use"),
      "destroy the handles that take() returned before their cache");
}

void fault_cannot_throw(std::size_t bytes) noexcept {
  line message;
  message.append("tarn: operator new(").decimal(bytes);
  message.append("): no memory, and no C++ runtime to throw std::bad_alloc with");
  die(message, "use operator new (std::nothrow) in a program without the C++ runtime, or raise its memory limit");
}

void fault_broken_invariant(const char* condition, const char* file, int line_number) noexcept {
  line message;
  message.append("tarn: broken invariant: ").append(condition).append(" at ");
  message.append(file).append(':').decimal(static_cast<std::uint64_t>(line_number));
  die(message, "report this line, with the version of Tarn and what the program did");
}

}  // namespace tarn::base
