// Detects heap calls: this file defines malloc, new and related functions, and passes each call on to the allocator
// that the program would use without it (the C library, the drop-in or another one). The definitions are weak, so that
// a program may define its own. A linker takes malloc from any archive that defines it; therefore this file is in
// libtarn-quiet.a, which only programs with a quiet_region link, and only in builds with checks. A sanitizer has its
// own malloc with a hook.
#include "io/quiet_heap.hpp"

#if TARN_CHECKS

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/c_library.hpp"
#include "platform/call_watch.hpp"
#include "platform/sanitizer.hpp"

#if TARN_HAS_SANITIZER

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*)) __attribute__((weak));

#endif

namespace tarn::quiet_heap {

constinit thread_local bool is_heard = false;

namespace {

constinit std::atomic<heap_listener> listener = nullptr;
constinit thread_local bool was_here = false;

// Stops detection inside a heap call: its system calls, and the malloc in an operator new, are no violations.
class heard_call {
 public:
  heard_call(const char* name, const void* caller) noexcept : was_heard_(is_heard) {
    was_here = true;
    if (!was_heard_) return;
    is_heard = false;
    listener.load(std::memory_order_relaxed)(name, caller);
  }
  ~heard_call() { is_heard = was_heard_; }
  heard_call(const heard_call&) = delete;
  heard_call& operator=(const heard_call&) = delete;

 private:
  bool was_heard_;
  platform::unwatched quietly_;
};

}  // namespace

namespace {

void install_hooks() noexcept {
#if TARN_HAS_SANITIZER
  if (__sanitizer_install_malloc_and_free_hooks == nullptr) return;
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t) { const heard_call call("malloc", __builtin_return_address(0)); },
      [](const volatile void*) { const heard_call call("free", __builtin_return_address(0)); });
#endif
}

}  // namespace

void listen(heap_listener new_listener) noexcept { listener.store(new_listener, std::memory_order_relaxed); }

bool is_ours() noexcept {
  static const bool is_first = [] {
    install_hooks();
    was_here = false;
    void* volatile block = std::malloc(1);  // volatile: not to be left out
    std::free(block);
    return was_here;
  }();
  return is_first;
}

}  // namespace tarn::quiet_heap

#if !TARN_HAS_SANITIZER

