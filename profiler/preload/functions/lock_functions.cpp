// Wraps the C library's locks: each call of the program goes to the C library and is counted. A lock is tried
// first; when that succeeds, no thread had to wait. The functions return the C library's results, so robust, recursive
// and error-checking mutexes work as before.
#include <pthread.h>
#include <semaphore.h>
#include <sys/single_threaded.h>
#include <threads.h>

#include <cerrno>
#include <utility>

#include "profiler/preload/entry.hpp"
#include "profiler/preload/locks.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/records/long_calls.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::preload;
using tarn::format::lock_kind;
using tarn::format::lock_type;

namespace {

// These read the results of the POSIX functions and of the C11 functions.
struct posix {
  static bool is_acquired(int result) { return result == 0 || result == EOWNERDEAD; }
  static bool is_busy(int result) { return result == EBUSY; }
  static bool is_late(int result) { return result == ETIMEDOUT; }
};
// Those of semaphores are in errno; wait_for_semaphore() and try_semaphore() return them.
struct of_semaphore {
  static bool is_acquired(int result) { return result == 0; }
  static bool is_busy(int result) { return result == EAGAIN; }
  static bool is_late(int result) { return result == ETIMEDOUT; }
};
struct c11 {
  static bool is_acquired(int result) { return result == thrd_success; }
  static bool is_busy(int result) { return result == thrd_busy; }
  static bool is_late(int result) { return result == thrd_timedout; }
};

// Returns true when the lock is free and no other thread can take it first. The C library then locks it without an
// atomic operation, in a quarter of the time of a try.
bool is_free_for_sure(const pthread_mutex_t* lock) noexcept {
  return __libc_single_threaded != 0 && lock->__data.__kind == PTHREAD_MUTEX_NORMAL && lock->__data.__lock == 0;
}
bool is_free_for_sure(const sem_t*) noexcept { return false; }
bool is_free_for_sure(const volatile void*) noexcept { return false; }

// Returns records(lock_kind). An acquisition by a signal's handler that interrupted the recorder is not recorded, and
// is counted as missing. One of an allocator that the recorder has called is the recorder's own.
[[gnu::noinline]] bool records_acquisition() noexcept {
  if (records(lock_kind)) return true;
  if (!is_inside() || detail::is_heap_hidden || !detail::has_started.load(std::memory_order_acquire) || !is_recorded())
    return false;
  if ((header().sources & tarn::format::source_bit(lock_kind)) != 0)
    header().missed_acquisitions.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// Acquires the lock by `wait`, the function that the program called, if it is busy. If the lock was tried before,
// `result` is what came of it.
template <class Result, class Lock, class Try, class Wait>
[[gnu::noinline]] int acquire_counted(Lock* lock, lock_type type, bool is_shared, const caller& caller, Try attempt,
                                      Wait wait, acquisition::wait_limit limit, const lock_look& look, int result) {
  acquisition current(lock, type, caller, limit, look.is_skipped);
  if (look.self == nullptr) result = attempt(lock);
  if (Result::is_busy(result)) {
    take_step();  // a wait is a system call, and a lock that is free is none
    current.begin_wait();
    result = wait(lock);
    current.end_wait();
    if (Result::is_late(result)) current.note_failure();
  }
  if (Result::is_acquired(result)) current.note_success(is_shared);
  return result;
}

template <class Result, class Lock, class Try, class Wait>
[[gnu::always_inline]] inline int acquire(Lock* lock, lock_type type, bool is_shared, const caller& caller, Try attempt,
                                          Wait wait, acquisition::wait_limit limit) {
  const lock_look look = look_at(lock, caller);
  int result = 0;
  if (look.self != nullptr) [[likely]] {
    result = is_free_for_sure(lock) ? wait(lock) : attempt(lock);
    if (look.is_skipped) [[likely]] {
      if (Result::is_acquired(result)) [[likely]]
        push_unrecorded(*look.self, lock, type, is_shared, caller);
      if (!Result::is_busy(result)) [[likely]]
        return result;
    }
  } else if (detail::is_lock_off.load(std::memory_order_relaxed)) {
    return wait(lock);
  }
  if (!records_acquisition()) {
    if (look.self == nullptr) return wait(lock);
    look.self->samples_of_locks.skip_many();
    return Result::is_busy(result) ? wait(lock) : result;
  }
  return acquire_counted<Result>(lock, type, is_shared, caller, attempt, wait, limit, look, result);
}

// Counts a try. One that stands for others was made before, as they are: `result` is what came of it.
template <class Result, class Lock, class Try>
[[gnu::noinline]] int attempt_counted(Lock* lock, lock_type type, bool is_shared, const caller& caller, Try attempt,
                                      const lock_look& look, int result) {
  acquisition current(lock, type, caller, acquisition::wait_limit::timed, look.is_skipped);
  if (look.self == nullptr) result = attempt(lock);
  if (Result::is_busy(result)) current.note_failure();
  if (Result::is_acquired(result)) current.note_success(is_shared);
  return result;
}

template <class Result, class Lock, class Try>
[[gnu::always_inline]] inline int attempt_only(Lock* lock, lock_type type, bool is_shared, const caller& caller,
                                               Try attempt) {
  const lock_look look = look_at(lock, caller);
  int result = 0;
  if (look.self != nullptr) [[likely]] {
    result = attempt(lock);
    if (look.is_skipped) [[likely]] {
      if (Result::is_acquired(result)) push_unrecorded(*look.self, lock, type, is_shared, caller);
      return result;
    }
  }
  if (detail::is_lock_off.load(std::memory_order_relaxed) || !records_acquisition())
    return look.self == nullptr ? attempt(lock) : result;
  return attempt_counted<Result>(lock, type, is_shared, caller, attempt, look, result);
}

[[gnu::noinline]] void release_counted(const void* lock, const caller& caller) noexcept {
  if (records(lock_kind)) note_release(lock, caller);
}

[[gnu::noinline]] void forget_holder(const void* lock) noexcept {
  if (records(lock_kind)) note_released(lock);
}

template <class Result, class Wait>
int wait_for(const void* condition, const void* mutex, const caller& caller, Wait wait) {
  condition_wait current(condition, mutex, caller);
  const int result = wait();
  current.finish(!Result::is_late(result));
  return result;
}

}  // namespace

TARN_NEXT_FUNCTION(pthread_mutex_lock)
TARN_NEXT_FUNCTION(pthread_mutex_trylock)
TARN_NEXT_FUNCTION(pthread_mutex_timedlock)
TARN_NEXT_FUNCTION(pthread_mutex_clocklock)
TARN_NEXT_FUNCTION(pthread_mutex_unlock)
TARN_NEXT_FUNCTION(pthread_mutex_destroy)
TARN_NEXT_FUNCTION(pthread_rwlock_rdlock)
TARN_NEXT_FUNCTION(pthread_rwlock_wrlock)
TARN_NEXT_FUNCTION(pthread_rwlock_tryrdlock)
TARN_NEXT_FUNCTION(pthread_rwlock_trywrlock)
TARN_NEXT_FUNCTION(pthread_rwlock_timedrdlock)
TARN_NEXT_FUNCTION(pthread_rwlock_timedwrlock)
TARN_NEXT_FUNCTION(pthread_rwlock_clockrdlock)
TARN_NEXT_FUNCTION(pthread_rwlock_clockwrlock)
TARN_NEXT_FUNCTION(pthread_rwlock_unlock)
TARN_NEXT_FUNCTION(pthread_rwlock_destroy)
TARN_NEXT_FUNCTION(pthread_spin_lock)
TARN_NEXT_FUNCTION(pthread_spin_trylock)
TARN_NEXT_FUNCTION(pthread_spin_unlock)
TARN_NEXT_FUNCTION(pthread_spin_destroy)
TARN_NEXT_FUNCTION(mtx_lock)
TARN_NEXT_FUNCTION(mtx_trylock)
TARN_NEXT_FUNCTION(mtx_timedlock)
TARN_NEXT_FUNCTION(mtx_unlock)
TARN_NEXT_FUNCTION(mtx_destroy)
TARN_NEXT_FUNCTION(pthread_cond_wait)
TARN_NEXT_FUNCTION(pthread_cond_timedwait)
TARN_NEXT_FUNCTION(pthread_cond_clockwait)
TARN_NEXT_FUNCTION(pthread_cond_destroy)
TARN_NEXT_FUNCTION(cnd_wait)
TARN_NEXT_FUNCTION(cnd_timedwait)
TARN_NEXT_FUNCTION(cnd_destroy)
TARN_NEXT_FUNCTION(sem_wait)
TARN_NEXT_FUNCTION(sem_trywait)
TARN_NEXT_FUNCTION(sem_timedwait)
TARN_NEXT_FUNCTION(sem_clockwait)
TARN_NEXT_FUNCTION(sem_post)
TARN_NEXT_FUNCTION(sem_destroy)

namespace {

// Returns 0 or the error. A try that the program did not ask for leaves errno alone.
int try_semaphore(sem_t* semaphore) noexcept {
  const int error_before = errno;
  if (next_sem_trywait()(semaphore) == 0) return 0;
  return std::exchange(errno, error_before);
}

template <class Function>
int wait_for_semaphore(Function function, const caller& caller, const long (&arguments)[3]) {
  const auto awaited_function = reinterpret_cast<futex_function>(reinterpret_cast<void*>(function));
  return static_cast<int>(await_futex(awaited_function, caller, arguments)) == 0 ? 0 : errno;
}

int result_of(int error) noexcept {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// This may be cancelled, also where the semaphore is free.
template <class Function>
[[gnu::always_inline]] inline int take_semaphore(sem_t* semaphore, const caller& caller, Function function,
                                                 acquisition::wait_limit limit, long second, long third) {
  ::pthread_testcancel();
  return result_of(acquire<of_semaphore>(
      semaphore, lock_type::semaphore, false, caller, try_semaphore,
      [&](sem_t* awaited_semaphore) {
        return wait_for_semaphore(function, caller, {reinterpret_cast<long>(awaited_semaphore), second, third});
      },
      limit));
}

[[gnu::noinline]] void post_counted(const sem_t* semaphore, const caller& caller) noexcept {
  if (records(lock_kind)) note_post(semaphore, caller);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are declarations and names
// These are macros, as each function has to find its caller's registers itself. The argument after the last named one
// is `noexcept` where the C library's header has it too.
#define TARN_LOCK(name, try_name, type, lock_kind_of, shared, result, ...)                                         \
  TARN_EXPORT int name(type* lock) __VA_ARGS__ {                                                                   \
    return acquire<result>(lock, lock_type::lock_kind_of, shared, TARN_CALLER(), next_##try_name(), next_##name(), \
                           acquisition::wait_limit::endless);                                                      \
  }
#define TARN_TRY_LOCK(name, type, lock_kind_of, shared, result, ...)                                  \
  TARN_EXPORT int name(type* lock) __VA_ARGS__ {                                                      \
    return attempt_only<result>(lock, lock_type::lock_kind_of, shared, TARN_CALLER(), next_##name()); \
  }
#define TARN_TIMED_LOCK(name, try_name, type, lock_kind_of, shared, result, ...)                            \
  TARN_EXPORT int name(type* lock, const timespec* deadline) __VA_ARGS__ {                                  \
    return acquire<result>(                                                                                 \
        lock, lock_type::lock_kind_of, shared, TARN_CALLER(), next_##try_name(),                            \
        [&](type* argument) { return next_##name()(argument, deadline); }, acquisition::wait_limit::timed); \
  }
#define TARN_CLOCK_LOCK(name, try_name, type, lock_kind_of, shared)                                                \
  TARN_EXPORT int name(type* lock, clockid_t clock, const timespec* deadline) noexcept {                           \
    return acquire<posix>(                                                                                         \
        lock, lock_type::lock_kind_of, shared, TARN_CALLER(), next_##try_name(),                                   \
        [&](type* argument) { return next_##name()(argument, clock, deadline); }, acquisition::wait_limit::timed); \
  }
#define TARN_UNLOCK(name, type, ...)                                                              \
  TARN_EXPORT int name(type* lock) __VA_ARGS__ {                                                  \
    const void* const address = const_cast<const void*>(static_cast<const volatile void*>(lock)); \
    if (release_unrecorded(address) || detail::is_lock_off.load(std::memory_order_relaxed))       \
      return next_##name()(lock);                                                                 \
    release_counted(address, TARN_CALLER());                                                      \
    const int result = next_##name()(lock);                                                       \
    forget_holder(address);                                                                       \
    return result;                                                                                \
  }
#define TARN_DESTROY(name, type)                           \
  TARN_EXPORT int name(type* lock) noexcept {              \
    const int result = next_##name()(lock);                \
    if (result == 0 && records(lock_kind)) note_end(lock); \
    return result;                                         \
  }
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {

TARN_LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t, mutex, false, posix, noexcept)
TARN_TRY_LOCK(pthread_mutex_trylock, pthread_mutex_t, mutex, false, posix, noexcept)
TARN_TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, pthread_mutex_t, mutex, false, posix, noexcept)
TARN_CLOCK_LOCK(pthread_mutex_clocklock, pthread_mutex_trylock, pthread_mutex_t, mutex, false)
TARN_UNLOCK(pthread_mutex_unlock, pthread_mutex_t, noexcept)
TARN_DESTROY(pthread_mutex_destroy, pthread_mutex_t)

TARN_LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, reader_writer, true, posix, noexcept)
TARN_LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, reader_writer, false, posix, noexcept)
TARN_TRY_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t, reader_writer, true, posix, noexcept)
TARN_TRY_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t, reader_writer, false, posix, noexcept)
TARN_TIMED_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, reader_writer, true, posix,
                noexcept)
TARN_TIMED_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, reader_writer, false, posix,
                noexcept)
TARN_CLOCK_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, reader_writer, true)
TARN_CLOCK_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, reader_writer, false)
TARN_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, noexcept)
TARN_DESTROY(pthread_rwlock_destroy, pthread_rwlock_t)

