// Wraps operator new and delete in all their forms. C++ programs have the next operators behind ours; in a C program
// that loads a C++ library privately, malloc and free stand in.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "profiler/preload/base/filter.hpp"
#include "profiler/preload/base/loaded_module.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/events.hpp"
#include "profiler/preload/functions/fast.hpp"
#include "profiler/preload/live_blocks.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using std::align_val_t;
using std::nothrow_t;
using std::size_t;
using namespace tarn::preload;

namespace {

// Tells where the next operator gets its memory. `hooked_malloc`: it calls malloc or free (as the C++ library's does),
// or another operator, which is ours (as an array's or a sized one often does), and that call is counted. `own_memory`:
// it calls neither (as a drop-in's does not).
enum class memory_source : int { unknown, hooked_malloc, own_memory };

// Counts a block that is not sampled, and for which malloc is called in place of an operator. Returns false where the
// operator has to be called.
[[gnu::always_inline]] inline bool count_without_operator(size_t bytes) noexcept {
  if (auto* const counts = current_counts(); counts != nullptr) [[likely]] {
    const std::int64_t left = counts->until_sample.load(std::memory_order_relaxed) - cost_of(bytes);
    if (left < 0) [[unlikely]]
      return false;
    counts->until_sample.store(left, std::memory_order_relaxed);
    add(counts->allocations, 1);
    return true;
  }
  if (!is_heap_ignored()) return false;
  was_called = true;
  take_step();
  return true;
}
// Does the same for the free of a block without a record.
[[gnu::always_inline]] inline bool count_free_without_operator(const void* block) noexcept {
  if (may_have_record(block)) return false;
  if (auto* const counts = current_counts(); counts != nullptr) [[likely]] {
    add(counts->frees, 1);
    return true;
  }
  if (is_early(block) || !is_heap_ignored()) return false;
  was_called = true;
  return true;
}

// The next operator behind ours. It is looked up before the program begins, as a look-up takes the loader's lock.
template <class Function>
class next_operator {
 public:
  constexpr explicit next_operator(const char* name) noexcept : name_(name) {}
  // The first call finds this; every thread finds the same value.
  std::atomic<memory_source> known_source = memory_source::unknown;
  // The operator does nothing but call malloc or free: it is the C++ library's, and so are those that it calls.
  std::atomic<bool> is_library_own = false;
  // Returns null before find(), and where no library defines the operator.
  Function* current() const noexcept { return reinterpret_cast<Function*>(function_.load(std::memory_order_relaxed)); }
  // Returns null where no library defines the operator.
  Function* find() noexcept {
    if (!is_looked_up_.load(std::memory_order_acquire)) {
      function_.store(next_function(name_), std::memory_order_relaxed);  // every thread finds the same
      is_looked_up_.store(true, std::memory_order_release);  // release: a thread that sees it sees the function
    }
    return current();
  }

  // These do what the C++ library's operators do, without two calls: they count a block that is not sampled, and call
  // malloc. They return null where the operator has to be called: another one, a sample, or no memory.
  [[gnu::always_inline]] void* new_unsampled(size_t bytes) const noexcept {
    if (bytes == 0) bytes = 1;
    if (!is_library_own.load(std::memory_order_relaxed) || !count_without_operator(bytes)) return nullptr;
    return next_allocator.malloc(bytes);
  }
  [[gnu::always_inline]] void* new_unsampled(size_t bytes, align_val_t alignment) const noexcept {
    const auto aligned = static_cast<size_t>(alignment);
    if (!is_library_own.load(std::memory_order_relaxed) || !std::has_single_bit(aligned)) return nullptr;
    const size_t rounded = (bytes + (bytes == 0) + aligned - 1) & ~(aligned - 1);
    if (rounded < bytes || !count_without_operator(rounded)) return nullptr;
    return next_allocator.aligned_alloc(aligned, rounded);
  }
  [[gnu::always_inline]] void* new_unsampled(size_t bytes, const nothrow_t&) const noexcept {
    return new_unsampled(bytes);
  }
  [[gnu::always_inline]] void* new_unsampled(size_t bytes, align_val_t alignment, const nothrow_t&) const noexcept {
    return new_unsampled(bytes, alignment);
  }
  // Does the same for any operator delete and a block without a record. Returns false where it has to be called.
  template <class... Ignored>
  [[gnu::always_inline]] bool delete_unsampled(void* block, const Ignored&...) const noexcept {
    if (!is_library_own.load(std::memory_order_relaxed) || !count_free_without_operator(block)) return false;
    next_allocator.free(block);
    return true;
  }

