// operator new and delete, in all their forms. C++ programs have them behind us; in one that has not (a C program
// that loads a C++ library privately) malloc and free stand in.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "record/events.hpp"
#include "record/next.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using std::align_val_t;
using std::nothrow_t;
using std::size_t;
using namespace tarn::record;

namespace {

// A function behind us, looked up when it is first wanted.
template <class Function>
class behind {
 public:
  constexpr explicit behind(const char* name) noexcept : name_(name) {}
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

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): declarations and argument lists
// One operator: its parameters, how it calls the one behind, and what stands in. Macros, as each has to find its
// caller's registers itself.
#define TARN_NEW(declared, symbol, type, arguments, stand_in)        \
  TARN_EXPORT void* declared {                                       \
    static constinit behind<type> other(symbol);                     \
    auto* const call = other();                                      \
    void* const block = call != nullptr ? call arguments : stand_in; \
    allocated_by_operator(block, n, TARN_CALLER());                  \
    return block;                                                    \
  }
#define TARN_DELETE(declared, symbol, type, arguments) \
  TARN_EXPORT void declared noexcept {                 \
    static constinit behind<type> other(symbol);       \
    auto* const call = other();                        \
    deleting(p);                                       \
    if (call != nullptr) {                             \
      call arguments;                                  \
    } else if (const allocator* const to = next()) {   \
      to->free(p);                                     \
    }                                                  \
    deleted();                                         \
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
