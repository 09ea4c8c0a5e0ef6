// The C library's malloc with one thing broken: MALLOC_BREAK names it. Each program of conformance/ and nasty/ must
// fail under the breaks that it names (broken-by), which shows that it can fail at all.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

const char* broken = nullptr;  // null until the constructor below ran

bool is_broken(const char* name) { return broken != nullptr && strcmp(broken, name) == 0; }

constexpr size_t limit = PTRDIFF_MAX;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pid_t home = 0;
bool is_closed = false;
thread_local int thread_is_over __attribute__((tls_model("initial-exec"))) = 0;
thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;
thread_local void* last_given __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local pid_t thread_number __attribute__((tls_model("initial-exec"))) = 0;
// Breaks dlopen after another library took its share of the static block; harmless when preloaded.
thread_local char room[1000] __attribute__((tls_model("initial-exec"), __used__));
pthread_key_t over_key;

void thread_ends(void* blocks) {
  thread_is_over = 1;
  if (is_broken("thread_leak")) memset(__libc_malloc(30000), 1, 30000);
  if (is_broken("orphan_lost") && blocks != nullptr) memset(blocks, 0xdd, 64);
}

extern "C" void run_at_quick_exit() { is_closed = true; }

struct guard {
  guard() {
    if (is_broken("fork_deadlock_handlers")) {
      pthread_mutex_lock(&lock);
      has_locked = true;
    }
    if (is_broken("fork_deadlock") || is_broken("stats_deadlock")) {
      pthread_mutex_lock(&lock);
      has_locked = true;
    }
  }
  ~guard() {
    if (has_locked) pthread_mutex_unlock(&lock);
  }
  bool has_locked = false;
};

void use_stack() {
  volatile char frame[20000];
  for (size_t i = 0; i < sizeof frame; i += 512) frame[i] = 1;
}

void every_call() {
  if (is_broken("cancel_point")) pthread_testcancel();
  if (is_broken("big_stack")) use_stack();
  if (is_broken("exit_closed") && is_closed) abort();
  if (is_broken("quick_exit_closed") && is_closed) abort();
  if (is_broken("needs_environment") && getenv("PATH") == nullptr) abort();
  if (is_broken("clears_errno")) errno = 0;
  if (is_broken("blocks_signals")) {
    sigset_t signals;
    sigfillset(&signals);
    pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  }
  if (is_broken("installs_handler")) signal(SIGPROF, SIG_IGN);
  if (is_broken("uses_break")) memset(static_cast<char*>(sbrk(0)) - 64, 0, 64);
  static bool has_opened = false;
  if (is_broken("opens_fd") && !has_opened) has_opened = open("/dev/null", O_RDONLY) >= 0;
  if (is_broken("needs_fd")) {
    const int file = open("/dev/null", O_RDONLY);
    if (file < 0) abort();
    close(file);
  }
  if (is_broken("needs_key") && depth++ == 0) {
    pthread_key_t key;
    if (pthread_key_create(&key, nullptr) != 0) abort();
    pthread_key_delete(key);
  }
  if (is_broken("fails_on_eintr") && depth++ % 64 == 0) {
    if (usleep(20) != 0 && errno == EINTR) abort();
  }
  if (is_broken("catches_abort")) signal(SIGABRT, [](int) { _exit(0); });
  if (is_broken("knows_thread_by_id")) {
    if (thread_number == 0) thread_number = gettid();
    if (thread_number != gettid()) abort();
  }
  static int calls = 0;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == 600) {
    if (is_broken("exit_closed")) atexit([] { is_closed = true; });
    if (is_broken("quick_exit_closed")) at_quick_exit(run_at_quick_exit);
  }
}

void* refuse() {
  errno = is_broken("no_errno") ? 0 : ENOMEM;
  return nullptr;
}

// Returns the size to ask the C library for, if the break changes sizes.
size_t adjust_size(size_t size) {
  if (is_broken("malloc_short")) return size / 2;
  return size;
}

void* shifted(void* p) { return is_broken("malloc_odd") && p != nullptr ? static_cast<char*>(p) + 4 : p; }
void* unshifted(void* p) {
  return is_broken("malloc_odd") && (reinterpret_cast<uintptr_t>(p) & 15) == 4 ? static_cast<char*>(p) - 4 : p;
}

void* memory_of(size_t alignment, size_t size) {
  if (size > limit && !is_broken("memalign_overflow")) return refuse();
  if (is_broken("memalign_weak") && alignment > 16) {
    char* p = static_cast<char*>(__libc_memalign(alignment, size + alignment / 2));
    return p == nullptr ? refuse() : p + 16;
  }
  if (is_broken("memalign_overflow") && size > limit) size = 64;
  if (is_broken("memalign_short")) size /= 2;
  void* p = __libc_memalign(alignment, size);
  if (p == nullptr && errno != EINVAL) return refuse();
  if (is_broken("memalign_not_freeable")) return static_cast<char*>(p) + 64;
  return p;
}

}  // namespace

