// The inline forms, as a program that uses the library writes them:
//   pooled     a class with its own new and delete (fixed sizes only)
//   allocator  tarn::allocator<T>, and the C functions where the standard allocator has none
//   heap       a heap object: one owner, no thread-local look-up, release() of everything
// A form lacks the rows that it cannot express, such as frees of a heap object's blocks by another thread.
#pragma once
#include <tarn/tarn.h>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <tarn/tarn.hpp>

namespace bench {

struct pooled_front {
  static constexpr const char* name = "pooled";
  static constexpr bool lets_any_thread_free = true;

  template <std::size_t Size>
  struct block : tarn::pooled<block<Size>> {
    alignas(8) std::byte bytes[Size];
  };

  template <std::size_t Size>
  [[gnu::always_inline]] void* make() {
    return new block<Size>;
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void unmake(void* p) {
    delete static_cast<block<Size>*>(p);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void* create() {
    return make<Size>();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void destroy(void* p) {
    unmake<Size>(p);
  }
};

struct allocator_front {
  static constexpr const char* name = "allocator";
  static constexpr bool lets_any_thread_free = true;
  using string = std::basic_string<char, std::char_traits<char>, tarn::allocator<char>>;

  template <std::size_t Size>
  struct block {
    alignas(8) std::byte bytes[Size];
  };

  template <std::size_t Size>
  [[gnu::always_inline]] void* make() {
    return tarn::allocator<block<Size>>{}.allocate(1);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void unmake(void* p) {
    tarn::allocator<block<Size>>{}.deallocate(static_cast<block<Size>*>(p), 1);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void* create() {
    return make<Size>();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void destroy(void* p) {
    unmake<Size>(p);
  }

  [[gnu::always_inline]] void* allocate(std::size_t bytes) { return tarn::allocator<std::byte>{}.allocate(bytes); }
  [[gnu::always_inline]] void deallocate(void* p, std::size_t bytes) {
    tarn::allocator<std::byte>{}.deallocate(static_cast<std::byte*>(p), bytes);
  }

  [[gnu::always_inline]] void* allocate_zeroed(std::size_t bytes) { return tarn_calloc(1, bytes); }
  [[gnu::always_inline]] void* reallocate(void* p, std::size_t bytes) { return tarn_realloc(p, bytes); }
  [[gnu::always_inline]] void deallocate_c(void* p) { tarn_free(p); }

  [[gnu::always_inline]] string make_string() { return {}; }
};

struct heap_front {
  static constexpr const char* name = "heap";
  static constexpr bool lets_any_thread_free = false;
  using string = std::pmr::string;

  tarn::heap heap;

  template <std::size_t Size>
  [[gnu::always_inline]] void* make() {
    return heap.allocate(Size);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void unmake(void* p) {
    heap.deallocate(p, Size);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void* create() {
    return make<Size>();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void destroy(void* p) {
    unmake<Size>(p);
  }

  [[gnu::always_inline]] void* allocate(std::size_t bytes) { return heap.allocate(bytes); }
  [[gnu::always_inline]] void deallocate(void* p, std::size_t bytes) { heap.deallocate(p, bytes); }
  [[gnu::always_inline]] void* allocate_aligned(std::size_t bytes, std::size_t align) {
    return heap.allocate(bytes, align);
  }
  [[gnu::always_inline]] void deallocate_aligned(void* p, std::size_t bytes, std::size_t align) {
    heap.deallocate(p, bytes, align);
  }
  [[gnu::always_inline]] void release() { heap.release(); }

  [[gnu::always_inline]] string make_string() { return string(&heap); }
};

}  // namespace bench
