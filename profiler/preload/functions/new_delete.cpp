// Wraps operator new and delete in all their forms. C++ programs have the next operators behind ours; in a C program
// that loads a C++ library privately, malloc and free stand in.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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

// The next operator behind ours. It is looked up before the program begins, as a look-up takes the loader's lock.
template <class Function>
class next_operator {
 public:
  constexpr explicit next_operator(const char* name) noexcept : name_(name) {}
  // The first call finds this; every thread finds the same value.
  std::atomic<memory_source> known_source = memory_source::unknown;
  // The operator is the C++ library's, which does nothing but call malloc or free.
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
// Tries one new and one delete that take each other's blocks; either may be missing.
template <class New, class Make, class Delete, class Drop>
void try_out(New& operator_new, Make make, Delete& operator_delete, Drop drop) noexcept {
  if (operator_new.current() == nullptr || !records_anything()) return;
  const hidden_thread hidden;
  void* block = nullptr;
  operator_new.known_source.store(source_of([&] { block = make(operator_new.current()); }), std::memory_order_relaxed);
  if (operator_delete.current() == nullptr || block == nullptr) return;
  operator_delete.known_source.store(source_of([&] { drop(operator_delete.current(), block); }),
                                     std::memory_order_relaxed);
}

bool is_in_library(const void* function) noexcept {
  bool is_known = false;
  for_each_module([&](const loaded_module& object, const dl_phdr_info& info) {
    const auto address = reinterpret_cast<std::uintptr_t>(function);
    if (address < object.low || address >= object.high || info.dlpi_name == nullptr) return;
    const char* const slash = std::strrchr(info.dlpi_name, '/');
    const char* const file = slash == nullptr ? info.dlpi_name : slash + 1;
    for (const char* const library : {"libstdc++.so", "libc++.so", "libc++abi.so"})
      is_known = is_known || std::strncmp(file, library, std::strlen(library)) == 0;
  });
  return is_known;
}
template <class Function>
void find_library(next_operator<Function>& tested) noexcept {
  tested.is_library_own.store(tested.known_source.load(std::memory_order_relaxed) == memory_source::hooked_malloc &&
                                  is_in_library(reinterpret_cast<const void*>(tested.current())),
                              std::memory_order_relaxed);
}

// Does what the C++ library's operator new does, without two calls: it counts a block that is not sampled and calls
// malloc. Returns null where the operator has to be called: another one, a sample, or no memory.
[[gnu::always_inline]] inline void* new_unsampled(const next_operator<void*(size_t)>& operator_new,
                                                  size_t bytes) noexcept {
  if (!operator_new.is_library_own.load(std::memory_order_relaxed)) return nullptr;
  if (bytes == 0) bytes = 1;
  if (auto* const counts = own_counts; counts != nullptr) [[likely]] {
    const std::int64_t left = counts->until_sample.load(std::memory_order_relaxed) - cost_of(bytes);
    if (left < 0) [[unlikely]]
      return nullptr;
    counts->until_sample.store(left, std::memory_order_relaxed);
    add(counts->allocations, 1);
  } else {
    if (!is_heap_ignored()) return nullptr;
    was_called = true;
    take_step();
  }
  return next_allocator.malloc(bytes);
}

// Does the same for operator delete and a block without a record. Returns false where the operator has to be called.
template <class Function>
[[gnu::always_inline]] inline bool delete_unsampled(const next_operator<Function>& operator_delete,
                                                    void* block) noexcept {
  if (!operator_delete.is_library_own.load(std::memory_order_relaxed) || may_have_record(block)) return false;
  if (auto* const counts = own_counts; counts != nullptr) [[likely]] {
    add(counts->frees, 1);
  } else {
    if (is_early(block) || !is_heap_ignored()) return false;
    was_called = true;
  }
  next_allocator.free(block);
  return true;
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
  if (own_counts == nullptr || may_have_record(block)) return count_free(block, caller);
  add(own_counts->frees, 1);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): declarations and argument lists
// Each macro defines one operator from its parameters, its call of the next one, and its stand-in. These are macros,
// as each operator has to find its caller's registers itself. Where malloc counts, the operator jumps to the next
// one; otherwise it jumps to the slow path, which then sees the operator's caller.
#define TARN_NEW(declared, name, parameters, symbol, type, arguments, stand_in, quick)               \
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
    if (void* const block = quick) return block;                                                     \
    auto* const call = next_##name.current();                                                        \
    if (call == nullptr ||                                                                           \
        (next_##name.known_source.load(std::memory_order_relaxed) != memory_source::hooked_malloc && \
         !is_heap_ignored())) [[unlikely]]                                                           \
      return name##_counted arguments;                                                               \
    return call arguments;                                                                           \
  }
