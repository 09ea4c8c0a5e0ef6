// Decides how long to wait for a thread of another process that is to stop or to end a call.
//
// On a busy machine a thread may wait for a processor for seconds, and it still answers. One that sleeps waits for what
// may never come. So the time counts in which it neither was ready to run nor has run.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace tarn::command {

class answer_patience {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds longest_sleep{5}, longest_wait{30};
  static constexpr std::chrono::milliseconds pause{50};  // between two looks

  explicit answer_patience(time_point now) : begun_(now), last_active_(now), next_look_(now + pause) {}

  bool is_look_due(time_point now) const { return now >= next_look_; }
  // Notes the state of the thread as ps(1) names it, and a text that changes when it has run.
  void look(char state, std::string runs, time_point now) {
    if (state == 'R' || runs != runs_) last_active_ = now;
    runs_ = std::move(runs);
    state_ = state;
    next_look_ = now + pause;
  }
  bool is_over(time_point now) const { return now >= std::min(last_active_ + longest_sleep, begun_ + longest_wait); }
  // Returns what the thread waited for at the last look.
  const char* reason() const {
    if (state_ == 'R') return "waits for a processor on a machine, or in a control group, that is too busy";
    if (state_ == 'D') return "waits for a disk";
    return "sleeps: it may wait for a lock of the loader that another thread has (dlopen, dl_iterate_phdr)";
  }

 private:
  time_point begun_, last_active_, next_look_;
  std::string runs_;
  char state_ = '\0';
};

}  // namespace tarn::command
