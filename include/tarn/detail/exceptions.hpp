// Exception helpers for headers that must also compile with -fno-exceptions.
#pragma once

#include <cstdlib>

namespace tarn::detail {

/// Returns the result of `work`, or the result of `failed`, called inside the handler, when `work` throws. Without
/// exceptions it only calls `work`.
template <class Work, class Failed>
auto call_or(Work&& work, [[maybe_unused]] Failed&& failed) {
#ifdef __cpp_exceptions
  try {
    return work();
  } catch (...) {
    return failed();
  }
#else
  return work();
#endif
}

/// Throws an Exception with this text; ends the process where exceptions are compiled out.
template <class Exception>
[[noreturn]] void raise([[maybe_unused]] const char* text) {
#ifdef __cpp_exceptions
  throw Exception(text);
#else
  std::abort();
#endif
}

}  // namespace tarn::detail
