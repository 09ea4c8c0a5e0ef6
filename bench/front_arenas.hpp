// Arenas as columns. hold() begins a request and drop() ends it; make_string() begins a reply, which the string ends.
//   bump         a hand-written pointer in a register, without a limit: the lower bound for every arena
//   bump-end     the same in an object that checks its limit: the lower bound for an arena that can be full
//   arena        tarn::arena on a buffer, made and destroyed with each request
//   arena-reset  one tarn::arena for all requests, reset() after each
//   arena-heap   tarn::arena without a buffer, made and destroyed with each request: from the thread's heap
//   monotonic    std::pmr::monotonic_buffer_resource on the same buffer, made and destroyed with each request
//   monotonic-new  the same without a buffer
//   foonathan-stack  foonathan::memory::memory_stack<>, unwound after each request
//   tbb-recycle  tbb::memory_pool, recycle() after each request
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <tarn/arena.hpp>
#include <tarn/arena_string.hpp>

#include "work.hpp"

#if BENCH_FOONATHAN
#include <foonathan/memory/memory_stack.hpp>
#endif
#if BENCH_TBB
#define TBB_PREVIEW_MEMORY_POOL 1
#include <oneapi/tbb/memory_pool.h>
#endif

namespace bench {

inline constexpr std::size_t buffer_bytes = 256 * 1024;
alignas(64) inline std::byte buffer[buffer_bytes];

struct any_arena {
  static constexpr const char* family = "arena";
  static constexpr bool is_arena = true;
};

/// Takes the blocks of one request from an arena that outlives it; drop() releases them.
template <class From>
struct outliving_arena {
  From& source;
  [[gnu::always_inline]] void* allocate(std::size_t bytes) { return source.allocate(bytes); }
  [[gnu::always_inline]] void drop(std::span<void* const>) { source.release(); }
};
/// Takes the blocks of one request from an arena that is made and destroyed with it.
template <class From>
struct scoped_arena : From {
  using From::From;
  [[gnu::always_inline]] void drop(std::span<void* const>) {}
};

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; }

struct bump_front : any_arena {
  static constexpr const char* name = "bump";
  struct blocks {
    std::byte* top = buffer;
    [[gnu::always_inline]] void* allocate(std::size_t bytes) {
      std::byte* const block = top;
      top += rounded(bytes);
      return block;
    }
    [[gnu::always_inline]] void drop(std::span<void* const>) {}
  };
  [[gnu::always_inline]] blocks make_arena() { return {}; }

  struct string {
    char* top = reinterpret_cast<char*>(buffer);
    [[gnu::always_inline]] void append(const char* text, std::size_t bytes) {
      std::memcpy(top, text, bytes);
      top += bytes;
    }
    const char* data() const { return reinterpret_cast<const char*>(buffer); }
  };
  [[gnu::always_inline]] string make_string() { return {}; }
};

struct bounded_bump_front : any_arena {
  static constexpr const char* name = "bump-end";
  struct bump {
    std::byte *top = buffer, *end = buffer + buffer_bytes;
    [[gnu::always_inline]] void* allocate(std::size_t bytes) {
      bytes = rounded(bytes);
      if (bytes > static_cast<std::size_t>(end - top)) [[unlikely]]
        std::abort();
      std::byte* const block = top;
      top += bytes;
      return block;
    }
    [[gnu::always_inline]] void release() { top = buffer; }
  };
  bump arena;
  bump* resource = &arena;
  bounded_bump_front() { keep(resource); }
  [[gnu::always_inline]] outliving_arena<bump> make_arena() { return {*resource}; }
};

struct arena_text {
  tarn::arena_string page;
  explicit arena_text(tarn::arena& arena) : page(arena) {}
  [[gnu::always_inline]] void append(const char* text, std::size_t bytes) { page.append({text, bytes}); }
  const char* data() const { return page.data(); }
};

struct arena_front : any_arena {
  static constexpr const char* name = "arena";
  struct on_buffer : tarn::arena {
    on_buffer() : tarn::arena(std::span<std::byte>(buffer)) {}
  };
  [[gnu::always_inline]] scoped_arena<on_buffer> make_arena() { return {}; }
  struct string : on_buffer, arena_text {
    string() : arena_text(static_cast<on_buffer&>(*this)) {}
    using arena_text::append, arena_text::data;
  };
  [[gnu::always_inline]] string make_string() { return {}; }
};

struct kept_arena_front : any_arena {
  static constexpr const char* name = "arena-reset";
  struct resettable_arena : tarn::arena {
    [[gnu::always_inline]] void release() { reset(); }
  };
  resettable_arena arena;
  [[gnu::always_inline]] outliving_arena<resettable_arena> make_arena() { return {arena}; }
  using string = arena_text;
  [[gnu::always_inline]] string make_string() {
    arena.reset();
    return string(arena);
  }
};

struct heap_arena_front : any_arena {
  static constexpr const char* name = "arena-heap";
  [[gnu::always_inline]] scoped_arena<tarn::arena> make_arena() { return {}; }
  struct string : tarn::arena, arena_text {
    string() : arena_text(static_cast<tarn::arena&>(*this)) {}
    using arena_text::append, arena_text::data;
  };
  [[gnu::always_inline]] string make_string() { return {}; }
};

/// Holds a std::pmr::string together with its resource.
template <class Resource>
struct resource_text : Resource, std::pmr::string {
  resource_text() : std::pmr::string(static_cast<Resource*>(this)) {}
};

struct monotonic_front : any_arena {
  static constexpr const char* name = "monotonic";
  struct on_buffer : std::pmr::monotonic_buffer_resource {
    on_buffer() : std::pmr::monotonic_buffer_resource(buffer, buffer_bytes) {}
  };
  [[gnu::always_inline]] scoped_arena<on_buffer> make_arena() { return {}; }
  using string = resource_text<on_buffer>;
  [[gnu::always_inline]] string make_string() { return {}; }
};

struct fresh_monotonic_front : any_arena {
  static constexpr const char* name = "monotonic-new";
  [[gnu::always_inline]] scoped_arena<std::pmr::monotonic_buffer_resource> make_arena() { return {}; }
  using string = resource_text<std::pmr::monotonic_buffer_resource>;
  [[gnu::always_inline]] string make_string() { return {}; }
};

#if BENCH_FOONATHAN
struct foonathan_stack_front : any_arena {
  static constexpr const char* name = "foonathan-stack";
  using stack = foonathan::memory::memory_stack<>;
  struct blocks {
    stack& source;
    stack::marker begin = source.top();
    [[gnu::always_inline]] void* allocate(std::size_t bytes) { return source.allocate(bytes, 16); }
    [[gnu::always_inline]] void drop(std::span<void* const>) { source.unwind(begin); }
  };
  stack arena{buffer_bytes};
  [[gnu::always_inline]] blocks make_arena() { return {arena}; }
};
#endif

#if BENCH_TBB
struct tbb_arena_front : any_arena {
  static constexpr const char* name = "tbb-recycle";
  struct pool : tbb::memory_pool<std::allocator<std::byte>> {
    [[gnu::always_inline]] void* allocate(std::size_t bytes) { return malloc(bytes); }
    [[gnu::always_inline]] void release() { recycle(); }
  };
  pool arena;
  [[gnu::always_inline]] outliving_arena<pool> make_arena() { return {arena}; }
};
#endif

}  // namespace bench
