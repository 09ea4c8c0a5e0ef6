// lab-heapdemo2: `threads` threads create and destroy an object of 1,024 bytes, `allocations` times each, as in
// listing 3 of "Improving Performance with Thread-Private Heaps", C/C++ Users Journal 9/1999. Unit: one object, in time
// of one processor.
//   malloc     without the base class: operator new, on the process's heap
//   one-lock   the same behind one lock
//   pooled     with the base class: tarn::pooled
//   class-pool a hand-written pool for each thread, in the class's operator new
//   recycle    the object kept in a cache for each thread, its 1,024 bytes with it
#include <mutex>
#include <tarn/pooled.hpp>
#include <tarn/recycle.hpp>

#include "bench/front_pools.hpp"
#include "together.hpp"

namespace {

using lab::outcome;
using lab::settings;

struct contents {
  char bytes[1024];
};

struct plain : contents {
  explicit plain(std::uint64_t value) { lab::mark(bytes, value); }
};

struct pooled : contents, tarn::pooled<pooled> {
  explicit pooled(std::uint64_t value) { lab::mark(bytes, value); }
};

struct locked : plain {
  using plain::plain;
  static void* operator new(std::size_t bytes) {
    const std::lock_guard hold(lock);
    return ::operator new(bytes);
  }
  static void operator delete(void* block) {
    const std::lock_guard hold(lock);
    ::operator delete(block);
  }
  static inline std::mutex lock;
};

struct with_pool : plain {
  using plain::plain;
  static void* operator new(std::size_t) { return blocks.take(); }
  static void operator delete(void* block) { blocks.give(block); }
  static inline thread_local bench::list_pool<sizeof(contents)> blocks;
};

template <class Object>
struct by_new {
  std::uint64_t operator()(std::uint64_t number) const {
    auto* object = new Object(number);
    lab::keep(object);
    const std::uint64_t value = lab::marked(object);
    delete object;
    return value;
  }
};

}  // namespace

template <>
struct tarn::recycling<contents> : tarn::default_recycling<contents> {
  static void reset(contents&) {}  // each use writes its bytes anew
};

namespace {

struct by_recycling {
  std::uint64_t operator()(std::uint64_t number) const {
    const auto object = tarn::recycle<contents>();
    lab::mark(object->bytes, number);
    return lab::marked(object->bytes);
  }
};

template <class Make>
outcome run(const settings& parameters) {
  const std::uint64_t threads = parameters["threads"];
  outcome result{.units = lab::units_of_a_core(parameters["allocations"], threads)};
  lab::repeat_together(static_cast<unsigned>(threads), parameters["allocations"], result,
                       [](unsigned, std::uint64_t repetitions) {
                         std::uint64_t sum = 0;
                         for (std::uint64_t number = 0; number < repetitions; ++number) sum += Make()(number);
                         return sum;
                       });
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "heapdemo2",
                      {{.name = "threads", .usual = 4, .maximum = 256}, {.name = "allocations", .usual = 200'000}},
                      {{"malloc", run<by_new<plain>>},
                       {"one-lock", run<by_new<locked>>},
                       {"class-pool", run<by_new<with_pool>>},
                       {"pooled", run<by_new<pooled>>},
                       {"recycle", run<by_recycling>}});
}
