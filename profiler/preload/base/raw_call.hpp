// Makes the recorder's own system calls. They are not dispatched to the recorder, and leave errno as it is.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#if defined(__x86_64__)
extern "C" long tarn_raw_call(long number, long, long, long, long, long, long) noexcept;  // exempt.S
#endif

namespace tarn::preload {

namespace detail {
template <class Word>
long word_of_call(Word value) noexcept {
  if constexpr (requires { reinterpret_cast<long>(value); }) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}
}  // namespace detail

// Set once the program has restricted its system calls (seccomp). From then on the recorder makes none of its own, as
// each might end the program, and continues with the memory that it has.
extern constinit std::atomic<bool> process_is_restricted;  // NOLINT(bugprone-dynamic-static-initializers): constinit
// Set while a child of vfork that has restricted its system calls runs in this thread's memory (lent_thread.hpp).
inline constinit thread_local bool is_child_restricted = false;
inline bool is_restricted() noexcept {
  return is_child_restricted || process_is_restricted.load(std::memory_order_relaxed);
}

// Returns the result, or an errno as its negative.
template <class... Words>
long raw_call(long number, Words... values) noexcept {
  static_assert(sizeof...(values) <= 6);
  const long arguments[6] = {detail::word_of_call(values)...};
#if defined(__x86_64__)
  return tarn_raw_call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
#else
  const int before = errno;
  long result = ::syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  if (result == -1) result = -errno;
  errno = before;
  return result;
#endif
}

// Returns true for an errno as a call's result.
inline bool is_error(long result) noexcept { return result < 0 && result > -4096; }

// Makes a call that the recorder can do without. Returns -EPERM once the program's calls are restricted.
template <class... Words>
long own_call(long number, Words... values) noexcept {
  return is_restricted() ? -EPERM : raw_call(number, values...);
}

}  // namespace tarn::preload
