// malloc and its family, as the C standard, POSIX and glibc's manual say.
// The paths that matter are in override/fast.hpp.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "front/blocks.hpp"
#include "heap/lookup.hpp"
#include "override/fast.hpp"
#include "pages/page_map.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using detail::size_class;

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
// What the heaps gave, as malloc gives it. Where slabs have several units, free takes an
// address in the middle of a block for one if its offset in the unit may be (see
// pages::may_start_at). It is seen here, before it is handed out again.
[[gnu::always_inline]] inline void* finished(void* block, size_class index) noexcept {
  if (block == nullptr) {
    return no_memory();
  }
  if (index - pages::first_wide < detail::class_count - pages::first_wide) {
    const pages::slab& home = *pages::page_map::slab_of(block);
    const std::size_t number = home.number_of(block);
    if (number >= home.capacity || home.block(number) != block) [[unlikely]] {
      heaps::find_block("free", block);  // reports it
    }
  }
  return override::unmarked(block);
}
void* finished(void* block) noexcept { return finished(block, heaps::class_in(detail::key_of(block))); }

// What realloc moved away from, freed as free does it.
void give_back(detail::heap_front*, void* block) noexcept { override::deallocate(block); }

// Whether `block` is one of a size class, and free.
bool is_free(void* block) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  return block != nullptr && key != 0 && heaps::class_in(key) < detail::class_count && heaps::is_marked(block);
}

}  // namespace

namespace tarn::override {

void* allocate_slow(std::size_t bytes) noexcept {
  if (bytes <= detail::largest_class_size) {
    const size_class index = detail::class_of(bytes);
    return finished(detail::allocate(detail::local, index), index);
  }
  if (bytes > front::largest_request) {
    return no_memory();
  }
  return finished(detail::allocate_any(detail::local, bytes, detail::block_alignment), detail::class_count);
}

void* allocate_aligned_slow(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > front::largest_request || alignment > front::largest_request) {
    return no_memory();
  }
  if (bytes <= detail::largest_class_size && alignment <= pages::unit_bytes) [[likely]] {
    const size_class index = detail::class_of(bytes, alignment);
    if (index < detail::class_count) {
      return finished(detail::allocate(detail::local, index), index);
    }
  }
  return finished(detail::allocate_any(detail::local, bytes, alignment));
}

constinit bool checks_sizes = false;

void check_size(void* block, std::size_t bytes, std::size_t alignment) noexcept {
  if (block == nullptr) {
    return;
  }
  const heaps::found_block found = heaps::find_block("free", block);
  const bool fits_a_class = bytes <= detail::largest_class_size && alignment <= pages::unit_bytes;
  const size_class said = fits_a_class ? detail::class_of(bytes, alignment) : detail::class_count;
  if (said != found.index || (found.large() && bytes > found.home->bytes)) {
    base::fault_wrong_size(block, bytes, found.home->bytes);
  }
}

void freed_twice(const char* entry, void* block) noexcept {
  base::fault_double_free(entry, block, pages::page_map::slab_of(block)->bytes);
}

}  // namespace tarn::override

using namespace tarn;

extern "C" {

TARN_EXPORT_FAST void* malloc(std::size_t bytes) noexcept { return override::allocate(bytes, override::allocate_slow); }

TARN_EXPORT_FAST void free(void* block) noexcept { override::deallocate(block); }

TARN_EXPORT void cfree(void* block) noexcept { override::deallocate(block); }

// C23: the sizes are the caller's word; what free finds by itself is the truth.
TARN_EXPORT void free_sized(void* block, std::size_t) noexcept { override::deallocate(block); }
TARN_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept { override::deallocate(block); }

TARN_EXPORT void* calloc(std::size_t count, std::size_t each) noexcept {
  return finished(front::allocate_zeroed(detail::local, count, each));
}

TARN_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (bytes == 0 && block != nullptr) {  // as glibc: freed, and null is no failure
    override::deallocate(block);
    return nullptr;
  }
  if (is_free(block)) [[unlikely]] {
    override::freed_twice("realloc", block);
  }
  void* const made = front::reallocate(detail::local, block, bytes, give_back);
  return block == nullptr || made == nullptr ? finished(made) : made;
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
  void* const block = override::allocate_aligned(bytes, alignment, override::allocate_aligned_slow);
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
  return override::allocate_aligned(bytes, alignment, override::allocate_aligned_slow);
}

// glibc's rounds an alignment that is no power of two up to the next.
TARN_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  constexpr std::size_t most = SIZE_MAX / 2 + 1;
  if (alignment > most) {
    errno = EINVAL;
    return nullptr;
  }
  return override::allocate_aligned(bytes, std::bit_ceil(alignment), override::allocate_aligned_slow);
}

TARN_EXPORT void* valloc(std::size_t bytes) noexcept {
  return override::allocate_aligned(bytes, platform::page_bytes(), override::allocate_aligned_slow);
}

TARN_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t page = platform::page_bytes();
  if (bytes > front::largest_request - page) {
    return no_memory();
  }
  return override::allocate_aligned(bytes == 0 ? page : base::align_up(bytes, page), page,
                                    override::allocate_aligned_slow);
}

TARN_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  return front::usable_bytes("malloc_usable_size", block);
}

}  // extern "C"
