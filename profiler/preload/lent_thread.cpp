#include "profiler/preload/lent_thread.hpp"

#include <cerrno>
#include <utility>

#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/windows.hpp"

namespace tarn::preload {

namespace {

constinit thread_local bool is_thread_lent = false;
// These hold the values that restrict_child() has replaced.
constinit thread_local bool was_inside = false;
constinit thread_local format::thread_record* counts_before = nullptr;

}  // namespace

bool is_lent() noexcept { return is_thread_lent; }

lending begin_lending() noexcept { return {std::exchange(is_thread_lent, true), is_child_restricted}; }

void end_lending(lending before) noexcept {
  if (!before.is_restricted) unrestrict_child();
  is_thread_lent = before.is_lent;
}

void restrict_child() noexcept {
  if (std::exchange(is_child_restricted, true)) return;
  was_inside = std::exchange(detail::is_inside_recorder, true);
  counts_before = std::exchange(own_counts, nullptr);
}

void unrestrict_child() noexcept {
  if (!std::exchange(is_child_restricted, false)) return;
  detail::is_inside_recorder = was_inside;
  own_counts = counts_before;
}

}  // namespace tarn::preload

#if defined(__x86_64__)
// hooked_functions.S calls these around vfork().
extern "C" {
[[gnu::visibility("hidden"), gnu::used]] int tarn_begin_vfork() noexcept {
  using namespace tarn::preload;
  take_step();
  const lending before = begin_lending();
  return (before.is_lent ? 1 : 0) | (before.is_restricted ? 2 : 0);
}
[[gnu::visibility("hidden"), gnu::used]] long tarn_end_vfork(long result, int before) noexcept {
  tarn::preload::end_lending({(before & 1) != 0, (before & 2) != 0});
  if (result > 0) tarn::preload::note_unrecorded_fork();
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}
}
#endif
