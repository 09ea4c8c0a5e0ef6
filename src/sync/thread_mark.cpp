#include <tarn/detail/thread_mark.hpp>

#if TARN_CHECKS

#include "platform/platform.hpp"
#include "platform/threads.hpp"
#include "sync/faults.hpp"

namespace tarn::detail {

thread_mark::thread_mark() noexcept : token_(own_token()), number_(platform::thread_number()) {
  static_assert(sizeof name_ == platform::thread_name_bytes);
  static_cast<void>(platform::thread_name(number_, name_));
}

void thread_mark::fault(const char* category, const void* object) const noexcept {
  sync::fault_foreign_thread(category, object, number_, name_);
}

}  // namespace tarn::detail

#endif
