#include <tarn/spin_mutex.hpp>

#include "platform/platform.hpp"
#include "platform/race_detector.hpp"

namespace tarn {
namespace {

constexpr int spins = 64;

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

const std::uint32_t* word(const std::atomic<std::uint32_t>& state) noexcept {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  return reinterpret_cast<const std::uint32_t*>(&state);
}

}  // namespace

void spin_mutex::lock_contended() noexcept {
  for (int round = 0; round < spins; ++round) {
    if (state_.load(std::memory_order_relaxed) == open && try_lock()) {
      platform::note_acquire(&state_);  // the last holder's unlock was inline, in the program
      return;
    }
    pause();
  }
  // The word is `contended` from here on: a thread may sleep, and unlock must wake it.
  while (state_.exchange(contended, std::memory_order_acquire) != open) platform::wait(word(state_), contended);
  platform::note_acquire(&state_);
}

void spin_mutex::wake_one() noexcept { platform::wake_one(word(state_)); }

}  // namespace tarn