#define TARN_DELETE(declared, name, parameters, symbol, type, arguments, quick)                                      \
  static constinit next_operator<type> next_##name(symbol);                                                          \
  [[gnu::constructor(101)]] static void find_##name() noexcept { next_##name.find(); }                               \
  [[gnu::noinline]] static void name##_counted parameters noexcept {                                                 \
    auto* const call = next_##name.find();                                                                           \
    was_called = true;                                                                                               \
    if (next_##name.known_source.load(std::memory_order_relaxed) == memory_source::own_memory) {                     \
      if (is_in_region()) count_heap_violation(TARN_CALLER());                                                       \
      count_delete(p, TARN_CALLER());                                                                                \
      const hidden_thread hidden; /* it may come to free */                                                          \
      if (call != nullptr) return call arguments;                                                                    \
    }                                                                                                                \
    if (call != nullptr) return call arguments;                                                                      \
    if (const allocator* const allocator = next()) allocator->free(p);                                               \
  }                                                                                                                  \
  TARN_EXPORT void declared noexcept {                                                                               \
    if (quick) return;                                                                                               \
    auto* const call = next_##name.current();                                                                        \
    if (call == nullptr || (next_##name.known_source.load(std::memory_order_relaxed) == memory_source::own_memory && \
                            !is_heap_ignored())) [[unlikely]]                                                        \
      return name##_counted arguments;                                                                               \
    return call arguments;                                                                                           \
  }

// NOLINTEND(bugprone-macro-parentheses)

