// Chooses at random which of a thread's events are recorded, so that recording them takes a small part of its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "profiler/preload/base/chance.hpp"

namespace tarn::preload {

// Records each event of one thread with the probability 1 / W, independently of all others. The thread chooses W from
// its past alone: the mean CPU time between its events, of which the last ones count most. Elapsed time would not do: a
// thread that mostly waits for others would record as often as if all of it were its own. All zeroes until it is set
// up.
class event_gaps {
 public:
  struct cost {
    std::uint64_t nanoseconds;    // what recording one event takes
    std::uint64_t inverse_share;  // a thread spends at most one nanosecond of its CPU time in this many on it
  };

  void set_up(std::uint64_t seed, std::uint16_t weight) noexcept {
    random_.set_up(seed);
    draw(weight);
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
  // Returns how often a recorded event counts towards larger weights of the process, so that the weights of threads
  // with many events grow sooner.
  std::uint64_t pace() const noexcept { return std::min<std::uint64_t>(weight_, 4); }
  // Draws the distance to the next recorded event. `processor_ns` returns the thread's CPU time in nanoseconds, or 0
  // where it is not known. That takes as long as the rest of this, so it is asked for at one draw in four.
  template <class Clock>
  void draw_next(cost cost_of_one, std::uint16_t largest_weight, Clock processor_ns) noexcept {
    events_since_look_ += skipped_events_ + 1;
    if (largest_weight == 1) return draw(1);
    if (draws_since_look_++ == 0) look(cost_of_one, processor_ns());
    if (draws_since_look_ == draws_of_look) draws_since_look_ = 0;
    draw(std::min(weight_, largest_weight));
  }
  // Skips the next billion events.
  void skip_many() noexcept {
    is_due_ = false;
    remaining_events_ = 1U << 30;
  }

 private:
  static constexpr std::uint32_t draws_of_look = 4;
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

  // Chooses the weight.
  void look(cost cost_of_one, std::uint64_t processor_ns) noexcept {
    if (processor_ns == 0) return;
    if (processor_ns < looked_at_) {  // another thread: the one of a child of fork, or a later one with the same row
      looked_at_ = processor_ns;
      events_since_look_ = 0;
      return;
    }
    const std::uint64_t elapsed = processor_ns - looked_at_, spent = draws_of_look * cost_of_one.nanoseconds;
    looked_at_ = processor_ns;
    plain_ns_ = plain_ns_ / 2 + (elapsed > spent ? elapsed - spent : 0);
    events_ = events_ / 2 + events_since_look_;
    events_since_look_ = 0;
    const std::uint64_t weight = cost_of_one.nanoseconds * cost_of_one.inverse_share * events_ / (plain_ns_ + 1);
    weight_ =
        static_cast<std::uint16_t>(std::clamp<std::uint64_t>(weight, 1, std::numeric_limits<std::uint16_t>::max()));
  }

  std::uint32_t remaining_events_ = 0;  // until the next one that is recorded
  bool is_due_ = false;                 // it has come, and the next distance is not drawn
  std::uint16_t weight_ = 0;
  random_numbers random_;
  std::uint32_t skipped_events_ = 0;  // before the next recorded one
  std::uint32_t draws_since_look_ = 0;
  std::uint64_t events_since_look_ = 0;
  std::uint64_t looked_at_ = 0;  // by the thread's CPU time, which begins at 0
  // Decaying sums of the events, and of the CPU time between them without that of recording.
  std::uint64_t plain_ns_ = 0, events_ = 0;
};

}  // namespace tarn::preload
