// Which thread something belongs to, in builds with TARN_CHECKS; an empty class elsewhere.
#pragma once

#include <cstdint>

namespace tarn::detail {

#if TARN_CHECKS

/// Made by the thread that it names.
class thread_mark {
 public:
  thread_mark() noexcept;
  /// Does not return in another thread: `category` and `object` say what it used.
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
  char name_[16];  ///< of then: the thread may be gone when it is wanted
};

#else

class thread_mark {
 public:
  void check(const char*, const void*) const noexcept {}
};

#endif

}  // namespace tarn::detail
