// The C library's locks as the program calls them, through to the C library and counted. A lock is tried first: if that
// succeeds, nobody had to wait. What the functions return is the C library's, so robust, recursive and error-checking
// mutexes are what they were.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "record/behind.hpp"
#include "record/entry.hpp"
#include "record/locks.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::record;
using tarn::format::lock_kind;
using tarn::format::lock_type;

namespace {

// What a function returned: POSIX, and C11.
struct posix {
  static bool is_acquired(int result) { return result == 0 || result == EOWNERDEAD; }
  static bool is_busy(int result) { return result == EBUSY; }
  static bool is_late(int result) { return result == ETIMEDOUT; }
};
struct c11 {
  static bool is_acquired(int result) { return result == thrd_success; }
  static bool is_busy(int result) { return result == thrd_busy; }
  static bool is_late(int result) { return result == thrd_timedout; }
};

// Tries, and then waits by `wait`, which is the function that the program called.
template <class Result, class Lock, class Try, class Wait>
int acquire(Lock* lock, lock_type type, bool shared, const caller& from, Try attempt, Wait wait,
            bool for_ever = false) {
  acquisition now(lock, type, from, for_ever);
  int result = attempt(lock);
  if (Result::is_busy(result)) {
    now.waits();
    result = wait(lock);
    if (Result::is_late(result)) now.failed();
  }
  if (Result::is_acquired(result)) now.succeeded(shared);
  return result;
}

template <class Result, class Lock, class Try>
int attempt_only(Lock* lock, lock_type type, bool shared, const caller& from, Try attempt) {
  acquisition now(lock, type, from);
  const int result = attempt(lock);
  if (Result::is_busy(result)) now.failed();
  if (Result::is_acquired(result)) now.succeeded(shared);
  return result;
}

template <class Result, class Wait>
int wait_for(const void* condition, const void* mutex, const caller& from, Wait wait) {
  condition_wait now(condition, mutex, from);
  const int result = wait();
  now.over(!Result::is_late(result));
  return result;
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): declarations and names. Macros, as each function has to find its caller's
// registers itself. What follows the last named argument is `noexcept`, where the C library's header has it too.
#define TARN_BEHIND(name) static constinit behind_us real(#name, name)
#define TARN_TRY(name) static constinit behind_us attempt(#name, name)

#define TARN_LOCK(name, try_name, type, lock_kind_of, shared, result, ...)                                 \
  TARN_EXPORT int name(type* lock) __VA_ARGS__ {                                                           \
    TARN_BEHIND(name);                                                                                     \
    if (!records(lock_kind)) return real()(lock);                                                          \
    TARN_TRY(try_name);                                                                                    \
    return acquire<result>(lock, lock_type::lock_kind_of, shared, TARN_CALLER(), attempt(), real(), true); \
  }
#define TARN_TRY_LOCK(name, type, lock_kind_of, shared, result, ...)                           \
  TARN_EXPORT int name(type* lock) __VA_ARGS__ {                                               \
    TARN_BEHIND(name);                                                                         \
    if (!records(lock_kind)) return real()(lock);                                              \
    return attempt_only<result>(lock, lock_type::lock_kind_of, shared, TARN_CALLER(), real()); \
  }
#define TARN_TIMED_LOCK(name, try_name, type, lock_kind_of, shared, result, ...)            \
  TARN_EXPORT int name(type* lock, const timespec* until) __VA_ARGS__ {                     \
    TARN_BEHIND(name);                                                                      \
    if (!records(lock_kind)) return real()(lock, until);                                    \
    TARN_TRY(try_name);                                                                     \
    return acquire<result>(lock, lock_type::lock_kind_of, shared, TARN_CALLER(), attempt(), \
                           [&](type* of) { return real()(of, until); });                    \
  }
#define TARN_CLOCK_LOCK(name, try_name, type, lock_kind_of, shared)                        \
  TARN_EXPORT int name(type* lock, clockid_t clock, const timespec* until) noexcept {      \
    TARN_BEHIND(name);                                                                     \
    if (!records(lock_kind)) return real()(lock, clock, until);                            \
    TARN_TRY(try_name);                                                                    \
    return acquire<posix>(lock, lock_type::lock_kind_of, shared, TARN_CALLER(), attempt(), \
                          [&](type* of) { return real()(of, clock, until); });             \
  }
#define TARN_UNLOCK(name, type, ...)                                                                    \
  TARN_EXPORT int name(type* lock) __VA_ARGS__ {                                                        \
    TARN_BEHIND(name);                                                                                  \
    if (records(lock_kind)) releases(const_cast<const void*>(static_cast<const volatile void*>(lock))); \
    return real()(lock);                                                                                \
  }
#define TARN_DESTROY(name, type)                       \
  TARN_EXPORT int name(type* lock) noexcept {          \
    TARN_BEHIND(name);                                 \
    const int result = real()(lock);                   \
    if (result == 0 && records(lock_kind)) ends(lock); \
    return result;                                     \
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
  TARN_BEHIND(pthread_spin_lock);
  if (!records(lock_kind)) return real()(lock);
  TARN_TRY(pthread_spin_trylock);
  return acquire<posix>(const_cast<int*>(lock), lock_type::spin, false, TARN_CALLER(), attempt(), real(), true);
}
TARN_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  TARN_BEHIND(pthread_spin_trylock);
  if (!records(lock_kind)) return real()(lock);
  return attempt_only<posix>(const_cast<int*>(lock), lock_type::spin, false, TARN_CALLER(), real());
}
TARN_UNLOCK(pthread_spin_unlock, pthread_spinlock_t, noexcept)
TARN_EXPORT int pthread_spin_destroy(pthread_spinlock_t* lock) noexcept {
  TARN_BEHIND(pthread_spin_destroy);
  if (records(lock_kind)) ends(const_cast<int*>(lock));
  return real()(lock);
}