// clang-format off
#define TARN_ALIGNED std::aligned_alloc(static_cast<size_t>(a), (n + static_cast<size_t>(a) - 1) / static_cast<size_t>(a) * static_cast<size_t>(a))
TARN_NEW(operator new(size_t n), new_1, (size_t n), "_Znwm", void*(size_t), (n), std::malloc(n), new_unsampled(next_new_1, n))
TARN_NEW(operator new[](size_t n), new_2, (size_t n), "_Znam", void*(size_t), (n), std::malloc(n), new_unsampled(next_new_2, n))
TARN_NEW(operator new(size_t n, const nothrow_t& t) noexcept, new_3, (size_t n, const nothrow_t& t) noexcept, "_ZnwmRKSt9nothrow_t", void*(size_t, const nothrow_t&), (n, t), std::malloc(n), nullptr)
TARN_NEW(operator new[](size_t n, const nothrow_t& t) noexcept, new_4, (size_t n, const nothrow_t& t) noexcept, "_ZnamRKSt9nothrow_t", void*(size_t, const nothrow_t&), (n, t), std::malloc(n), nullptr)
TARN_NEW(operator new(size_t n, align_val_t a), new_5, (size_t n, align_val_t a), "_ZnwmSt11align_val_t", void*(size_t, align_val_t), (n, a), TARN_ALIGNED, nullptr)
TARN_NEW(operator new[](size_t n, align_val_t a), new_6, (size_t n, align_val_t a), "_ZnamSt11align_val_t", void*(size_t, align_val_t), (n, a), TARN_ALIGNED, nullptr)
TARN_NEW(operator new(size_t n, align_val_t a, const nothrow_t& t) noexcept, new_7, (size_t n, align_val_t a, const nothrow_t& t) noexcept, "_ZnwmSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&), (n, a, t), TARN_ALIGNED, nullptr)
TARN_NEW(operator new[](size_t n, align_val_t a, const nothrow_t& t) noexcept, new_8, (size_t n, align_val_t a, const nothrow_t& t) noexcept, "_ZnamSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&), (n, a, t), TARN_ALIGNED, nullptr)

TARN_DELETE(operator delete(void* p), delete_1, (void* p), "_ZdlPv", void(void*), (p), delete_unsampled(next_delete_1, p))
TARN_DELETE(operator delete[](void* p), delete_2, (void* p), "_ZdaPv", void(void*), (p), delete_unsampled(next_delete_2, p))
TARN_DELETE(operator delete(void* p, const nothrow_t& t), delete_3, (void* p, const nothrow_t& t), "_ZdlPvRKSt9nothrow_t", void(void*, const nothrow_t&), (p, t), false)
TARN_DELETE(operator delete[](void* p, const nothrow_t& t), delete_4, (void* p, const nothrow_t& t), "_ZdaPvRKSt9nothrow_t", void(void*, const nothrow_t&), (p, t), false)
TARN_DELETE(operator delete(void* p, size_t n), delete_5, (void* p, size_t n), "_ZdlPvm", void(void*, size_t), (p, n), delete_unsampled(next_delete_5, p))
TARN_DELETE(operator delete[](void* p, size_t n), delete_6, (void* p, size_t n), "_ZdaPvm", void(void*, size_t), (p, n), delete_unsampled(next_delete_6, p))
TARN_DELETE(operator delete(void* p, align_val_t a), delete_7, (void* p, align_val_t a), "_ZdlPvSt11align_val_t", void(void*, align_val_t), (p, a), false)
TARN_DELETE(operator delete[](void* p, align_val_t a), delete_8, (void* p, align_val_t a), "_ZdaPvSt11align_val_t", void(void*, align_val_t), (p, a), false)
TARN_DELETE(operator delete(void* p, align_val_t a, const nothrow_t& t), delete_9, (void* p, align_val_t a, const nothrow_t& t), "_ZdlPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&), (p, a, t), false)
TARN_DELETE(operator delete[](void* p, align_val_t a, const nothrow_t& t), delete_10, (void* p, align_val_t a, const nothrow_t& t), "_ZdaPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&), (p, a, t), false)
TARN_DELETE(operator delete(void* p, size_t n, align_val_t a), delete_11, (void* p, size_t n, align_val_t a), "_ZdlPvmSt11align_val_t", void(void*, size_t, align_val_t), (p, n, a), false)
TARN_DELETE(operator delete[](void* p, size_t n, align_val_t a), delete_12, (void* p, size_t n, align_val_t a), "_ZdaPvmSt11align_val_t", void(void*, size_t, align_val_t), (p, n, a), false)
// clang-format on

namespace tarn::preload {

// Runs before the program's own constructors.
[[gnu::constructor(102)]] void try_operators_out() noexcept {
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
  try_out(next_new_1, plain, next_delete_1, drop);
  try_out(next_new_2, plain, next_delete_2, drop);
  try_out(next_new_3, quiet, next_delete_3, drop_quietly);
  try_out(next_new_4, quiet, next_delete_4, drop_quietly);
  try_out(next_new_1, plain, next_delete_5, drop_sized);
  try_out(next_new_2, plain, next_delete_6, drop_sized);
  try_out(next_new_5, aligned, next_delete_7, drop_aligned);
  try_out(next_new_6, aligned, next_delete_8, drop_aligned);
  try_out(next_new_7, quiet_aligned, next_delete_9, drop_quietly_aligned);
  try_out(next_new_8, quiet_aligned, next_delete_10, drop_quietly_aligned);
  try_out(next_new_5, aligned, next_delete_11, drop_sized_aligned);
  try_out(next_new_6, aligned, next_delete_12, drop_sized_aligned);
  find_library(next_new_1);
  find_library(next_new_2);
  find_library(next_delete_1);
  find_library(next_delete_2);
  find_library(next_delete_5);
  find_library(next_delete_6);
}

}  // namespace tarn::preload