TARN_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  return acquire<posix>(const_cast<int*>(lock), lock_type::spin, false, TARN_CALLER(), next_pthread_spin_trylock(),
                        next_pthread_spin_lock(), acquisition::wait_limit::endless);
}
TARN_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  return attempt_only<posix>(const_cast<int*>(lock), lock_type::spin, false, TARN_CALLER(),
                             next_pthread_spin_trylock());
}
TARN_UNLOCK(pthread_spin_unlock, pthread_spinlock_t, noexcept)
TARN_EXPORT int pthread_spin_destroy(pthread_spinlock_t* lock) noexcept {
  if (records(lock_kind)) note_end(const_cast<int*>(lock));
  return next_pthread_spin_destroy()(lock);
}

TARN_LOCK(mtx_lock, mtx_trylock, mtx_t, mutex, false, c11, )
TARN_TRY_LOCK(mtx_trylock, mtx_t, mutex, false, c11, )
TARN_TIMED_LOCK(mtx_timedlock, mtx_trylock, mtx_t, mutex, false, c11, )
TARN_UNLOCK(mtx_unlock, mtx_t, )
TARN_EXPORT void mtx_destroy(mtx_t* lock) {
  if (records(lock_kind)) note_end(lock);
  next_mtx_destroy()(lock);
}

