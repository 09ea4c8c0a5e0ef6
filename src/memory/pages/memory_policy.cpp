#include "memory/pages/memory_policy.hpp"

#include "base/bits.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {
namespace {

using namespace base::units;

/// One deallocation purges at most this much excess, unless it frees more.
constexpr std::size_t max_purged_in_excess = 16_MiB;
/// New memory within this time after a purge of excess means that the purge went too far.
constexpr std::uint64_t regret_ms = 1000;
/// Without another regret, the memory that is kept halves in this time.
constexpr std::uint64_t fading_ms = 4000;
/// Pauses after many refused purges.
constexpr std::uint32_t first_pause_ms = 1000;
constexpr std::uint32_t max_pause_ms = 64'000;
/// Single runs that the system refused are tried again after so long.
constexpr std::uint64_t retry_ms = 60'000;

}  // namespace

std::size_t memory_policy::excess(std::size_t dirty_bytes, std::size_t used_bytes, std::size_t freed_bytes) noexcept {
  if (dirty_bytes <= min_kept_bytes) return 0;
  if (kept_dirty_ > min_kept_bytes) {
    const std::uint64_t now = platform::now_ms();
    for (; kept_dirty_ > min_kept_bytes && now - regretted_ms_ >= fading_ms; regretted_ms_ += fading_ms) {
      kept_dirty_ /= 2;
    }
  }
  const std::size_t keep = kept_dirty_ + used_bytes / 4;
  if (dirty_bytes <= keep) return 0;
  // This is more than the excess, so that the next returned run does not come here again.
  const std::size_t purged_bytes = dirty_bytes - keep + keep / 4;
  const std::size_t limit = freed_bytes < max_purged_in_excess ? max_purged_in_excess : freed_bytes;
  return purged_bytes < limit ? purged_bytes : limit;
}

void memory_policy::note_new_memory() noexcept {
  if (excess_purged_ms_ == 0) return;
  const std::uint64_t now = platform::now_ms();
  if (now - excess_purged_ms_ < regret_ms) {
    kept_dirty_ *= 2;
    regretted_ms_ = now;
  }
  excess_purged_ms_ = 0;
}

void memory_policy::note_tried(std::uint64_t now_ms) noexcept {
  if (refusals_ < min_refusals) return;
  pause_ms_ = pause_ms_ == 0 ? first_pause_ms : pause_ms_ < max_pause_ms ? 2 * pause_ms_ : max_pause_ms;
  pause_end_ms_ = now_ms + pause_ms_;
  refusals_ = 0;
}

bool memory_policy::is_paused() const noexcept { return pause_ms_ != 0 && platform::now_ms() < pause_end_ms_; }

bool memory_policy::should_retry(std::uint64_t now_ms) noexcept {
  const bool is_due = next_retry_ms_ != 0 && now_ms >= next_retry_ms_;
  if (is_due || next_retry_ms_ == 0) next_retry_ms_ = now_ms + retry_ms;
  return is_due;
}

}  // namespace tarn::pages
