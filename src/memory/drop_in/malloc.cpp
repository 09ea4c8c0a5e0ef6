// Implements malloc and its family as the C standard, POSIX and glibc's manual define them. The fast paths are in
// memory/drop_in/fast.hpp.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "memory/api/blocks.hpp"
#include "memory/drop_in/fast.hpp"
#include "memory/drop_in/hardening.hpp"
#include "memory/guard/guard.hpp"
#include "memory/guard/samples.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using detail::size_class;

void* fail_no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
[[gnu::cold, gnu::noinline]] void* report_middle_of_block(void* block) noexcept {
  heaps::find_block("free", block);  // reports it
  return block;
}
// Turns a block of the heaps into one that malloc returns. In slabs of several units, free accepts an address in the
// middle of a block if a block could start at its offset in the unit (see pages::may_start_at). The mistake is reported
// here, before such an address is handed out again.
[[gnu::always_inline]] inline void* mark_used_wide(void* block, size_class index) noexcept {
  if (!pages::page_map::slab_of_block(block)->starts_block(block, index)) [[unlikely]] {
    return report_middle_of_block(block);
  }
  heaps::mark_of(block) = 0;
  return block;
}
// A large block carries no mark, and its first page may be untouched.
[[gnu::always_inline]] inline void* mark_used(void* block, size_class index) noexcept {
  if (index >= pages::first_wide) return index < detail::class_count ? mark_used_wide(block, index) : block;
  heaps::mark_of(block) = 0;
  return block;
}

// The class of each size above tabled_bytes, up to largest_class_size. The sizes of these classes are multiples of the
// table's step.
struct wide_class_table {
  static constexpr std::size_t step_bytes = detail::tabled_bytes / detail::steps_per_doubling;
  std::uint8_t classes[detail::largest_class_size / step_bytes];
  consteval wide_class_table() noexcept : classes{} {
    for (std::size_t step = 0; step < sizeof classes; ++step) {
      classes[step] = static_cast<std::uint8_t>(detail::class_of((step + 1) * step_bytes));
      if (step * step_bytes >= detail::tabled_bytes && detail::class_of(step * step_bytes + 1) != classes[step]) {
        __builtin_unreachable();  // this is not a constant expression: the build stops here
      }
    }
  }
};
constexpr wide_class_table wide_classes;

bool is_wide(std::size_t bytes) noexcept {
  return bytes - (detail::tabled_bytes + 1) < detail::largest_class_size - detail::tabled_bytes;
}
size_class wide_class_of(std::size_t bytes) noexcept {
  return wide_classes.classes[(bytes - 1) / wide_class_table::step_bytes];
}
[[gnu::always_inline]] inline void* finish_block(void* block, size_class index) noexcept {
  return block == nullptr ? fail_no_memory() : mark_used(block, index);
}
void* finish_block(void* block) noexcept { return finish_block(block, heaps::class_in(detail::key_of(block))); }
// This is not inline, so that its caller needs no stack frame.
[[gnu::cold, gnu::noinline]] void* fail_bad_alignment() noexcept {
  errno = EINVAL;
  return nullptr;
}

void* set_errno_if_null(void* block) noexcept { return block != nullptr ? block : fail_no_memory(); }

// Returns a block for a class whose magazine is empty, and sets `index` to the class that it has.
void* take_refilling(size_class& index) noexcept {
  heaps::heap* const self = threads::ready(detail::local_heap);
  if (self == nullptr) return nullptr;
  index = self->class_to_fill(index);
  return detail::allocate(self, index);
}

// Moves blocks as malloc and free do, but takes no samples, and leaves errno alone.
struct moves {
  static void* allocate(detail::heap_front* front, std::size_t bytes) noexcept {
    if (bytes <= detail::tabled_bytes) [[likely]] {
      if (void* const block = drop_in::take_tabled(bytes)) [[likely]] {
        heaps::mark_of(block) = 0;
        return block;
      }
    }
    void* block = nullptr;
    size_class index = detail::class_count;
    if (bytes <= detail::largest_class_size) {
      index = detail::class_of(bytes);
      block = take_refilling(index);
    } else {
      block = detail::allocate_any(front, bytes, detail::block_alignment);
    }
    return block == nullptr ? nullptr : mark_used(block, index);
  }
  static void give_back(detail::heap_front*, void* block) noexcept { drop_in::deallocate(block); }
};

// Returns how many blocks the refill of a class has brought.
std::uint32_t count_refilled(size_class index) noexcept {
  const auto* const caller = static_cast<const heaps::heap*>(detail::local_heap);
  if (detail::local_heap == &heaps::no_heap || caller->policy.is_closed() || caller->classes[index].front == nullptr)
    return 1;
  return static_cast<std::uint32_t>(caller->top[index] - caller->classes[index].bottom()) + 1;
}

