// new, delete, and library code that allocates by them.
#include <sys/resource.h>
#include <deque>
#include <exception>
#include <future>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../cases.h"

// The aligned forms, plain, array and nothrow, with every matching delete.
//@ broken-by memalign_weak memalign_short
CASE(new_aligned) {
  for (std::size_t bytes = 1; bytes <= (2u << 20); bytes *= 2) {
    const std::align_val_t alignment{bytes};
    for (std::size_t size = 0; size < 3000000; size = size * 4 + 3) {
      void* p[4] = {::operator new(size, alignment), ::operator new[](size, alignment),
                    ::operator new(size, alignment, std::nothrow), ::operator new[](size, alignment, std::nothrow)};
      for (int i = 0; i < 4; ++i) {
        CHECK(p[i] != nullptr && is_aligned(p[i], bytes));
        memset(p[i], i + 1, size);
      }
      for (int i = 0; i < 4; ++i) {
        auto* bytes_of = static_cast<char*>(p[i]);
        CHECK(size == 0 || (bytes_of[0] == i + 1 && bytes_of[size - 1] == i + 1));
      }
      ::operator delete(p[0], alignment);
      ::operator delete[](p[1], alignment);
      ::operator delete(p[2], alignment, std::nothrow);
      ::operator delete[](p[3], alignment, std::nothrow);
    }
  }
  ::operator delete(nullptr, std::align_val_t{64});
  ::operator delete[](nullptr, std::align_val_t{64});
}

// Sizes that overflow when they are rounded up to the alignment are refused; libstdc++ 12 grants them.
//@ tarn-only
//@ broken-by memalign_overflow
CASE(new_aligned_overflow) {
  constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
  for (volatile std::size_t absurd : {limit, limit + 1, SIZE_MAX - 62, SIZE_MAX - 15, SIZE_MAX}) {
    CHECK(::operator new(absurd, std::align_val_t{64}, std::nothrow) == nullptr);
    CHECK(::operator new[](absurd, std::align_val_t{64}, std::nothrow) == nullptr);
    try {
      static_cast<void>(::operator new(absurd, std::align_val_t{4096}));
      CHECK(false);
    } catch (const std::bad_alloc&) {
    }
  }
}

static int calls = 0;

struct gave_up : std::bad_alloc {};

static void handler() {
  if (++calls % 3 == 0) throw gave_up{};
}

template <class Function>
static void handled(Function allocate) {
  calls = 0;
  try {
    allocate();
    CHECK(false);
  } catch (const gave_up&) {
    CHECK(calls == 3);
  }
}

// The new handler is called until it gives up; its exception passes through every throwing form.
//@ broken-by handler_ignored
CASE(new_handler) {
  volatile std::size_t absurd = static_cast<std::size_t>(PTRDIFF_MAX) + 1;
  CHECK(std::set_new_handler(handler) == nullptr);
  handled([&] { return ::operator new(absurd); });
  handled([&] { return ::operator new[](absurd); });
  handled([&] { return ::operator new(absurd, std::align_val_t{64}); });
  handled([&] { return ::operator new[](absurd, std::align_val_t{64}); });
  calls = 0;
  CHECK(::operator new(absurd, std::nothrow) == nullptr&& calls == 3);
  CHECK(::operator new[](absurd, std::nothrow) == nullptr&& calls == 6);
  CHECK(::operator new(absurd, std::align_val_t{64}, std::nothrow) == nullptr&& calls == 9);
  CHECK(std::set_new_handler(nullptr) == handler);
}

static void give_room() {
  ++calls;
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  std::set_new_handler(nullptr);
}

// A new handler that makes memory available lets the same request succeed.
//@ broken-by handler_ignored
CASE(new_handler_helps) {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = 200u << 20;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  std::set_new_handler(give_room);
  char* p = static_cast<char*>(::operator new(300u << 20));
  CHECK(calls == 1 && p != nullptr);
  p[0] = p[(300u << 20) - 1] = 1;
  ::operator delete(p);
}

