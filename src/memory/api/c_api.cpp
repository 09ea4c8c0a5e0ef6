// Implements tarn.h on the C++ interface. No exception leaves this file.
#include <tarn/tarn.h>

#include <bit>
#include <cerrno>
#include <new>

#include <tarn/heap.hpp>

#include "memory/api/blocks.hpp"
#include "memory/api/heap_access.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/sites.hpp"
#include "memory/thread/threads.hpp"

namespace {

using namespace tarn;

heap* to_heap(tarn_heap* handle) noexcept { return reinterpret_cast<heap*>(handle); }
tarn_heap* to_c(heap* object) noexcept { return reinterpret_cast<tarn_heap*>(object); }

void* or_no_memory(void* block) noexcept {
  if (block == nullptr) errno = ENOMEM;
  return block;
}

// Runs `body` with `handle` as the current heap.
template <class Body>
auto on_heap(tarn_heap* handle, Body body) noexcept {
  detail::heap_front* const before = detail::local_heap;
  detail::local_heap = heap_access::front_of(*to_heap(handle));
  const auto result = body(detail::local_heap);
  detail::local_heap = before;
  return result;
}

template <class Get>
tarn_heap* or_null_with_errno(Get get) noexcept {
  try {
    return to_c(get());
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

// Returns a block of `current` as the program gets it; `site` is the address that the program's call returns to.
void* note_site_and_set_errno(detail::heap_front* current, void* block, std::size_t bytes, const void* site) noexcept {
  threads::correct_site(current, block, bytes, site);
  return or_no_memory(block);
}

void* allocate(detail::heap_front* current, std::size_t bytes, const void* site) noexcept {
  if (bytes > api::largest_request) return or_no_memory(nullptr);
  return note_site_and_set_errno(current, detail::allocate(current, bytes, detail::block_alignment), bytes, site);
}

void* allocate_zeroed(detail::heap_front* current, std::size_t count, std::size_t element_bytes,
                      const void* site) noexcept {
  return note_site_and_set_errno(current, api::allocate_zeroed(current, count, element_bytes), count * element_bytes,
                                 site);
}

void* allocate_aligned(detail::heap_front* current, std::size_t alignment, std::size_t bytes,
                       const void* site) noexcept {
  if (!std::has_single_bit(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  if (bytes > api::largest_request) return or_no_memory(nullptr);
  return note_site_and_set_errno(current, detail::allocate_any(current, bytes, alignment), bytes, site);
}

void* reallocate(detail::heap_front* current, void* block, std::size_t bytes, const void* site) noexcept {
  return note_site_and_set_errno(current, api::reallocate(current, block, bytes), bytes, site);
}

}  // namespace

extern "C" {

tarn_heap* tarn_heap_create(const tarn_heap_options* options) {
  heap_options settings;
  if (options != nullptr) {
    settings = {.name = options->name != nullptr ? options->name : "",
                .initial = options->initial,
                .increment = options->increment,
                .limit = options->limit,
                .keeps_memory = options->keeps_memory,
                .forbids_remote_frees = options->forbids_remote_frees,
                .counts_calls = options->counts_calls,
                .records_sites = options->records_sites};
  }
  // Comes from the process's heap: the current one may be released while this one lives.
  heaps::heap* const process = threads::process_heap();
  void* const memory = process == nullptr ? nullptr : tarn::detail::allocate(process, sizeof(heap), alignof(heap));
  if (memory == nullptr) return static_cast<tarn_heap*>(or_no_memory(nullptr));
  try {
    return to_c(::new (memory) heap(settings));
  } catch (const std::bad_alloc&) {
    tarn_free(memory);
    return static_cast<tarn_heap*>(or_no_memory(nullptr));
  }
}

void tarn_heap_destroy(tarn_heap* handle) {
  if (handle != nullptr) {
    to_heap(handle)->~heap();
    tarn_free(handle);
  }
}

void tarn_heap_release(tarn_heap* handle) { to_heap(handle)->release(); }
size_t tarn_heap_trim(tarn_heap* handle) { return to_heap(handle)->trim(); }

tarn_heap_statistics tarn_heap_get_statistics(const tarn_heap* handle) {
  const heap_statistics statistics = reinterpret_cast<const heap*>(handle)->statistics();
  return {.counts_calls = statistics.counts_calls,
          .allocated_blocks = statistics.allocated_blocks,
          .freed_blocks = statistics.freed_blocks,
          .allocated_bytes = statistics.allocated_bytes,
          .freed_bytes = statistics.freed_bytes,
          .remote_frees = statistics.remote_frees,
          .used_bytes = statistics.used_bytes,
          .slabs = statistics.slabs,
          .slab_bytes = statistics.slab_bytes,
          .large_blocks = statistics.large_blocks,
          .large_bytes = statistics.large_bytes,
          .footprint_bytes = statistics.footprint_bytes,
          .peak_footprint_bytes = statistics.peak_footprint_bytes,
          .refills = statistics.refills,
          .flushes = statistics.flushes};
}

void* tarn_heap_malloc(tarn_heap* handle, size_t bytes) {
  const void* const site = __builtin_return_address(0);
  return on_heap(handle, [=](detail::heap_front* current) { return allocate(current, bytes, site); });
}
void* tarn_heap_calloc(tarn_heap* handle, size_t count, size_t element_bytes) {
  const void* const site = __builtin_return_address(0);
  return on_heap(handle,
                 [=](detail::heap_front* current) { return allocate_zeroed(current, count, element_bytes, site); });
}
void* tarn_heap_realloc(tarn_heap* handle, void* block, size_t bytes) {
  const void* const site = __builtin_return_address(0);
  return on_heap(handle, [=](detail::heap_front* current) { return reallocate(current, block, bytes, site); });
}
void* tarn_heap_aligned_alloc(tarn_heap* handle, size_t alignment, size_t bytes) {
  const void* const site = __builtin_return_address(0);
  return on_heap(handle,
                 [=](detail::heap_front* current) { return allocate_aligned(current, alignment, bytes, site); });
}

void* tarn_malloc(size_t bytes) { return allocate(detail::local_heap, bytes, __builtin_return_address(0)); }
void* tarn_calloc(size_t count, size_t element_bytes) {
  return allocate_zeroed(detail::local_heap, count, element_bytes, __builtin_return_address(0));
}
void* tarn_realloc(void* block, size_t bytes) {
  return reallocate(detail::local_heap, block, bytes, __builtin_return_address(0));
}
void* tarn_aligned_alloc(size_t alignment, size_t bytes) {
  return allocate_aligned(detail::local_heap, alignment, bytes, __builtin_return_address(0));
}

void tarn_free(void* block) { tarn::detail::deallocate(tarn::detail::local_heap, block); }
size_t tarn_usable_size(const void* block) { return api::usable_bytes("tarn_usable_size", block); }

tarn_heap* tarn_current_heap(void) {
  return or_null_with_errno([] { return &current_heap(); });
}
tarn_heap* tarn_process_heap(void) {
  return or_null_with_errno([] { return &process_heap(); });
}
tarn_heap* tarn_owner_of(const void* block) {
  return or_null_with_errno([=] { return owner_of(block); });
}

tarn_heap* tarn_set_current_heap(tarn_heap* handle) {
  tarn_heap* const before = tarn_current_heap();
  if (before != nullptr) detail::local_heap = heap_access::front_of(*to_heap(handle));
  return before;
}

}  // extern "C"