TARN_LOCK(mtx_lock, mtx_trylock, mtx_t, mutex, false, c11, )
TARN_TRY_LOCK(mtx_trylock, mtx_t, mutex, false, c11, )
TARN_TIMED_LOCK(mtx_timedlock, mtx_trylock, mtx_t, mutex, false, c11, )
TARN_UNLOCK(mtx_unlock, mtx_t, )
TARN_EXPORT void mtx_destroy(mtx_t* lock) {
  TARN_BEHIND(mtx_destroy);
  if (records(lock_kind)) ends(lock);
  real()(lock);
}

// Not noexcept: these may be cancelled, which unwinds through us.
TARN_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  TARN_BEHIND(pthread_cond_wait);
  if (!records(lock_kind)) return real()(condition, mutex);
  return wait_for<posix>(condition, mutex, TARN_CALLER(), [&] { return real()(condition, mutex); });
}
TARN_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  TARN_BEHIND(pthread_cond_timedwait);
  if (!records(lock_kind)) return real()(condition, mutex, until);
  return wait_for<posix>(condition, mutex, TARN_CALLER(), [&] { return real()(condition, mutex, until); });
}
TARN_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) {
  TARN_BEHIND(pthread_cond_clockwait);
  if (!records(lock_kind)) return real()(condition, mutex, clock, until);
  return wait_for<posix>(condition, mutex, TARN_CALLER(), [&] { return real()(condition, mutex, clock, until); });
}
TARN_DESTROY(pthread_cond_destroy, pthread_cond_t)
TARN_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  TARN_BEHIND(cnd_wait);
  if (!records(lock_kind)) return real()(condition, mutex);
  return wait_for<c11>(condition, mutex, TARN_CALLER(), [&] { return real()(condition, mutex); });
}
TARN_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  TARN_BEHIND(cnd_timedwait);
  if (!records(lock_kind)) return real()(condition, mutex, until);
  return wait_for<c11>(condition, mutex, TARN_CALLER(), [&] { return real()(condition, mutex, until); });
}
TARN_EXPORT void cnd_destroy(cnd_t* condition) {
  TARN_BEHIND(cnd_destroy);
  if (records(lock_kind)) ends(condition);
  real()(condition);
}

}  // extern "C"