// Returns a block of a class whose magazine is empty. Samples are taken here, where they cost the other calls nothing.
[[gnu::noinline]] void* allocate_refilling(size_class index, std::size_t bytes, std::size_t alignment,
                                           const void* site) noexcept {
  if (guard::samples::is_due()) [[unlikely]] {
    if (void* const block = guard::samples::allocate(bytes, alignment, site)) return block;
  }
  void* const block = take_refilling(index);
  guard::samples::count(count_refilled(index));
  return finish_block(block, index);
}

[[gnu::always_inline]] inline void* allocate_class(size_class index, std::size_t bytes, std::size_t alignment,
                                                   const void* site) noexcept {
  void* const block = detail::pop_watched(detail::top_in(detail::local_heap, index));
  if (block == nullptr) [[unlikely]] {
    return allocate_refilling(index, bytes, alignment, site);
  }
  return mark_used(block, index);
}

[[gnu::noinline]] void* allocate_unclassed(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > api::largest_request || alignment > api::largest_request) return fail_no_memory();
  return finish_block(detail::allocate_any(detail::local_heap, bytes, alignment));
}

[[gnu::always_inline]] inline void* allocate_aligned_plain(std::size_t bytes, std::size_t alignment,
                                                           const void* site) noexcept {
  if (bytes <= detail::largest_class_size && alignment <= pages::unit_bytes) [[likely]] {
    const size_class index = detail::class_of(bytes, alignment);
    if (index < detail::class_count) return allocate_class(index, bytes, alignment, site);
  }
  return allocate_unclassed(bytes, alignment);
}

bool is_hardened() noexcept { return guard::current_mode.load(std::memory_order_relaxed) == guard::mode::hardened; }

// Allocates if blocks are guarded, or if the options were not read yet.
[[gnu::noinline]] void* allocate_watched(std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  if (guard::current_mode.load(std::memory_order_relaxed) == guard::mode::unknown) {
    guard::find_mode();
    return drop_in::allocate_aligned_slow(bytes, alignment, site);
  }
  return guard::is_enabled() ? set_errno_if_null(guard::allocate(bytes, alignment, site))
                             : allocate_aligned_plain(bytes, alignment, site);
}

[[gnu::noinline]] void deallocate_watched(void* block, std::size_t stated_bytes, const void* site) noexcept {
  if (is_hardened()) [[likely]] {
    return hardening::deallocate(block, stated_bytes, site);
  }
  if (!guard::is_enabled()) {
    detail::deallocate_slow(detail::local_heap, block);
  } else if (block != nullptr) {
    guard::deallocate("free", block, stated_bytes, site);
  }
}

// This is not inline: the functions that it calls need a stack frame, and the exported function should need none.
[[gnu::noinline]] void* make_zeroed(std::size_t count, std::size_t element_bytes, const void* site) noexcept {
  if (guard::is_enabled()) [[unlikely]] {
    return set_errno_if_null(guard::allocate_zeroed(count, element_bytes, site));
  }
  if (is_hardened()) [[unlikely]] {
    return hardening::allocate_zeroed(count, element_bytes, site);
  }
  std::size_t bytes;
  if (!__builtin_mul_overflow(count, element_bytes, &bytes) && bytes <= detail::largest_class_size) {
    void* const block = allocate_class(detail::class_of(bytes), bytes, detail::block_alignment, site);
    return block == nullptr ? nullptr : std::memset(block, 0, bytes);
  }
  return finish_block(api::allocate_zeroed(detail::local_heap, count, element_bytes));
}

[[noreturn]] void report_double_free(const char* entry, const void* block) noexcept {
  base::fault_double_free(entry, block, pages::page_map::slab_of(block)->bytes);
}

// Resizes a sampled block. It always moves the block, so that a use of the old address is found.
[[gnu::noinline]] void* resize_sampled(void* block, std::size_t bytes, const void* site) noexcept {
  const std::size_t before = guard::samples::usable_bytes("realloc", block);
  void* const new_block = drop_in::allocate_slow(bytes, site);
  if (new_block != nullptr) {
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) null is no sampled block
    std::memcpy(new_block, block, bytes < before ? bytes : before);
    guard::samples::deallocate("realloc", block, site);
  }
  return new_block;
}

