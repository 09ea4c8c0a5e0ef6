// Class-level new and delete on the calling thread's heap.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <tarn/detail/fast_path.hpp>

namespace tarn {
namespace detail {

// Functions here, and not private ones of `pooled`, leave all names to the classes derived from it.
[[gnu::always_inline]] inline void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const block = allocate(local_heap, bytes, alignment);
  if (block == nullptr) [[unlikely]] {
    throw_bad_alloc();
  }
  return block;
}
constexpr std::size_t to_size(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace detail

/// Gives a class `new` and `delete` on the current heap:
///
///   struct order : tarn::pooled<order> { … };
///
/// `new order` takes a block from the current heap, and `delete` frees it; any thread may delete. Arrays, derived
/// classes (with a virtual destructor when deleted through the base), over-aligned types and the nothrow forms work as
/// usual. Errors: `new` throws std::bad_alloc. Cost: inline, about 1 ns for the pair; the object has no overhead.
template <class T>
struct pooled {
  // clang-format off
  [[gnu::always_inline]] static void* operator new(std::size_t bytes) { return detail::allocate_or_throw(bytes, detail::block_alignment); }
  [[gnu::always_inline]] static void* operator new[](std::size_t bytes) { return detail::allocate_or_throw(bytes, detail::block_alignment); }
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, std::align_val_t a) { return detail::allocate_or_throw(bytes, detail::to_size(a)); }
  [[gnu::always_inline]] static void* operator new[](std::size_t bytes, std::align_val_t a) { return detail::allocate_or_throw(bytes, detail::to_size(a)); }
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return detail::allocate(detail::local_heap, bytes, detail::block_alignment); }
  [[gnu::always_inline]] static void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return detail::allocate(detail::local_heap, bytes, detail::block_alignment); }
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept { return detail::allocate(detail::local_heap, bytes, detail::to_size(a)); }
  [[gnu::always_inline]] static void* operator new[](std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept { return detail::allocate(detail::local_heap, bytes, detail::to_size(a)); }
  [[gnu::always_inline]] static void* operator new(std::size_t, void* memory) noexcept { return memory; }
  [[gnu::always_inline]] static void* operator new[](std::size_t, void* memory) noexcept { return memory; }

  [[gnu::always_inline]] static void operator delete(void* p, std::size_t bytes) noexcept { detail::deallocate(detail::local_heap, p, bytes, detail::block_alignment); }
  [[gnu::always_inline]] static void operator delete[](void* p, std::size_t bytes) noexcept { detail::deallocate(detail::local_heap, p, bytes, detail::block_alignment); }
  [[gnu::always_inline]] static void operator delete(void* p, std::size_t bytes, std::align_val_t a) noexcept { detail::deallocate(detail::local_heap, p, bytes, detail::to_size(a)); }
  [[gnu::always_inline]] static void operator delete[](void* p, std::size_t bytes, std::align_val_t a) noexcept { detail::deallocate(detail::local_heap, p, bytes, detail::to_size(a)); }
  [[gnu::always_inline]] static void operator delete(void* p, const std::nothrow_t&) noexcept { detail::deallocate(detail::local_heap, p); }
  [[gnu::always_inline]] static void operator delete[](void* p, const std::nothrow_t&) noexcept { detail::deallocate(detail::local_heap, p); }
  [[gnu::always_inline]] static void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { detail::deallocate(detail::local_heap, p); }
  [[gnu::always_inline]] static void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { detail::deallocate(detail::local_heap, p); }
  [[gnu::always_inline]] static void operator delete(void*, void*) noexcept {}
  [[gnu::always_inline]] static void operator delete[](void*, void*) noexcept {}
  // clang-format on
};

/// Wraps a value of a non-class type, so that the value and arrays of it can live in the
/// current heap: `auto* row = new tarn::pooled_value<double>[columns]`.
/// It converts to and from T and is as large as T. Threads, errors and cost are those of
/// pooled for `new` and `delete`, and those of T for everything else.
/// Source: K. Manley, "Improving Performance with Thread-Private Heaps", 1999.
template <class T>
class pooled_value : public pooled<pooled_value<T>> {
 public:
  constexpr pooled_value() noexcept : value_{} {}
  /// Wraps the value.
  constexpr pooled_value(T value) noexcept : value_(std::move(value)) {}
  constexpr pooled_value& operator=(T value) noexcept {
    value_ = std::move(value);
    return *this;
  }

  constexpr operator T&() noexcept { return value_; }
  constexpr operator const T&() const noexcept { return value_; }
  /// Returns the value.
  constexpr T& get() noexcept { return value_; }
  constexpr const T& get() const noexcept { return value_; }

 private:
  T value_;
};

static_assert(sizeof(pooled_value<double>) == sizeof(double));

}  // namespace tarn
