// The pools of tarn.h, on the C++ interface. No exception leaves this file.
#include <tarn/tarn.h>

#include <bit>
#include <cerrno>
#include <new>

#include <tarn/fixed_pool.hpp>
#include <tarn/heap.hpp>
#include <tarn/shared_pool.hpp>

namespace tarn::detail {

/// Does what the inline paths of C++ do, with the site of the C program's call for a guarded pool. The slow paths
/// would see a return address in this file instead.
struct pool_c_api {
  static void* allocate(fixed_pool& pool, const void* site) noexcept {
    return pool.take([&]() __attribute__((always_inline)) { return pool.try_allocate_slow(site); });
  }
  static void deallocate(fixed_pool& pool, void* block, const void* site) noexcept {
    if (pool.guarded_ != nullptr) {
      pool.spill(block, site);
    } else {
      pool.deallocate(block);
    }
  }
  static void* allocate(shared_blocks& pool, const void* site) noexcept {
    void* const block = pool.take();
    return block != nullptr ? block : pool.try_allocate_slow(site);
  }
  static void deallocate(shared_blocks& pool, void* block, const void* site) noexcept {
    if (pool.is_guarded_) {
      pool.deallocate_slow(block, site);
    } else {
      pool.deallocate(block);
    }
  }
};

}  // namespace tarn::detail

namespace {

using tarn::fixed_pool;
using tarn::detail::pool_c_api;
using tarn::detail::shared_blocks;

fixed_pool* to_pool(tarn_pool* handle) noexcept { return reinterpret_cast<fixed_pool*>(handle); }
shared_blocks* to_pool(tarn_shared_pool* handle) noexcept { return reinterpret_cast<shared_blocks*>(handle); }

void* or_no_memory(void* block) noexcept {
  if (block == nullptr) [[unlikely]] {
    errno = ENOMEM;
  }
  return block;
}

template <class Pool>
Pool* create(size_t bytes, size_t alignment, const tarn_pool_options* options) {
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  tarn::pool_options settings;
  if (options != nullptr) {
    settings = {.name = options->name != nullptr ? options->name : "",
                .upstream = reinterpret_cast<tarn::heap*>(options->upstream),
                .first_chunk_blocks = options->first_chunk_blocks,
                .increment_blocks = options->increment_blocks,
                .limit_blocks = options->limit_blocks,
                .is_guarded = options->is_guarded};
  }
  try {
    // The process's heap provides this, because the current heap may be released while this pool lives.
    void* const memory = tarn::process_heap().allocate(sizeof(Pool), alignof(Pool));
    return ::new (memory) Pool(bytes, alignment != 0 ? alignment : tarn::detail::block_alignment, settings);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

template <class Pool>
void destroy(Pool* pool) {
  if (pool != nullptr) {
    pool->~Pool();
    tarn_free(pool);
  }
}

template <class Pool>
bool reserve(Pool& pool, size_t blocks) {
  try {
    pool.reserve(blocks);
    return true;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return false;
  }
}

tarn_pool_statistics copy_statistics(const tarn::pool_statistics& now) {
  return {.in_use = now.in_use,
          .peak_in_use = now.peak_in_use,
          .capacity = now.capacity,
          .chunks = now.chunks,
          .chunk_bytes = now.chunk_bytes,
          .upstream_calls = now.upstream_calls};
}

}  // namespace

extern "C" {

tarn_pool* tarn_pool_create(size_t bytes, size_t alignment, const tarn_pool_options* options) {
  return reinterpret_cast<tarn_pool*>(create<fixed_pool>(bytes, alignment, options));
}
void tarn_pool_destroy(tarn_pool* handle) { destroy(to_pool(handle)); }
void* tarn_pool_malloc(tarn_pool* handle) {
  return or_no_memory(pool_c_api::allocate(*to_pool(handle), __builtin_return_address(0)));
}
void tarn_pool_free(tarn_pool* handle, void* block) {
  if (block != nullptr) pool_c_api::deallocate(*to_pool(handle), block, __builtin_return_address(0));
}
bool tarn_pool_reserve(tarn_pool* handle, size_t blocks) { return reserve(*to_pool(handle), blocks); }
void tarn_pool_clear(tarn_pool* handle) { to_pool(handle)->clear(); }
void tarn_pool_release(tarn_pool* handle) { to_pool(handle)->release(); }
tarn_pool_statistics tarn_pool_get_statistics(const tarn_pool* handle) {
  return copy_statistics(reinterpret_cast<const fixed_pool*>(handle)->statistics());
}

tarn_shared_pool* tarn_shared_pool_create(size_t bytes, size_t alignment, const tarn_pool_options* options) {
  return reinterpret_cast<tarn_shared_pool*>(create<shared_blocks>(bytes, alignment, options));
}
void tarn_shared_pool_destroy(tarn_shared_pool* handle) { destroy(to_pool(handle)); }
void* tarn_shared_pool_malloc(tarn_shared_pool* handle) {
  return or_no_memory(pool_c_api::allocate(*to_pool(handle), __builtin_return_address(0)));
}
void tarn_shared_pool_free(tarn_shared_pool* handle, void* block) {
  if (block != nullptr) pool_c_api::deallocate(*to_pool(handle), block, __builtin_return_address(0));
}
bool tarn_shared_pool_reserve(tarn_shared_pool* handle, size_t blocks) { return reserve(*to_pool(handle), blocks); }
tarn_pool_statistics tarn_shared_pool_get_statistics(tarn_shared_pool* handle) {
  return copy_statistics(to_pool(handle)->statistics());
}

}  // extern "C"