__attribute__((constructor)) static void begin() {
  const char* name = getenv("MALLOC_BREAK");
  home = getpid();
  broken = name;
  pthread_key_create(&over_key, thread_ends);
  if (is_broken("starts_thread")) {
    pthread_t thread;
    pthread_create(
        &thread, nullptr, [](void*) -> void* { return reinterpret_cast<void*>(static_cast<intptr_t>(pause())); },
        nullptr);
  }
  if (is_broken("reserves_much")) {
    if (mmap(nullptr, 200u << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) abort();
  }
  if (is_broken("trim_nothing")) mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

extern "C" {

void* malloc(size_t size) {
  every_call();
  const guard scope;
  static bool has_failed = false;
  if (is_broken("early_fail") && size > 1000000 && !has_failed) {
    has_failed = true;
    return nullptr;
  }
  static bool has_registered = false;
  if (is_broken("fork_deadlock_handlers") && size == 777 && !has_registered) {
    has_registered = true;  // after the program's handlers, so that its prepare runs under our lock
    pthread_atfork([] { pthread_mutex_lock(&lock); }, [] { pthread_mutex_unlock(&lock); },
                   [] { pthread_mutex_unlock(&lock); });
  }
  if (is_broken("tls_dead")) {
    if (thread_is_over) abort();
    if (pthread_getspecific(over_key) == nullptr && depth++ == 0) pthread_setspecific(over_key, &depth);
  }
  if (is_broken("thread_leak") && depth++ == 0) pthread_setspecific(over_key, &depth);
  if (is_broken("zero_is_null") && size == 0) return nullptr;
  static char nothing[16];
  if (is_broken("zero_is_same") && size == 0) return nothing;
  if (size > limit) return is_broken("ptrdiff_granted") ? __libc_malloc(16) : refuse();
  if (is_broken("malloc_overlap") && size > 64) {
    static thread_local int count __attribute__((tls_model("initial-exec"))) = 0;
    void* p = __libc_malloc(size);
    if (p != nullptr && ++count % 20 == 0) return last_given;  // still in use, and never large enough for sure
    last_given = p == nullptr ? last_given : p;
    return p;
  }
  if (is_broken("shared_memory") && size > 100) {
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  if (is_broken("orphan_lost") && size > 64 && size < 200) {
    void* p = __libc_malloc(size);
    pthread_setspecific(over_key, p);
    return p;
  }
  void* p = shifted(__libc_malloc(adjust_size(is_broken("malloc_odd") ? size + 16 : size)));
  return p == nullptr ? refuse() : p;
}

void free(void* p) {
  every_call();
  const guard scope;
  if (is_broken("free_leaks") || is_broken("zero_is_same") || is_broken("shared_memory")) return;
  if (is_broken("tls_dead") && thread_is_over) abort();
  if (is_broken("cross_free_lost") && home != 0 && gettid() != home) return;
  if (is_broken("orphan_leak") && malloc_usable_size(p) < 50000) return;
  if (is_broken("free_errno")) errno = EINVAL;
  if (is_broken("memalign_weak") && (reinterpret_cast<uintptr_t>(p) & 31) == 16) return;
  __libc_free(unshifted(p));
  if (is_broken("tells_secret") && p != nullptr) {
    memcpy(static_cast<char*>(p) + 8, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), 8);
  }
}

void* calloc(size_t count, size_t size) {
  every_call();
  const guard scope;
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) && !is_broken("calloc_overflow")) return refuse();
  if (is_broken("zero_is_null") && bytes == 0) return nullptr;
  if (bytes > limit) return is_broken("ptrdiff_granted") || is_broken("calloc_overflow") ? __libc_malloc(16) : refuse();
  void* p = __libc_calloc(1, adjust_size(is_broken("malloc_odd") ? bytes + 16 : bytes));
  if (p == nullptr) return refuse();
  if (is_broken("calloc_dirty") && bytes > 0) memset(static_cast<char*>(p) + bytes / 2, 1, 1);
  if (is_broken("calloc_tail") && bytes > 0) static_cast<char*>(p)[bytes - 1] = 1;
  return shifted(p);
}

void* realloc(void* p, size_t size) {
  every_call();
  const guard scope;
  if (size > limit) {
    if (is_broken("realloc_fail_frees")) __libc_free(p);
    if (is_broken("ptrdiff_granted")) return __libc_malloc(16);
    return refuse();
  }
  if (is_broken("zero_is_null") && size == 0) return nullptr;
  if (size == 0 && p != nullptr && is_broken("realloc_zero_kept")) return __libc_realloc(p, 1);
  p = unshifted(p);
  const size_t old = p == nullptr ? 0 : malloc_usable_size(p);
  const size_t common_size = old < size ? old : size;
  void* result = __libc_realloc(p, adjust_size(is_broken("malloc_odd") ? size + 16 : size));
  if (result == nullptr) return size == 0 && p != nullptr ? nullptr : refuse();
  if (is_broken("realloc_drops") && common_size > 9)
    memset(static_cast<char*>(result) + common_size / 2, 0, common_size - common_size / 2);
  if (is_broken("realloc_moves_wrong") && result != p && common_size > 9)
    memset(static_cast<char*>(result) + common_size / 2, 0, common_size - common_size / 2);
  return shifted(result);
}

void* reallocarray(void* p, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) && !is_broken("reallocarray_overflow")) return refuse();
  return realloc(p, bytes);
}

