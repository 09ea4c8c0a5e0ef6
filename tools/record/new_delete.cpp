// operator new and delete, in all their forms. C++ programs have them behind us; in one that has not (a C program
// that loads a C++ library privately) malloc and free stand in.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "record/events.hpp"
#include "record/filter.hpp"
#include "record/next.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using std::align_val_t;
using std::nothrow_t;
using std::size_t;
using namespace tarn::record;

namespace {

// A function behind us, looked up when it is first wanted.
template <class Function>
class operator_behind {
 public:
  constexpr explicit operator_behind(const char* name) noexcept : name_(name) {}
  Function* operator()() noexcept {
    void* known = function_.load(std::memory_order_relaxed);
    if (known == nullptr) [[unlikely]] {
      known = next_function(name_);
      function_.store(known, std::memory_order_relaxed);  // every thread finds the same
    }
    return reinterpret_cast<Function*>(known);
  }

 private:
  const char* name_;
  std::atomic<void*> function_ = nullptr;
};

// Whether the operators behind us call malloc and free, which count then (the C++ library's do), or allocate by
// themselves (a drop-in's do). The first operator new finds it out; every thread finds the same.
enum class way : int { unknown, by_malloc, by_itself };
constinit std::atomic<way> known_way = way::unknown;

std::uint64_t counted() noexcept {
  return own_counts == nullptr ? 0 : own_counts->allocations.load(std::memory_order_relaxed);
}

// After a first operator new, before which `before` blocks had been counted.
void find_way(void* block, std::size_t bytes, std::uint64_t before, const caller& from) noexcept {
  const bool was_counted = counted() != before;
  if (!was_counted) allocated(block, bytes, from, charged::no);
  if (own_counts == nullptr) return;  // nothing is counted here, or not yet
  known_way.store(was_counted ? way::by_malloc : way::by_itself, std::memory_order_relaxed);
}

void count_delete(const void* block) noexcept {
  if (own_counts == nullptr || may_be_known(block)) return freed(block);
  add(own_counts->frees, 1);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): declarations and argument lists
// One operator: its parameters, how it calls the one behind, and what stands in. Macros, as each has to find its
// caller's registers itself.
#define TARN_NEW(declared, symbol, type, arguments, stand_in)            \
  TARN_EXPORT void* declared {                                           \
    static constinit operator_behind<type> other(symbol);                \
    auto* const call = other();                                          \
    const way goes = known_way.load(std::memory_order_relaxed);          \
    if (goes == way::by_itself) {                                        \
      if (passes(n)) return call != nullptr ? call arguments : stand_in; \
      const charged how = is_charged();                                  \
      void* const block = call != nullptr ? call arguments : stand_in;   \
      allocated(block, n, TARN_CALLER(), how);                           \
      return block;                                                      \
    }                                                                    \
    const std::uint64_t before = counted();                              \
    void* const block = call != nullptr ? call arguments : stand_in;     \
    if (goes == way::unknown) [[unlikely]]                               \
      find_way(block, n, before, TARN_CALLER());                         \
    return block;                                                        \
  }
#define TARN_DELETE(declared, symbol, type, arguments)                                \
  TARN_EXPORT void declared noexcept {                                                \
    static constinit operator_behind<type> other(symbol);                             \
    auto* const call = other();                                                       \
    if (known_way.load(std::memory_order_relaxed) == way::by_itself) count_delete(p); \
    if (call != nullptr) {                                                            \
      call arguments;                                                                 \
    } else if (const allocator* const to = next()) {                                  \
      to->free(p);                                                                    \
    }                                                                                 \
  }

// NOLINTEND(bugprone-macro-parentheses)

// clang-format off
#define TARN_ALIGNED std::aligned_alloc(static_cast<size_t>(a), (n + static_cast<size_t>(a) - 1) / static_cast<size_t>(a) * static_cast<size_t>(a))
TARN_NEW(operator new(size_t n), "_Znwm", void*(size_t), (n), std::malloc(n))
TARN_NEW(operator new[](size_t n), "_Znam", void*(size_t), (n), std::malloc(n))
TARN_NEW(operator new(size_t n, const nothrow_t& t) noexcept, "_ZnwmRKSt9nothrow_t", void*(size_t, const nothrow_t&), (n, t), std::malloc(n))
TARN_NEW(operator new[](size_t n, const nothrow_t& t) noexcept, "_ZnamRKSt9nothrow_t", void*(size_t, const nothrow_t&), (n, t), std::malloc(n))
TARN_NEW(operator new(size_t n, align_val_t a), "_ZnwmSt11align_val_t", void*(size_t, align_val_t), (n, a), TARN_ALIGNED)
TARN_NEW(operator new[](size_t n, align_val_t a), "_ZnamSt11align_val_t", void*(size_t, align_val_t), (n, a), TARN_ALIGNED)
TARN_NEW(operator new(size_t n, align_val_t a, const nothrow_t& t) noexcept, "_ZnwmSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&), (n, a, t), TARN_ALIGNED)
TARN_NEW(operator new[](size_t n, align_val_t a, const nothrow_t& t) noexcept, "_ZnamSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&), (n, a, t), TARN_ALIGNED)

TARN_DELETE(operator delete(void* p), "_ZdlPv", void(void*), (p))
TARN_DELETE(operator delete[](void* p), "_ZdaPv", void(void*), (p))
TARN_DELETE(operator delete(void* p, const nothrow_t& t), "_ZdlPvRKSt9nothrow_t", void(void*, const nothrow_t&), (p, t))
TARN_DELETE(operator delete[](void* p, const nothrow_t& t), "_ZdaPvRKSt9nothrow_t", void(void*, const nothrow_t&), (p, t))
TARN_DELETE(operator delete(void* p, size_t n), "_ZdlPvm", void(void*, size_t), (p, n))
TARN_DELETE(operator delete[](void* p, size_t n), "_ZdaPvm", void(void*, size_t), (p, n))
TARN_DELETE(operator delete(void* p, align_val_t a), "_ZdlPvSt11align_val_t", void(void*, align_val_t), (p, a))
TARN_DELETE(operator delete[](void* p, align_val_t a), "_ZdaPvSt11align_val_t", void(void*, align_val_t), (p, a))
TARN_DELETE(operator delete(void* p, align_val_t a, const nothrow_t& t), "_ZdlPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&), (p, a, t))
TARN_DELETE(operator delete[](void* p, align_val_t a, const nothrow_t& t), "_ZdaPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&), (p, a, t))
TARN_DELETE(operator delete(void* p, size_t n, align_val_t a), "_ZdlPvmSt11align_val_t", void(void*, size_t, align_val_t), (p, n, a))
TARN_DELETE(operator delete[](void* p, size_t n, align_val_t a), "_ZdaPvmSt11align_val_t", void(void*, size_t, align_val_t), (p, n, a))
// clang-format on
