// The arenas of tarn.h, on the C++ interface. No exception leaves this file.
#include <tarn/tarn.h>

#include <bit>
#include <cerrno>
#include <new>

#include <tarn/arena.hpp>
#include <tarn/heap.hpp>

namespace {

using tarn::arena;

arena* to_arena(tarn_arena* handle) noexcept { return reinterpret_cast<arena*>(handle); }

void* or_no_memory(void* block) noexcept {
  if (block == nullptr) errno = ENOMEM;
  return block;
}

static_assert(sizeof(tarn_arena_mark) == sizeof(tarn::arena_mark));

}  // namespace

extern "C" {

tarn_arena* tarn_arena_create(const tarn_arena_options* options) {
  tarn::arena_options settings;
  if (options != nullptr) {
    settings.name = options->name != nullptr ? options->name : "";
    settings.upstream = reinterpret_cast<tarn::heap*>(options->upstream);
    settings.first_chunk = options->first_chunk != 0 ? options->first_chunk : settings.first_chunk;
    settings.limit = options->limit;
    settings.spare_limit = options->spare_limit;
  }
  try {
    // The process's heap provides this, because the current heap may be released while this arena lives.
    return reinterpret_cast<tarn_arena*>(::new (tarn::process_heap().allocate(sizeof(arena), alignof(arena)))
                                             arena(settings));
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

void tarn_arena_destroy(tarn_arena* handle) {
  if (handle != nullptr) {
    to_arena(handle)->~arena();
    tarn_free(handle);
  }
}

void* tarn_arena_malloc(tarn_arena* handle, size_t bytes) {
  return or_no_memory(to_arena(handle)->try_allocate(bytes));
}

void* tarn_arena_aligned_alloc(tarn_arena* handle, size_t alignment, size_t bytes) {
  if (!std::has_single_bit(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return or_no_memory(to_arena(handle)->try_allocate(bytes, alignment));
}

void* tarn_arena_realloc(tarn_arena* handle, void* block, size_t old_bytes, size_t new_bytes) {
  try {
    return to_arena(handle)->reallocate(block, old_bytes, new_bytes);
  } catch (const std::bad_alloc&) {
    return or_no_memory(nullptr);
  }
}

tarn_arena_mark tarn_arena_set_mark(tarn_arena* handle) {
  try {
    return std::bit_cast<tarn_arena_mark>(to_arena(handle)->mark());
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return {};
  }
}

void tarn_arena_rewind(tarn_arena* handle, tarn_arena_mark mark) {
  to_arena(handle)->rewind(std::bit_cast<tarn::arena_mark>(mark));
}
void tarn_arena_reset(tarn_arena* handle) { to_arena(handle)->reset(); }
void tarn_arena_release(tarn_arena* handle) { to_arena(handle)->release(); }

tarn_arena_statistics tarn_arena_get_statistics(const tarn_arena* handle) {
  const tarn::arena_statistics now = reinterpret_cast<const arena*>(handle)->statistics();
  return {.used_bytes = now.used_bytes,
          .peak_bytes = now.peak_bytes,
          .chunk_bytes = now.chunk_bytes,
          .spare_bytes = now.spare_bytes,
          .chunks = now.chunks,
          .upstream_calls = now.upstream_calls};
}

}  // extern "C"
