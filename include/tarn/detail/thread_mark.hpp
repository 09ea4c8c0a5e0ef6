// Records which thread an object belongs to, in builds with TARN_CHECKS; an empty class in other builds.
#pragma once

#include <cstdint>

#include <tarn/detail/config.hpp>

namespace tarn::detail {

#if TARN_CHECKS

/// The thread that it names constructs it.
class thread_mark {
 public:
  thread_mark() noexcept;
  /// Does not return in another thread: `category` and `object` describe the object that it used.
  void check(const char* category, const void* object) const noexcept {
    if (token_ != own_token()) [[unlikely]] {
      fault(category, object);
    }
  }

 private:
  static std::uintptr_t own_token() noexcept { return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()); }
  [[noreturn]] void fault(const char* category, const void* object) const noexcept;

  std::uintptr_t token_;
  std::uint32_t number_;
  char name_[16];  ///< copied at construction: the thread may be gone when the name is needed
};

#else

class thread_mark {
 public:
  void check(const char*, const void*) const noexcept {}
};

#endif

}  // namespace tarn::detail