// The nothrow forms give blocks, or null for absurd sizes, and have their own deletes.
//@ broken-by nothrow_throws malloc_short
CASE(new_nothrow) {
  for (std::size_t size = 0; size < 3000000; size = size * 2 + 1) {
    void* p = ::operator new(size, std::nothrow);
    void* q = ::operator new[](size, std::nothrow);
    CHECK(p != nullptr && q != nullptr && p != q);
    fill(p, size, 1);
    fill(q, size, 2);
    CHECK(is_filled(p, size, 1));
    ::operator delete(p, std::nothrow);
    ::operator delete[](q, std::nothrow);
  }
  constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
  for (volatile std::size_t absurd : {limit, limit + 1, SIZE_MAX - 15, SIZE_MAX}) {
    CHECK(::operator new(absurd, std::nothrow) == nullptr);
    CHECK(::operator new[](absurd, std::nothrow) == nullptr);
  }
}

// operator new and delete, alone and as arrays, all sizes: usable, aligned, apart.
//@ broken-by malloc_short malloc_odd malloc_overlap
CASE(new_plain) {
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t size = 1; size < 3000000; size = size * 9 / 8 + 1) {
    for (bool is_array : {false, true}) {
      char* p = static_cast<char*>(is_array ? ::operator new[](size) : ::operator new(size));
      CHECK(p != nullptr && is_aligned(p, size < 16 ? 8 : 16));
      fill(p, size, static_cast<unsigned>(size));
      blocks.emplace_back(p, size);
    }
  }
  bool is_array = false;
  for (auto [p, size] : blocks) {
    CHECK(is_filled(p, size, static_cast<unsigned>(size)));
    if (is_array) {
      ::operator delete[](p);
    } else {
      ::operator delete(p);
    }
    is_array = !is_array;
  }
  ::operator delete(nullptr);
  ::operator delete[](nullptr);
}

// operator new of no bytes gives a pointer of its own each time.
//@ broken-by zero_is_same new_zero_is_null
CASE(new_zero) {
  std::set<void*> blocks;
  for (int i = 0; i < 300; ++i) {
    void* p = i % 4 == 0   ? ::operator new(0)
              : i % 4 == 1 ? ::operator new[](0)
              : i % 4 == 2 ? ::operator new(0, std::nothrow)
                           : ::operator new(0, std::align_val_t{64});
    CHECK(p != nullptr && blocks.insert(p).second);
  }
  for (void* p : blocks) {
    free(p);  // one family: the drop-in's free takes blocks of operator new
  }
}

template <class Function>
static void throws(Function allocate) {
  try {
    allocate();
    CHECK(false);
  } catch (const std::bad_alloc& error) {
    CHECK(std::string(error.what()).find("bad_") != std::string::npos);
    std::vector<std::string> lines(100, std::string(100, 'm'));
    CHECK(lines[99][99] == 'm');
  }
}

// Without a handler the throwing forms throw bad_alloc, and allocation works in the catch block.
//@ broken-by new_returns_null
CASE(bad_alloc) {
  volatile std::size_t absurd = static_cast<std::size_t>(PTRDIFF_MAX) + 1;
  volatile std::size_t limit = PTRDIFF_MAX;
  for (int i = 0; i < 100; ++i) {
    throws([&] { return ::operator new(absurd); });
    throws([&] { return ::operator new(limit); });
    throws([&] { return ::operator new[](SIZE_MAX - absurd / 1024 / 1024 / 1024); });
    throws([&] { return ::operator new(absurd, std::align_val_t{64}); });
    throws([&] { return ::operator new[](absurd, std::align_val_t{4096}); });
    throws([&] { return new std::string[absurd / 8]; });
  }
}

static int alive = 0;

struct base {
  virtual ~base() { --alive; }
  base() { ++alive; }
};

struct derived : base {
  std::string text = std::string(200, 'd');
};

struct alignas(256) wide : base {
  wide() { CHECK(is_aligned(this, 256)); }
  char bytes[300] = {};
};

struct fails {
  std::string text = std::string(100, 'f');
  fails() {
    if (++constructed % 5 == 0) throw std::runtime_error("fifth");
  }
  static inline int constructed = 0;
};

