// Tells ThreadSanitizer about the order of accesses that this library ensures.
//
// A program is often compiled for ThreadSanitizer while libtarn.a is not. The sanitizer then sees the inline paths of
// the headers, but not the library's atomic operations. So it would report a data race for each block that one thread
// frees and another one gets. Therefore every operation of the library that orders two threads' accesses also makes a
// note at the address that the threads share. If that is the address of an atomic, the note combines with the accesses
// to that atomic that the sanitizer sees in inline code.
//
// Without ThreadSanitizer the functions are absent, and a note is one load and a branch. A library that is itself
// compiled for the sanitizer makes no notes, because they would hide a missing order.
#pragma once

#include "platform/sanitizer.hpp"

#if !TARN_HAS_SANITIZER
extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
}
#endif

namespace tarn::platform {

/// Orders this thread's next accesses after those that other threads made before they noted a release at `address`.
inline void note_acquire([[maybe_unused]] const volatile void* address) noexcept {
#if !TARN_HAS_SANITIZER
  if (__tsan_acquire != nullptr) [[unlikely]] {
    __tsan_acquire(const_cast<void*>(address));
  }
#endif
}

/// Orders this thread's earlier accesses before those that other threads make after an acquire at `address`.
inline void note_release([[maybe_unused]] const volatile void* address) noexcept {
#if !TARN_HAS_SANITIZER
  if (__tsan_release != nullptr) [[unlikely]] {
    __tsan_release(const_cast<void*>(address));
  }
#endif
}

}  // namespace tarn::platform
