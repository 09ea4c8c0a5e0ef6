// Implements every form of operator new and delete.
//
// The drop-in must not need libstdc++, or every C program would load it. The names that it needs from there in the
// rare case of failure are weak references: a program that uses operator new has the C++ runtime, and a program
// without the runtime never comes here.
#include <cstddef>
#include <new>

#include "base/fault.hpp"
#include "memory/drop_in/fast.hpp"
#include "memory/drop_in/program_operators.hpp"

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

// The operators of the program, where it replaces some; set before the program begins.
constinit bool has_program_operators = false;
constinit drop_in::operator_set program_operators = {};

[[gnu::always_inline]] inline bool are_replaced() noexcept { return __builtin_expect(has_program_operators, 0) != 0; }

// Calls an operator of the program for a form that returns null in place of an exception.
template <class Make, class... Arguments>
[[gnu::cold, gnu::noinline]] void* make_or_null(Make make, Arguments... arguments) noexcept {
  try {
    return make(arguments...);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

// clang-format off
TARN_EXPORT_FAST void* operator new(size_t n) { return make<true>(n); }
TARN_EXPORT void* operator new(size_t n, align_val_t a) { return make<true>(n, a); }
TARN_EXPORT_FAST void operator delete(void* p) noexcept { drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, align_val_t) noexcept { drop_in::deallocate(p); }

// The others call those that the program replaces, as the language says.
TARN_EXPORT void* operator new[](size_t n) { return are_replaced() ? program_operators.make(n) : make<true>(n); }
TARN_EXPORT void* operator new(size_t n, const nothrow_t&) noexcept { return are_replaced() ? make_or_null(program_operators.make, n) : make<false>(n); }
TARN_EXPORT void* operator new[](size_t n, const nothrow_t&) noexcept { return are_replaced() ? make_or_null(program_operators.make_array, n) : make<false>(n); }
TARN_EXPORT void* operator new[](size_t n, align_val_t a) { return are_replaced() ? program_operators.make_aligned(n, a) : make<true>(n, a); }
TARN_EXPORT void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept { return are_replaced() ? make_or_null(program_operators.make_aligned, n, a) : make<false>(n, a); }
TARN_EXPORT void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept { return are_replaced() ? make_or_null(program_operators.make_aligned_array, n, a) : make<false>(n, a); }

TARN_EXPORT void operator delete[](void* p) noexcept { are_replaced() ? program_operators.drop(p) : drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, const nothrow_t&) noexcept { are_replaced() ? program_operators.drop(p) : drop_in::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, const nothrow_t&) noexcept { are_replaced() ? program_operators.drop_array(p) : drop_in::deallocate(p); }
TARN_EXPORT_FAST void operator delete(void* p, size_t n) noexcept { are_replaced() ? program_operators.drop(p) : drop_in::deallocate(p, n); }
TARN_EXPORT void operator delete[](void* p, size_t n) noexcept { are_replaced() ? program_operators.drop_array(p) : drop_in::deallocate(p, n); }
TARN_EXPORT void operator delete[](void* p, align_val_t a) noexcept { are_replaced() ? program_operators.drop_aligned(p, a) : drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, align_val_t a, const nothrow_t&) noexcept { are_replaced() ? program_operators.drop_aligned(p, a) : drop_in::deallocate(p); }
TARN_EXPORT void operator delete[](void* p, align_val_t a, const nothrow_t&) noexcept { are_replaced() ? program_operators.drop_aligned_array(p, a) : drop_in::deallocate(p); }
TARN_EXPORT void operator delete(void* p, size_t n, align_val_t a) noexcept { are_replaced() ? program_operators.drop_aligned(p, a) : drop_in::deallocate(p, n); }
TARN_EXPORT void operator delete[](void* p, size_t n, align_val_t a) noexcept { are_replaced() ? program_operators.drop_aligned_array(p, a) : drop_in::deallocate(p, n); }
// clang-format on

namespace {

[[gnu::constructor(102)]] void find_operators() noexcept {
  constexpr drop_in::operator_set replaceable = {.make = &::operator new,
                                                 .make_array = &::operator new[],
                                                 .make_aligned = &::operator new,
                                                 .make_aligned_array = &::operator new[],
                                                 .drop = &::operator delete,
                                                 .drop_array = &::operator delete[],
                                                 .drop_aligned = &::operator delete,
                                                 .drop_aligned_array = &::operator delete[] };
  program_operators = drop_in::find_program_operators(replaceable);
  has_program_operators = program_operators.make != nullptr;
}

}  // namespace