void* resize(void* block, std::size_t bytes, const void* site) noexcept {
  const bool is_freed = bytes == 0 && block != nullptr;  // as in glibc, where the null result is then no failure
  if (guard::is_enabled()) [[unlikely]] {
    if (!is_freed) return set_errno_if_null(guard::reallocate(block, bytes, site));
    guard::deallocate("free", block, guard::no_stated_size, site);
    return nullptr;
  }
  if (is_freed) {
    drop_in::deallocate(block);
    return nullptr;
  }
  const std::uintptr_t key = detail::key_of(block);
  if (key == 0 && guard::samples::contain(block)) [[unlikely]] {
    return resize_sampled(block, bytes, site);
  }
  if (is_hardened()) [[unlikely]] {
    return set_errno_if_null(hardening::reallocate(block, bytes, site));
  }
  if (key != 0 && heaps::class_in(key) < detail::class_count && heaps::is_marked(block)) [[unlikely]] {
    report_double_free("realloc", block);
  }
  return set_errno_if_null(api::resize<moves>(detail::local_heap, block, key, bytes));
}

// This is not inline, so that smaller sizes save fewer registers.
[[gnu::noinline]] void* allocate_large(std::size_t bytes) noexcept {
  if (void* const cached = threads::take_cached_large(detail::local_heap, bytes)) [[likely]] {
    return cached;
  }
  if (bytes > api::largest_request) return fail_no_memory();
  return finish_block(detail::allocate_any(detail::local_heap, bytes, detail::block_alignment), detail::class_count);
}

// Serves malloc when no magazine has a block. All its calls are tail calls, so that it needs no stack frame.
[[gnu::noinline]] void* allocate_missed(std::size_t bytes, const void* site) noexcept {
  if (guard::may_be_wanted()) [[unlikely]] {
    return is_hardened() ? hardening::allocate(bytes, detail::block_alignment, site)
                         : allocate_watched(bytes, detail::block_alignment, site);
  }
  if (bytes <= detail::largest_class_size) {
    return allocate_class(detail::class_of(bytes), bytes, detail::block_alignment, site);
  }
  return allocate_large(bytes);
}

}  // namespace

namespace tarn::drop_in {

void* allocate_slow(std::size_t bytes, const void* site) noexcept {
  // As for smaller sizes, the magazine comes first; if blocks are guarded, all magazines are shut.
  if (is_wide(bytes)) [[likely]] {
    const size_class index = wide_class_of(bytes);
    if (void* const block = detail::pop_watched(detail::top_in(detail::local_heap, index))) [[likely]] {
      return mark_used_wide(block, index);
    }
  }
  return allocate_missed(bytes, site);
}

void* allocate_aligned_slow(std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  if (guard::may_be_wanted()) [[unlikely]] {
    return is_hardened() ? hardening::allocate(bytes, alignment, site) : allocate_watched(bytes, alignment, site);
  }
  return allocate_aligned_plain(bytes, alignment, site);
}

void deallocate_slow(void* block, std::size_t stated_bytes, std::uintptr_t difference, const void* site) noexcept {
  if (guard::may_be_wanted()) [[unlikely]] {
    return deallocate_watched(block, stated_bytes, site);
  }
  if (heaps::free_to_batch(*detail::local_heap, block, difference)) [[likely]] {
    return;
  }
  if (block == nullptr) return;  // C programs often free null
  if (guard::samples::contain(block)) [[unlikely]] {
    return guard::samples::deallocate("free", block, site);
  }
  detail::deallocate_slow(detail::local_heap, block);
}

void deallocate_full(void* block, std::size_t stated_bytes, const void* site, size_class index) noexcept {
  if (heaps::is_marked(block)) [[unlikely]] {
    return report_freed_twice(block, stated_bytes, site);
  }
  if (guard::may_be_wanted()) [[unlikely]] {
    return is_hardened() ? hardening::deallocate_own(block, stated_bytes, site, index)
                         : deallocate_watched(block, stated_bytes, site);
  }
  heaps::mark(block);
  detail::deallocate_slow(detail::local_heap, block);
}

void report_freed_twice(void* block, std::size_t stated_bytes, const void* site) noexcept {
  if (guard::is_enabled()) [[unlikely]] {
    return guard::deallocate("free", block, stated_bytes, site);  // the guard reports more
  }
  if (is_hardened()) hardening::fault_freed_twice("free", block);
  report_double_free("free", block);
}

}  // namespace tarn::drop_in

using namespace tarn;

extern "C" {

TARN_EXPORT_FAST void* malloc(std::size_t bytes) TARN_LIBC_NOEXCEPT {
  return drop_in::allocate(bytes, drop_in::allocate_slow);
}

TARN_EXPORT_FAST void free(void* block) TARN_LIBC_NOEXCEPT { drop_in::deallocate(block); }

TARN_EXPORT void cfree(void* block) TARN_LIBC_NOEXCEPT { drop_in::deallocate(block); }

// These functions are C23's.
TARN_EXPORT void free_sized(void* block, std::size_t bytes) TARN_LIBC_NOEXCEPT { drop_in::deallocate(block, bytes); }
TARN_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t bytes) TARN_LIBC_NOEXCEPT {
  drop_in::deallocate(block, bytes);
}

