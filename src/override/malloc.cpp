// malloc and its family, as the C standard, POSIX and glibc's manual say.
//
//   malloc   local, class table, top, top[-1], test, store     then ret
//   free     page map, local, compare, top, tests, two stores  then ret
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "front/blocks.hpp"
#include "override/export.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using detail::size_class;

constexpr std::size_t tabled = 1024;
struct class_table {
  std::uint8_t of[tabled / detail::block_alignment + 1];
  consteval class_table() noexcept : of{} {
    for (std::size_t step = 0; step < sizeof of; ++step) {
      of[step] = static_cast<std::uint8_t>(detail::class_of(step * detail::block_alignment));
    }
  }
};
constexpr class_table table;

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
void* or_no_memory(void* block) noexcept { return block != nullptr ? block : no_memory(); }

[[gnu::noinline]] void* allocate_beyond_table(std::size_t bytes) noexcept {
  if (bytes <= detail::largest_class_size) {
    return or_no_memory(detail::allocate(detail::local, detail::class_of(bytes)));
  }
  if (bytes > front::largest_request) {
    return no_memory();
  }
  return or_no_memory(detail::allocate_any(detail::local, bytes, detail::block_alignment));
}

[[gnu::noinline]] void* allocate_slow(detail::heap_front* at, size_class index) noexcept {
  return or_no_memory(detail::allocate_slow(at, index));
}

[[gnu::noinline]] void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (bytes > front::largest_request || alignment > front::largest_request) {
    return no_memory();
  }
  return or_no_memory(detail::allocate_any(detail::local, bytes, alignment));
}

[[gnu::noinline, noreturn]] void freed_twice(void* block, size_class index) noexcept {
  base::fault_double_free(block, detail::size_of(index));
}

}  // namespace

namespace tarn::override {

void* allocate(std::size_t bytes) noexcept {
  if (bytes <= tabled) [[likely]] {
    const size_class index = table.of[(bytes + detail::block_alignment - 1) / detail::block_alignment];
    detail::heap_front* const at = detail::local;
    void** const top = at->top[index];
    void* const block = top[-1];
    if (block == nullptr) [[unlikely]] {
      return ::allocate_slow(at, index);
    }
    at->top[index] = top - 1;
    return block;
  }
  return allocate_beyond_table(bytes);
}

void deallocate(void* block) noexcept {
  detail::heap_front* const at = detail::local;
  const std::uintptr_t own = detail::key_of(block) ^ reinterpret_cast<std::uintptr_t>(at);
  if (own >= detail::class_count) [[unlikely]] {
    if (block != nullptr) {
      detail::deallocate_slow(at, block);
    }
    return;
  }
  void** const top = at->top[own];
  if (top[-1] == block) [[unlikely]] {
    freed_twice(block, static_cast<size_class>(own));
  }
  if (reinterpret_cast<std::uintptr_t>(top) % detail::magazine_bytes == 0) [[unlikely]] {
    detail::deallocate_slow(at, block);
    return;
  }
  *top = block;
  at->top[own] = top + 1;
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  return ::allocate_aligned(alignment, bytes);
}

}  // namespace tarn::override

using namespace tarn;

extern "C" {

TARN_EXPORT void* malloc(std::size_t bytes) noexcept { return override::allocate(bytes); }

TARN_EXPORT void free(void* block) noexcept { override::deallocate(block); }

TARN_EXPORT void cfree(void* block) noexcept { override::deallocate(block); }

// C23: the sizes are the caller's word; what free finds by itself is the truth.
TARN_EXPORT void free_sized(void* block, std::size_t) noexcept { override::deallocate(block); }
TARN_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept {
  override::deallocate(block);
}

TARN_EXPORT void* calloc(std::size_t count, std::size_t each) noexcept {
  return or_no_memory(front::allocate_zeroed(detail::local, count, each));
}

TARN_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (bytes == 0 && block != nullptr) {  // as glibc: freed, and null is no failure
    override::deallocate(block);
    return nullptr;
  }
  return or_no_memory(front::reallocate(detail::local, block, bytes));
}

TARN_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t each) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    return no_memory();
  }
  return realloc(block, bytes);
}

TARN_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (!base::is_power_of_two(alignment) || alignment % sizeof(void*) != 0) {
    return EINVAL;
  }
  const int saved = errno;  // which this function must not change
  void* const block = ::allocate_aligned(alignment, bytes);
  errno = saved;
  if (block == nullptr) {
    return ENOMEM;
  }
  *result = block;
  return 0;
}

TARN_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!base::is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return ::allocate_aligned(alignment, bytes);
}

// glibc's rounds an alignment that is no power of two up to the next.
TARN_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  constexpr std::size_t most = SIZE_MAX / 2 + 1;
  if (alignment > most) {
    errno = EINVAL;
    return nullptr;
  }
  return ::allocate_aligned(std::bit_ceil(alignment), bytes);
}

TARN_EXPORT void* valloc(std::size_t bytes) noexcept {
  return ::allocate_aligned(platform::page_bytes(), bytes);
}

TARN_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t page = platform::page_bytes();
  if (bytes > front::largest_request - page) {
    return no_memory();
  }
  return ::allocate_aligned(page, bytes == 0 ? page : base::align_up(bytes, page));
}

TARN_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  return front::usable_bytes("malloc_usable_size", block);
}

}  // extern "C"