namespace {

using tarn::quiet_heap::heard_call;

// Serves dlsym, which may allocate before the next allocator is known.
alignas(16) char early_blocks[4096];
std::size_t early_used = 0;
constinit thread_local bool is_looking = false;

void* early_block(std::size_t bytes) noexcept {
  if (bytes > sizeof early_blocks - early_used) std::abort();
  void* const block = early_blocks + early_used;
  early_used += (bytes + 15) / 16 * 16;
  return block;
}
bool is_early(const void* block) noexcept {
  return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(early_blocks) < sizeof early_blocks;
}

// The next allocator's function.
template <class Function>
Function* next(std::atomic<Function*>& cached, const char* name) noexcept {
  Function* looked_up = cached.load(std::memory_order_relaxed);
  if (looked_up == nullptr) {
    is_looking = true;
    looked_up = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    is_looking = false;
    if (looked_up == nullptr) {
      static constexpr char message[] = "tarn: a quiet region finds no malloc behind its own\n";
      (void)!::write(2, message, sizeof message - 1);
      std::abort();
    }
    cached.store(looked_up, std::memory_order_relaxed);
  }
  return looked_up;
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): parameters and arguments bring theirs
// Defines a function under its linker name and reports it as `label`. `except` is noexcept where the C library's
// declaration is.
#define TARN_HEARD(result, name, label, parameters, arguments, except)                    \
  extern "C" __attribute__((weak, visibility("default"))) result name parameters except { \
    static constinit std::atomic<result(*) parameters> looked_up = nullptr;               \
    const heard_call call(label, __builtin_return_address(0));                            \
    return next<result parameters>(looked_up, #name) arguments;                           \
  }
// NOLINTEND(bugprone-macro-parentheses)
#define TARN_NEW(name, label, parameters, arguments) TARN_HEARD(void*, name, "operator " label, parameters, arguments, )
#define TARN_DELETE(name, label, parameters, arguments) \
  TARN_HEARD(void, name, "operator " label, parameters, arguments, noexcept)

using size = std::size_t;

extern "C" __attribute__((weak, visibility("default"))) void* malloc(size bytes) TARN_LIBC_NOEXCEPT {
  static constinit std::atomic<void* (*)(size)> looked_up = nullptr;
  if (is_looking) return early_block(bytes);
  const heard_call call("malloc", __builtin_return_address(0));
  return next<void*(size)>(looked_up, "malloc")(bytes);
}

extern "C" __attribute__((weak, visibility("default"))) void* calloc(size count, size bytes) TARN_LIBC_NOEXCEPT {
  static constinit std::atomic<void* (*)(size, size)> looked_up = nullptr;
  if (is_looking) return early_block(count * bytes);
  const heard_call call("calloc", __builtin_return_address(0));
  return next<void*(size, size)>(looked_up, "calloc")(count, bytes);
}

extern "C" __attribute__((weak, visibility("default"))) void free(void* block) TARN_LIBC_NOEXCEPT {
  static constinit std::atomic<void (*)(void*)> looked_up = nullptr;
  if (block == nullptr || is_early(block)) return;
  const heard_call call("free", __builtin_return_address(0));
  next<void(void*)>(looked_up, "free")(block);
}

TARN_HEARD(void*, realloc, "realloc", (void* block, size bytes), (block, bytes), TARN_LIBC_NOEXCEPT)
TARN_HEARD(void*, aligned_alloc, "aligned_alloc", (size alignment, size bytes), (alignment, bytes), TARN_LIBC_NOEXCEPT)
TARN_HEARD(void*, memalign, "memalign", (size alignment, size bytes), (alignment, bytes), TARN_LIBC_NOEXCEPT)
TARN_HEARD(int, posix_memalign, "posix_memalign", (void** block, size alignment, size bytes), (block, alignment, bytes),
           TARN_LIBC_NOEXCEPT)

// operator new and delete under their names in the Itanium C++ ABI, so that dlsym can look them up. An alignment is
// passed on as a number, and std::nothrow as an address.
TARN_NEW(_Znwm, "new", (size bytes), (bytes))
TARN_NEW(_Znam, "new[]", (size bytes), (bytes))
TARN_NEW(_ZnwmRKSt9nothrow_t, "new", (size bytes, const void* tag), (bytes, tag))
TARN_NEW(_ZnamRKSt9nothrow_t, "new[]", (size bytes, const void* tag), (bytes, tag))
TARN_NEW(_ZnwmSt11align_val_t, "new", (size bytes, size alignment), (bytes, alignment))
TARN_NEW(_ZnamSt11align_val_t, "new[]", (size bytes, size alignment), (bytes, alignment))
TARN_DELETE(_ZdlPv, "delete", (void* block), (block))
TARN_DELETE(_ZdaPv, "delete[]", (void* block), (block))
TARN_DELETE(_ZdlPvm, "delete", (void* block, size bytes), (block, bytes))
TARN_DELETE(_ZdaPvm, "delete[]", (void* block, size bytes), (block, bytes))
TARN_DELETE(_ZdlPvSt11align_val_t, "delete", (void* block, size alignment), (block, alignment))
TARN_DELETE(_ZdaPvSt11align_val_t, "delete[]", (void* block, size alignment), (block, alignment))
TARN_DELETE(_ZdlPvmSt11align_val_t, "delete", (void* block, size bytes, size alignment), (block, bytes, alignment))
TARN_DELETE(_ZdaPvmSt11align_val_t, "delete[]", (void* block, size bytes, size alignment), (block, bytes, alignment))

#endif

#endif