TARN_EXPORT void* calloc(std::size_t count, std::size_t element_bytes) TARN_LIBC_NOEXCEPT {
  std::size_t bytes;
  if (!__builtin_mul_overflow(count, element_bytes, &bytes) && bytes <= detail::tabled_bytes) [[likely]] {
    if (void* const block = drop_in::take_tabled(bytes)) [[likely]] {
      heaps::mark_of(block) = 0;
      return std::memset(block, 0, bytes);
    }
  }
  return make_zeroed(count, element_bytes, __builtin_return_address(0));
}

// Some programs allocate by realloc only, such as interpreters with an allocation function of their own.
TARN_EXPORT_FAST void* realloc(void* block, std::size_t bytes) TARN_LIBC_NOEXCEPT {
  if (block == nullptr) return drop_in::allocate(bytes, drop_in::allocate_slow);
  return resize(block, bytes, __builtin_return_address(0));
}

TARN_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t element_bytes) TARN_LIBC_NOEXCEPT {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) return fail_no_memory();
  return resize(block, bytes, __builtin_return_address(0));
}

TARN_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) TARN_LIBC_NOEXCEPT {
  if (!base::is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;  // this function must not change it
  void* const block = drop_in::allocate_aligned(bytes, alignment, drop_in::allocate_aligned_slow);
  errno = saved;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

// Refuses an alignment that is no power of two, as C17 (7.22.3.1) and glibc since 2.38 do. Older glibc rounds it up.
TARN_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) TARN_LIBC_NOEXCEPT {
  if (!base::is_power_of_two(alignment)) return fail_bad_alignment();
  return drop_in::allocate_aligned(bytes, alignment, drop_in::allocate_aligned_slow);
}

// Rounds an alignment that is no power of two up to the next one, as glibc does.
TARN_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) TARN_LIBC_NOEXCEPT {
  constexpr std::size_t largest_alignment = SIZE_MAX / 2 + 1;
  if (alignment > largest_alignment) return fail_bad_alignment();
  return drop_in::allocate_aligned(bytes, std::bit_ceil(alignment), drop_in::allocate_aligned_slow);
}

TARN_EXPORT void* valloc(std::size_t bytes) TARN_LIBC_NOEXCEPT {
  return drop_in::allocate_aligned(bytes, platform::page_bytes(), drop_in::allocate_aligned_slow);
}

TARN_EXPORT void* pvalloc(std::size_t bytes) TARN_LIBC_NOEXCEPT {
  const std::size_t page = platform::page_bytes();
  if (bytes > api::largest_request - page) return fail_no_memory();
  return drop_in::allocate_aligned(bytes == 0 ? page : base::align_up(bytes, page), page,
                                   drop_in::allocate_aligned_slow);
}

TARN_EXPORT std::size_t malloc_usable_size(void* block) TARN_LIBC_NOEXCEPT {
  if (guard::is_enabled()) [[unlikely]] {
    return guard::usable_bytes("malloc_usable_size", block);
  }
  if (guard::samples::contain(block)) [[unlikely]] {
    return guard::samples::usable_bytes("malloc_usable_size", block);
  }
  if (block != nullptr && is_hardened()) [[unlikely]] {
    return hardening::usable_bytes("malloc_usable_size", block);
  }
  return api::usable_bytes("malloc_usable_size", block);
}

// These are glibc's other names of the same functions. A program that calls both kinds must meet one heap. musl has
// some of these names for a heap of its own, which no program can call.
#ifdef __GLIBC__
#if __has_attribute(copy)  // GCC warns about an alias with fewer attributes
#define TARN_COPY(name) __attribute__((copy(name)))
#else
#define TARN_COPY(name)
#endif
#define TARN_ALIAS(type, other_name, name, parameters) \
  TARN_EXPORT type other_name parameters TARN_LIBC_NOEXCEPT __attribute__((alias(#name))) TARN_COPY(name);
TARN_ALIAS(void*, __libc_malloc, malloc, (std::size_t))
TARN_ALIAS(void*, __libc_calloc, calloc, (std::size_t, std::size_t))
TARN_ALIAS(void*, __libc_realloc, realloc, (void*, std::size_t))
TARN_ALIAS(void, __libc_free, free, (void*))
TARN_ALIAS(void, __libc_cfree, cfree, (void*))
TARN_ALIAS(void*, __libc_memalign, memalign, (std::size_t, std::size_t))
TARN_ALIAS(void*, __libc_valloc, valloc, (std::size_t))
TARN_ALIAS(void*, __libc_pvalloc, pvalloc, (std::size_t))
TARN_ALIAS(int, __posix_memalign, posix_memalign, (void**, std::size_t, std::size_t))
#endif

}  // extern "C"
