// The malloc form: plain malloc, free and operator new. LD_PRELOAD decides which allocator answers. The functions of
// all fronts are always_inline, so that no form pays for a wrapper.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

namespace bench {

struct malloc_front {
  static constexpr const char* name = "malloc";
  static constexpr bool lets_any_thread_free = true;
  using string = std::string;

  template <std::size_t Size>
  [[gnu::always_inline]] void* make() {
    return std::malloc(Size);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void unmake(void* p) {
    std::free(p);
  }

  // A C++ program makes its objects with operator new.
  template <std::size_t Size>
  [[gnu::always_inline]] void* create() {
    return ::operator new(Size);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void destroy(void* p) {
    ::operator delete(p, Size);
  }

  [[gnu::always_inline]] void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  [[gnu::always_inline]] void deallocate(void* p, std::size_t) { std::free(p); }

  [[gnu::always_inline]] void* allocate_zeroed(std::size_t bytes) { return std::calloc(1, bytes); }
  [[gnu::always_inline]] void* reallocate(void* p, std::size_t bytes) { return std::realloc(p, bytes); }
  [[gnu::always_inline]] void deallocate_c(void* p) { std::free(p); }

  [[gnu::always_inline]] void* allocate_aligned(std::size_t bytes, std::size_t align) {
    return std::aligned_alloc(align, bytes);
  }
  [[gnu::always_inline]] void deallocate_aligned(void* p, std::size_t, std::size_t) { std::free(p); }

  [[gnu::always_inline]] string make_string() { return {}; }
};

}  // namespace bench