 private:
  const char* name_;
  std::atomic<void*> function_ = nullptr;
  std::atomic<bool> is_looked_up_ = false;
};

std::uint64_t allocations_so_far() noexcept {
  return known_counts == nullptr ? 0 : known_counts->allocations.load(std::memory_order_relaxed);
}

// Returns `hooked_malloc` when `call` calls a function of ours that counts.
template <class Call>
memory_source source_of(Call call) noexcept {
  was_called = false;
  call();
  return was_called ? memory_source::hooked_malloc : memory_source::own_memory;
}

// The addresses of the C++ library: of one file, or of libc++'s two.
struct address_range {
  std::uintptr_t low, high;
};
constinit address_range library_ranges[2] = {};

void find_library() noexcept {
  std::size_t count = 0;
  for_each_module([&](const loaded_module& object, const dl_phdr_info& info) {
    if (info.dlpi_name == nullptr || count == std::size(library_ranges)) return;
    const char* const slash = std::strrchr(info.dlpi_name, '/');
    const char* const file = slash == nullptr ? info.dlpi_name : slash + 1;
    for (const char* const library : {"libstdc++.so", "libc++.so", "libc++abi.so"}) {
      if (std::strncmp(file, library, std::strlen(library)) == 0) library_ranges[count++] = {object.low, object.high};
    }
  });
}
bool is_in_library(const void* function) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return std::any_of(std::begin(library_ranges), std::end(library_ranges),
                     [&](const address_range& range) { return address >= range.low && address < range.high; });
}

// Returns true if the operators that the C++ library's others call are its own: neither the program's nor a drop-in's.
bool are_library_operators() noexcept {
  for (const char* const name : {"_Znwm", "_Znam", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZdlPv", "_ZdaPv",
                                 "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t"}) {
    const void* const function = program_function(name);
    if (function != nullptr && !is_in_library(function)) return false;
  }
  return true;
}

// Finds the sources of one new and one delete that take each other's blocks; either may be missing. Tries them out,
// except the C++ library's where a program has replaced some of those that they call: a block of the library's new
// would then go to the program's delete, which may expect a head before it.
template <class New, class Make, class Delete, class Drop>
void find_sources(bool has_library_operators, New& operator_new, Make make, Delete& operator_delete,
                  Drop drop) noexcept {
  const auto is_library = [](const auto& tested) {
    return is_in_library(reinterpret_cast<const void*>(tested.current()));
  };
  const bool is_new_library = is_library(operator_new), is_delete_library = is_library(operator_delete);
  if (!has_library_operators && (is_new_library || is_delete_library)) {
    if (is_new_library) operator_new.known_source.store(memory_source::hooked_malloc, std::memory_order_relaxed);
    if (is_delete_library) operator_delete.known_source.store(memory_source::hooked_malloc, std::memory_order_relaxed);
    return;
  }
  if (operator_new.current() == nullptr || !records_anything()) return;
  const hidden_thread hidden;
  void* block = nullptr;
  operator_new.known_source.store(source_of([&] { block = make(operator_new.current()); }), std::memory_order_relaxed);
  if (operator_delete.current() != nullptr && block != nullptr) {
    operator_delete.known_source.store(source_of([&] { drop(operator_delete.current(), block); }),
                                       std::memory_order_relaxed);
  }
  const auto note_library = [](auto& tested, bool is_in_library) {
    const bool is_hooked = tested.known_source.load(std::memory_order_relaxed) == memory_source::hooked_malloc;
    tested.is_library_own.store(is_hooked && is_in_library && next_allocator.aligned_alloc != nullptr,
                                std::memory_order_relaxed);
  };
  note_library(operator_new, is_new_library);
  note_library(operator_delete, is_delete_library);
}

// Finds the source after a first operator new, before which `before` blocks had been counted.
void find_source(std::atomic<memory_source>& known_source, void* block, std::size_t bytes, std::uint64_t before,
                 const caller& caller) noexcept {
  const bool was_counted = allocations_so_far() != before;
  if (!was_counted) count_allocation(block, bytes, caller, cost_state::pending);
  if (known_counts == nullptr) return;  // nothing is counted here, or not yet
  known_source.store(was_counted ? memory_source::hooked_malloc : memory_source::own_memory, std::memory_order_relaxed);
}

// Returns true when an operator that allocates by itself has passed this call on to malloc, which has counted it.
// With sampling it is only known that something was counted.
bool came_from_malloc(const void* block, std::uint64_t before) noexcept {
  return allocations_so_far() != before && (header().interval != 0 || live_blocks::contains(block));
}

void count_delete(const void* block, const caller& caller) noexcept {
  auto* const counts = current_counts();
  if (counts == nullptr || may_have_record(block)) return count_free(block, caller);
  add(counts->frees, 1);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): declarations and argument lists