// new and delete expressions: arrays with cookies, over-aligned and derived classes, exceptions.
//@ broken-by memalign_weak malloc_overlap
CASE(delete_expressions) {
  for (int count = 0; count < 300; ++count) {
    std::unique_ptr<base> object(new derived);
    std::unique_ptr<base> wide_object(new wide);
    std::unique_ptr<derived[]> objects(new derived[count]);
    std::unique_ptr<wide[]> wides(new wide[count % 20]);
    CHECK(alive == 2 + count + count % 20);
    try {
      std::unique_ptr<fails[]> failing(new fails[5]);
      CHECK(false);
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "fifth");
    }
  }
  CHECK(alive == 0);
}

// The sized forms, with and without alignment, with the right size: null and many sizes.
//@ broken-by sized_delete_crashes
CASE(delete_sized) {
  for (int round = 0; round < 50; ++round) {
    for (std::size_t size = 0; size < 3000000; size = size * 3 / 2 + 1) {
      ::operator delete(::operator new(size), size);
      ::operator delete[](::operator new[](size), size);
      ::operator delete(::operator new(size, std::nothrow), size);
      for (std::size_t bytes : {8, 16, 64, 512, 4096}) {
        const std::align_val_t alignment{bytes};
        ::operator delete(::operator new(size, alignment), size, alignment);
        ::operator delete[](::operator new[](size, alignment), size, alignment);
      }
    }
  }
  ::operator delete(nullptr, std::size_t{16});
  ::operator delete[](nullptr, std::size_t{16});
  ::operator delete(nullptr, std::size_t{16}, std::align_val_t{64});
  ::operator delete[](nullptr, std::size_t{16}, std::align_val_t{64});
}

// The right sizes pass the check of TARN_GUARD=1, too.
//@ env TARN_GUARD=1
//@ broken-by sized_delete_crashes
CASE(delete_sized_guarded) { case_delete_sized(argument_count, arguments); }

static std::size_t work(int seed) {
  std::map<int, std::string> tree;
  std::unordered_map<std::string, std::vector<int>> table;
  std::list<std::shared_ptr<std::string>> list;
  std::deque<std::string> queue;
  std::pmr::unsynchronized_pool_resource pool(std::pmr::new_delete_resource());
  std::pmr::map<int, std::pmr::string> pooled(&pool);
  std::size_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text(static_cast<std::size_t>((i * seed) % 300), 'a');
    tree[i * seed % 1009] = text;
    table[text].push_back(i);
    list.push_back(std::make_shared<std::string>(text));
    queue.push_front(text);
    pooled[i % 700] = text.c_str();
    if (i % 3 == 0) {
      sum += list.front()->size() + queue.back().size();
      list.pop_front();
      queue.pop_back();
    }
  }
  for (auto& [key, text] : tree) sum += text.size();
  for (auto& [key, text] : pooled) sum += text.size();
  for (auto& [text, numbers] : table) sum += numbers.size() * text.size();
  return sum;
}

// The standard library at work: containers, shared pointers, threads, futures, pmr resources.
//@ broken-by malloc_overlap malloc_short
CASE(containers) {
  const std::size_t expected = work(7) + work(11);
  auto a = std::async(std::launch::async, work, 7), b = std::async(std::launch::async, work, 11);
  CHECK(a.get() + b.get() == expected && expected > 100000);
}

// Exceptions thrown across threads and kept by exception_ptr outlive the thread that threw them.
//@ broken-by malloc_overlap
CASE(exceptions_under_load) {
  std::vector<std::exception_ptr> exceptions(64);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < exceptions.size(); ++i) {
      threads.emplace_back([&exceptions, i] {
        try {
          throw std::runtime_error(std::string(i + 50, 'e'));
        } catch (...) {
          exceptions[i] = std::current_exception();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (std::size_t i = 0; i < exceptions.size(); ++i) {
      try {
        std::rethrow_exception(exceptions[i]);
      } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()) == std::string(i + 50, 'e'));
      }
    }
  }
}
