// Chooses at random which of a thread's events are recorded, so that recording them takes a small part of its time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "profiler/preload/base/chance.hpp"

namespace tarn::preload {

// Records each event of one thread with the probability 1 / W, independently of all others. The thread chooses W from
// its past alone: the mean time between its events, of which the last ones count most. All zeroes until it is set up.
class event_gaps {
 public:
  struct cost {
    std::uint64_t ticks;          // what recording one event takes, of the clock
    std::uint64_t inverse_share;  // a thread spends at most one tick in this many on it
  };

  void set_up(std::uint64_t seed, std::uint16_t weight, std::uint64_t now) noexcept {
    random_.set_up(seed);
    draw(weight);
    last_draw_ = now;
  }
  // Passes an event, and returns true when it is not recorded. After one that is, draw_next() must follow.
  // The events of a signal's handler that comes in between are skipped: signals come there more often than elsewhere,
  // as the processor has mispredicted the branch, and each of these events would stand for W.
  [[gnu::always_inline]] bool skips() noexcept {
    if (passes_one()) [[likely]]
      return true;
    is_due_ = true;
    remaining_events_ = longest_delay;
    return false;
  }
  bool is_due() const noexcept { return is_due_; }
  // Returns how many events a recorded one stands for.
  std::uint16_t weight() const noexcept { return weight_; }
  // Draws the distance to the next recorded event. The event at the clock's time `now` is recorded.
  void draw_next(std::uint64_t now, cost cost_of_one, std::uint16_t largest_weight) noexcept {
    const std::uint64_t elapsed = now - last_draw_;
    last_draw_ = now;
    ticks_ = ticks_ / 2 + (elapsed > cost_of_one.ticks ? elapsed - cost_of_one.ticks : 0);
    events_ = events_ / 2 + skipped_events_ + 1;
    const std::uint64_t weight = cost_of_one.ticks * cost_of_one.inverse_share * events_ / (ticks_ + 1);
    draw(static_cast<std::uint16_t>(std::clamp<std::uint64_t>(weight, 1, largest_weight)));
  }
  // Skips the next billion events.
  void skip_many() noexcept {
    is_due_ = false;
    remaining_events_ = 1U << 30;
  }

 private:
  static constexpr std::uint32_t longest_delay = 4096;  // in events, where a handler has jumped out of the due one

  // Counts down, and returns false when nothing was left. A signal's handler sees the count before it or after it.
  [[gnu::always_inline]] bool passes_one() noexcept {
#if defined(__x86_64__)
    bool has_borrowed;
    asm("subl $1, %0" : "+m"(remaining_events_), "=@ccc"(has_borrowed));
    return !has_borrowed;
#else
    return remaining_events_-- != 0;
#endif
  }
  void draw(std::uint16_t weight) noexcept {
    weight_ = weight;
    skipped_events_ = draw_gap(random_.next(), weight);
    remaining_events_ = skipped_events_;
    is_due_ = false;
  }

  std::uint32_t remaining_events_ = 0;  // until the next one that is recorded
  bool is_due_ = false;                 // it has come, and the next distance is not drawn
  std::uint16_t weight_ = 0;
  random_numbers random_;
  std::uint32_t skipped_events_ = 0;  // before the next recorded one
  std::uint64_t last_draw_ = 0;       // by the clock
  // Decaying sums of the events, and of the time between them without that of recording.
  std::uint64_t ticks_ = 0, events_ = 0;
};

}  // namespace tarn::preload