// Each macro defines one operator from its parameters, its call of the next one, and its stand-in. These are macros,
// as each operator has to find its caller's registers itself. Where malloc counts, the operator jumps to the next
// one; otherwise it jumps to the slow path, which then sees the operator's caller.
#define TARN_NEW(declared, name, parameters, symbol, type, arguments, stand_in)                      \
  static constinit next_operator<type> next_##name(symbol);                                          \
  [[gnu::constructor(101)]] static void find_##name() noexcept { next_##name.find(); }               \
  [[gnu::noinline]] static void* name##_counted parameters {                                         \
    auto* const call = next_##name.find();                                                           \
    was_called = true;                                                                               \
    if (next_##name.known_source.load(std::memory_order_relaxed) == memory_source::own_memory) {     \
      const std::uint64_t before = allocations_so_far();                                             \
      void* const block = call != nullptr ? call arguments : stand_in;                               \
      if (!came_from_malloc(block, before) && !count_unsampled(n))                                   \
        count_allocation(block, n, TARN_CALLER(), current_cost_state());                             \
      return block;                                                                                  \
    }                                                                                                \
    const std::uint64_t before = allocations_so_far();                                               \
    void* const block = call != nullptr ? call arguments : stand_in;                                 \
    find_source(next_##name.known_source, block, n, before, TARN_CALLER());                          \
    return block;                                                                                    \
  }                                                                                                  \
  TARN_EXPORT void* declared {                                                                       \
    if (void* const block = next_##name.new_unsampled arguments) return block;                       \
    auto* const call = next_##name.current();                                                        \
    if (call == nullptr ||                                                                           \
        (next_##name.known_source.load(std::memory_order_relaxed) != memory_source::hooked_malloc && \
         !is_heap_ignored())) [[unlikely]]                                                           \
      return name##_counted arguments;                                                               \
    return call arguments;                                                                           \
  }
#define TARN_DELETE(declared, name, parameters, symbol, type, arguments)                                             \
  static constinit next_operator<type> next_##name(symbol);                                                          \
  [[gnu::constructor(101)]] static void find_##name() noexcept { next_##name.find(); }                               \
  [[gnu::noinline]] static void name##_counted parameters noexcept {                                                 \
    auto* const call = next_##name.find();                                                                           \
    was_called = true;                                                                                               \
    if (next_##name.known_source.load(std::memory_order_relaxed) == memory_source::own_memory) {                     \
      if (is_in_region()) count_heap_violation(TARN_CALLER());                                                       \
      count_delete(p, TARN_CALLER());                                                                                \
      const hidden_heap hidden; /* it may come to free */                                                            \
      if (call != nullptr) return call arguments;                                                                    \
    }                                                                                                                \
    if (call != nullptr) return call arguments;                                                                      \
    if (const allocator* const allocator = next()) allocator->free(p);                                               \
  }                                                                                                                  \
  TARN_EXPORT void declared noexcept {                                                                               \
    if (next_##name.delete_unsampled arguments) return;                                                              \
    auto* const call = next_##name.current();                                                                        \
    if (call == nullptr || (next_##name.known_source.load(std::memory_order_relaxed) == memory_source::own_memory && \
                            !is_heap_ignored())) [[unlikely]]                                                        \
      return name##_counted arguments;                                                                               \
    return call arguments;                                                                                           \
  }

// NOLINTEND(bugprone-macro-parentheses)

// clang-format off
#define TARN_ALIGNED std::aligned_alloc(static_cast<size_t>(a), (n + static_cast<size_t>(a) - 1) / static_cast<size_t>(a) * static_cast<size_t>(a))
TARN_NEW(operator new(size_t n), new_1, (size_t n), "_Znwm", void*(size_t), (n), std::malloc(n))
TARN_NEW(operator new[](size_t n), new_2, (size_t n), "_Znam", void*(size_t), (n), std::malloc(n))
TARN_NEW(operator new(size_t n, const nothrow_t& t) noexcept, new_3, (size_t n, const nothrow_t& t) noexcept, "_ZnwmRKSt9nothrow_t", void*(size_t, const nothrow_t&), (n, t), std::malloc(n))
TARN_NEW(operator new[](size_t n, const nothrow_t& t) noexcept, new_4, (size_t n, const nothrow_t& t) noexcept, "_ZnamRKSt9nothrow_t", void*(size_t, const nothrow_t&), (n, t), std::malloc(n))
TARN_NEW(operator new(size_t n, align_val_t a), new_5, (size_t n, align_val_t a), "_ZnwmSt11align_val_t", void*(size_t, align_val_t), (n, a), TARN_ALIGNED)
TARN_NEW(operator new[](size_t n, align_val_t a), new_6, (size_t n, align_val_t a), "_ZnamSt11align_val_t", void*(size_t, align_val_t), (n, a), TARN_ALIGNED)
TARN_NEW(operator new(size_t n, align_val_t a, const nothrow_t& t) noexcept, new_7, (size_t n, align_val_t a, const nothrow_t& t) noexcept, "_ZnwmSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&), (n, a, t), TARN_ALIGNED)
TARN_NEW(operator new[](size_t n, align_val_t a, const nothrow_t& t) noexcept, new_8, (size_t n, align_val_t a, const nothrow_t& t) noexcept, "_ZnamSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&), (n, a, t), TARN_ALIGNED)

TARN_DELETE(operator delete(void* p), delete_1, (void* p), "_ZdlPv", void(void*), (p))
TARN_DELETE(operator delete[](void* p), delete_2, (void* p), "_ZdaPv", void(void*), (p))
TARN_DELETE(operator delete(void* p, const nothrow_t& t), delete_3, (void* p, const nothrow_t& t), "_ZdlPvRKSt9nothrow_t", void(void*, const nothrow_t&), (p, t))
TARN_DELETE(operator delete[](void* p, const nothrow_t& t), delete_4, (void* p, const nothrow_t& t), "_ZdaPvRKSt9nothrow_t", void(void*, const nothrow_t&), (p, t))
TARN_DELETE(operator delete(void* p, size_t n), delete_5, (void* p, size_t n), "_ZdlPvm", void(void*, size_t), (p, n))
TARN_DELETE(operator delete[](void* p, size_t n), delete_6, (void* p, size_t n), "_ZdaPvm", void(void*, size_t), (p, n))
TARN_DELETE(operator delete(void* p, align_val_t a), delete_7, (void* p, align_val_t a), "_ZdlPvSt11align_val_t", void(void*, align_val_t), (p, a))
TARN_DELETE(operator delete[](void* p, align_val_t a), delete_8, (void* p, align_val_t a), "_ZdaPvSt11align_val_t", void(void*, align_val_t), (p, a))
TARN_DELETE(operator delete(void* p, align_val_t a, const nothrow_t& t), delete_9, (void* p, align_val_t a, const nothrow_t& t), "_ZdlPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&), (p, a, t))
TARN_DELETE(operator delete[](void* p, align_val_t a, const nothrow_t& t), delete_10, (void* p, align_val_t a, const nothrow_t& t), "_ZdaPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&), (p, a, t))
TARN_DELETE(operator delete(void* p, size_t n, align_val_t a), delete_11, (void* p, size_t n, align_val_t a), "_ZdlPvmSt11align_val_t", void(void*, size_t, align_val_t), (p, n, a))
TARN_DELETE(operator delete[](void* p, size_t n, align_val_t a), delete_12, (void* p, size_t n, align_val_t a), "_ZdaPvmSt11align_val_t", void(void*, size_t, align_val_t), (p, n, a))
// clang-format on

namespace tarn::preload {

// Runs before the program's own constructors.
[[gnu::constructor(102)]] void find_operators() noexcept {
  constexpr align_val_t a{32};
  const nothrow_t t{};
  const auto plain = [](auto* call) { return call(1); };
  const auto quiet = [&](auto* call) { return call(1, t); };
  const auto aligned = [](auto* call) { return call(1, a); };
  const auto quiet_aligned = [&](auto* call) { return call(1, a, t); };
  const auto drop = [](auto* call, void* p) { call(p); };
  const auto drop_quietly = [&](auto* call, void* p) { call(p, t); };
  const auto drop_sized = [](auto* call, void* p) { call(p, 1); };
  const auto drop_aligned = [](auto* call, void* p) { call(p, a); };
  const auto drop_quietly_aligned = [&](auto* call, void* p) { call(p, a, t); };
  const auto drop_sized_aligned = [](auto* call, void* p) { call(p, 1, a); };
  find_library();
  const bool has_library_operators = are_library_operators();
  find_sources(has_library_operators, next_new_1, plain, next_delete_1, drop);
  find_sources(has_library_operators, next_new_2, plain, next_delete_2, drop);
  find_sources(has_library_operators, next_new_3, quiet, next_delete_3, drop_quietly);
  find_sources(has_library_operators, next_new_4, quiet, next_delete_4, drop_quietly);
  find_sources(has_library_operators, next_new_1, plain, next_delete_5, drop_sized);
  find_sources(has_library_operators, next_new_2, plain, next_delete_6, drop_sized);
  find_sources(has_library_operators, next_new_5, aligned, next_delete_7, drop_aligned);
  find_sources(has_library_operators, next_new_6, aligned, next_delete_8, drop_aligned);
  find_sources(has_library_operators, next_new_7, quiet_aligned, next_delete_9, drop_quietly_aligned);
  find_sources(has_library_operators, next_new_8, quiet_aligned, next_delete_10, drop_quietly_aligned);
  find_sources(has_library_operators, next_new_5, aligned, next_delete_11, drop_sized_aligned);
  find_sources(has_library_operators, next_new_6, aligned, next_delete_12, drop_sized_aligned);
}

}  // namespace tarn::preload