// These are not noexcept: they may be cancelled, which unwinds through them.
TARN_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  take_step();
  if (!records(lock_kind)) return next_pthread_cond_wait()(condition, mutex);
  return wait_for<posix>(condition, mutex, TARN_CALLER(), [&] { return next_pthread_cond_wait()(condition, mutex); });
}
TARN_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* deadline) {
  take_step();
  if (!records(lock_kind)) return next_pthread_cond_timedwait()(condition, mutex, deadline);
  return wait_for<posix>(condition, mutex, TARN_CALLER(),
                         [&] { return next_pthread_cond_timedwait()(condition, mutex, deadline); });
}
TARN_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* deadline) {
  take_step();
  if (!records(lock_kind)) return next_pthread_cond_clockwait()(condition, mutex, clock, deadline);
  return wait_for<posix>(condition, mutex, TARN_CALLER(),
                         [&] { return next_pthread_cond_clockwait()(condition, mutex, clock, deadline); });
}
TARN_DESTROY(pthread_cond_destroy, pthread_cond_t)
TARN_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  take_step();
  if (!records(lock_kind)) return next_cnd_wait()(condition, mutex);
  return wait_for<c11>(condition, mutex, TARN_CALLER(), [&] { return next_cnd_wait()(condition, mutex); });
}
TARN_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* deadline) {
  take_step();
  if (!records(lock_kind)) return next_cnd_timedwait()(condition, mutex, deadline);
  return wait_for<c11>(condition, mutex, TARN_CALLER(),
                       [&] { return next_cnd_timedwait()(condition, mutex, deadline); });
}
TARN_EXPORT void cnd_destroy(cnd_t* condition) {
  if (records(lock_kind)) note_end(condition);
  next_cnd_destroy()(condition);
}

