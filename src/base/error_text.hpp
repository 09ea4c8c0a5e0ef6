// The system's texts of error numbers.
#pragma once

#include <cstring>

namespace tarn::base {

/// Returns the text of an error number in English, or another text that says that it is unknown. Threads: any, also in
/// a signal handler. It allocates nothing and takes no lock.
inline const char* error_text(int error) noexcept {
#ifdef __GLIBC__  // whose strerror translates, and may allocate
  const char* const text = ::strerrordesc_np(error);
  return text != nullptr ? text : "unknown error";
#else  // musl's reads a table
  return ::strerror(error);
#endif
}

}  // namespace tarn::base
