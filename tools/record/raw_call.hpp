// System calls that the recorder makes for itself: they are not dispatched to it, and leave errno as it is.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#if defined(__x86_64__)
extern "C" long tarn_raw_call(long number, long, long, long, long, long, long) noexcept;  // exempt.S
#endif

namespace tarn::record {

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

// The result, or an errno as its negative.
template <class... Words>
long raw_call(long number, Words... words) noexcept {
  static_assert(sizeof...(words) <= 6);
  const long all[6] = {detail::word_of_call(words)...};
#if defined(__x86_64__)
  return tarn_raw_call(number, all[0], all[1], all[2], all[3], all[4], all[5]);
#else
  const int before = errno;
  const long result = ::syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]);
  const long given = result == -1 ? -errno : result;
  errno = before;
  return given;
#endif
}

}  // namespace tarn::record