TARN_EXPORT int sem_wait(sem_t* semaphore) {
  return take_semaphore(semaphore, TARN_CALLER(), next_sem_wait(), acquisition::wait_limit::endless, 0, 0);
}
TARN_EXPORT int sem_trywait(sem_t* semaphore) noexcept {
  return result_of(attempt_only<of_semaphore>(semaphore, lock_type::semaphore, false, TARN_CALLER(), try_semaphore));
}
TARN_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  return take_semaphore(semaphore, TARN_CALLER(), next_sem_timedwait(), acquisition::wait_limit::timed,
                        reinterpret_cast<long>(deadline), 0);
}
TARN_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  return take_semaphore(semaphore, TARN_CALLER(), next_sem_clockwait(), acquisition::wait_limit::timed, clock,
                        reinterpret_cast<long>(deadline));
}
TARN_EXPORT int sem_post(sem_t* semaphore) noexcept {
  const bool is_counted = !post_unrecorded(semaphore) && !detail::is_lock_off.load(std::memory_order_relaxed);
  if (is_counted) [[unlikely]]
    post_counted(semaphore, TARN_CALLER());
  const int result = next_sem_post()(semaphore);
  if (is_counted) [[unlikely]]
    forget_holder(semaphore);
  take_step();  // where it decides, that takes microseconds, for which the others would wait
  return result;
}
TARN_EXPORT int sem_destroy(sem_t* semaphore) noexcept {
  if (records(lock_kind)) note_semaphore_end(semaphore);
  return next_sem_destroy()(semaphore);
}

}  // extern "C"
