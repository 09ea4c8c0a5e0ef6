// Implements every form of operator new and delete.
//
// The drop-in must not need libstdc++, or every C program would load it. The names that it needs from there in the
// rare case of failure are weak references: a program that uses operator new has the C++ runtime, and a program
// without the runtime never comes here.
#include <cstddef>
#include <new>

#include "base/fault.hpp"
#include "memory/drop_in/fast.hpp"

namespace std {
// libstdc++ and, as an alternative, libc++ throw std::bad_alloc for us.
void __throw_bad_alloc() __attribute__((__noreturn__, weak));
}  // namespace std

namespace {

using namespace tarn;

extern "C" std::new_handler tarn_get_new_handler() noexcept __asm__("_ZSt15get_new_handlerv") __attribute__((weak));

// A handler may throw, and the nothrow forms must turn that into null.
__asm__(
    ".weak __gxx_personality_v0\n.weak __cxa_begin_catch\n"
    ".weak __cxa_end_catch\n.weak _Unwind_Resume\n.weak _ZSt9terminatev");

template <class Allocate>
[[gnu::cold, gnu::noinline]] void* retry(std::size_t bytes, bool may_throw, Allocate allocate) {
  for (;;) {
    const std::new_handler handler = tarn_get_new_handler != nullptr ? tarn_get_new_handler() : nullptr;
    if (handler == nullptr) {
      if (!may_throw) return nullptr;
      if (std::__throw_bad_alloc == nullptr) base::fault_cannot_throw(bytes);
      std::__throw_bad_alloc();
    }
    handler();
    if (void* const block = allocate()) return block;
  }
}

template <bool MayThrow, class Allocate>
[[gnu::cold]] void* retry_or_fail(std::size_t bytes, Allocate allocate) noexcept(!MayThrow) {
  if constexpr (MayThrow) {
    return retry(bytes, true, allocate);
  } else {
    try {
      return retry(bytes, false, allocate);
    } catch (...) {
      return nullptr;
    }
  }
}

// This is not inline, so that the fast path of operator new needs no stack frame.
template <bool MayThrow>
[[gnu::noinline]] void* make_slow(std::size_t bytes, const void* site) noexcept(!MayThrow) {
  void* const block = drop_in::allocate_slow(bytes, site);
  if (block == nullptr) [[unlikely]] {
    return retry_or_fail<MayThrow>(bytes, [=] { return drop_in::allocate_slow(bytes, site); });
  }
  return block;
}

template <bool MayThrow>
[[gnu::noinline]] void* make_aligned_slow(std::size_t bytes, std::size_t alignment,
                                          const void* site) noexcept(!MayThrow) {
  void* const block = drop_in::allocate_aligned_slow(bytes, alignment, site);
  if (block == nullptr) [[unlikely]] {
    return retry_or_fail<MayThrow>(bytes, [=] { return drop_in::allocate_aligned_slow(bytes, alignment, site); });
  }
  return block;
}

template <bool MayThrow>
[[gnu::always_inline]] inline void* make(std::size_t bytes) noexcept(!MayThrow) {
  return drop_in::allocate(bytes, make_slow<MayThrow>);
}

template <bool MayThrow>
[[gnu::always_inline]] inline void* make(std::size_t bytes, std::align_val_t alignment) noexcept(!MayThrow) {
  const auto aligned = static_cast<std::size_t>(alignment);
  return drop_in::allocate_aligned(bytes, aligned, make_aligned_slow<MayThrow>);
}

}  // namespace

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

// clang-format off
TARN_EXPORT_FAST void* operator new(size_t n) { return make<true>(n); }
TARN_EXPORT void* operator new[](size_t n) { return make<true>(n); }
TARN_EXPORT void* operator new(size_t n, const nothrow_t&) noexcept { return make<false>(n); }
TARN_EXPORT void* operator new[](size_t n, const nothrow_t&) noexcept { return make<false>(n); }
TARN_EXPORT void* operator new(size_t n, align_val_t a) { return make<true>(n, a); }
TARN_EXPORT void* operator new[](size_t n, align_val_t a) { return make<true>(n, a); }
TARN_EXPORT void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept { return make<false>(n, a); }
TARN_EXPORT void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept { return make<false>(n, a); }

TARN_EXPORT_FAST void operator delete(void* p) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete[](void* p) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, const nothrow_t&) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, const nothrow_t&) noexcept { drop_in::deallocate(p); }
TARN_EXPORT_FAST void operator delete(void* p, size_t n) noexcept { drop_in::deallocate(p, n); }
TARN_EXPORT void operator delete[](void* p, size_t n) noexcept { drop_in::deallocate(p, n); }
TARN_EXPORT void operator delete(void* p, align_val_t) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, align_val_t) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, size_t n, align_val_t) noexcept { drop_in::deallocate(p, n); }
TARN_EXPORT void operator delete[](void* p, size_t n, align_val_t) noexcept { drop_in::deallocate(p, n); }
// clang-format on