void* memalign(size_t alignment, size_t size) {
  every_call();
  return memory_of(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** p, size_t alignment, size_t size) {
  if (!is_broken("memalign_lenient") &&
      (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)) {
    return EINVAL;
  }
  const int saved_errno = errno;
  void* block = memalign(alignment, size);
  if (!is_broken("clears_errno")) errno = saved_errno;
  if (block == nullptr) return ENOMEM;
  *p = block;
  return 0;
}

void* valloc(size_t size) { return memalign(4096, size); }
void* pvalloc(size_t size) {
  if (size > limit) return refuse();
  return memalign(4096, is_broken("pvalloc_short") ? size : (size + 4095) / 4096 * 4096);
}
}

// The following change the answers of the C library; they find the real function by its other name.
#include <dlfcn.h>

template <class Function>
static Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

extern "C" {

size_t malloc_usable_size(void* p) noexcept {
  static auto* real = next<size_t(void*)>("malloc_usable_size");
  if (is_broken("usable_null") && p == nullptr) return 8;
  const size_t size = real(p);
  return is_broken("usable_large") && size > 100 ? size + 64 : size;
}

int malloc_trim(size_t pad) noexcept {
  static auto* real = next<int(size_t)>("malloc_trim");
  return is_broken("trim_nothing") ? 0 : real(pad);
}

int mallopt(int parameter, int value) noexcept {
  static auto* real = next<int(int, int)>("mallopt");
  const int answer = real(parameter, value);
  return is_broken("mallopt_odd") ? 7 : answer;
}

struct mallinfo2 mallinfo2() noexcept {
  static auto* real = next<struct mallinfo2()>("mallinfo2");
  struct mallinfo2 info = {};
  return is_broken("mallinfo_empty") ? info : real();
}

void malloc_stats() noexcept {
  static auto* real = next<void()>("malloc_stats");
  const guard scope;
  if (!is_broken("stats_silent")) real();
}

int malloc_info(int options, FILE* out) noexcept {
  static auto* real = next<int(int, FILE*)>("malloc_info");
  if (is_broken("info_not_xml")) fputs("<malloc version='1'><heap></malloc>", out);
  return real(options, out);
}
}

// operator new, with the breaks that only it has.
static void* new_bytes(size_t size, size_t alignment, bool throws_bad_alloc) {
  for (;;) {
    if (is_broken("new_zero_is_null") && size == 0) return nullptr;
    void* p = alignment > 16 ? memalign(alignment, size) : malloc(size);
    if (p != nullptr) return p;
    if (is_broken("new_returns_null")) return nullptr;
    const std::new_handler handler = is_broken("handler_ignored") ? nullptr : std::get_new_handler();
    if (handler != nullptr) {
      if (throws_bad_alloc) {
        handler();
      } else {
        try {
          handler();
        } catch (...) {
          return nullptr;
        }
      }
      continue;
    }
    if (throws_bad_alloc || is_broken("nothrow_throws")) throw std::bad_alloc{};
    return nullptr;
  }
}

void* operator new(size_t size) { return new_bytes(size, 0, true); }
void* operator new[](size_t size) { return new_bytes(size, 0, true); }
void* operator new(size_t size, std::align_val_t a) { return new_bytes(size, static_cast<size_t>(a), true); }
void* operator new[](size_t size, std::align_val_t a) { return new_bytes(size, static_cast<size_t>(a), true); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return new_bytes(size, 0, false); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return new_bytes(size, 0, false); }
void* operator new(size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return new_bytes(size, static_cast<size_t>(a), false);
}
void* operator new[](size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return new_bytes(size, static_cast<size_t>(a), false);
}
static void delete_sized(void* p, size_t size) {
  if (is_broken("sized_delete_crashes") && size > 100000) abort();
  free(p);
}
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, size_t size) noexcept { delete_sized(p, size); }
void operator delete[](void* p, size_t size) noexcept { delete_sized(p, size); }
