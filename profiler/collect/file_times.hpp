// Gives each file of a recording its time: by the wall clock when it begins, and by its length. The times of two files
// never overlap. Where the clock has gone back, a file begins where the last one ended, until the clock has caught up.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "profiler/export/formats.hpp"

namespace tarn::command {

class file_times {
 public:
  // `now` is the time since 1970. Returns how far the clock is behind the end of the last file.
  std::chrono::nanoseconds begin(std::chrono::nanoseconds now) {
    const auto now_ns = static_cast<std::uint64_t>(now.count());
    time_.from_ns = std::max(now_ns, time_.until_ns);
    return std::chrono::nanoseconds(time_.from_ns - now_ns);
  }
  // `length` is by a clock that never jumps.
  void end(std::chrono::nanoseconds length) {
    time_.until_ns = time_.from_ns + static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 1));
  }
  bool has_ended() const { return time_.until_ns > time_.from_ns; }
  const exports::time_range& last() const { return time_; }

 private:
  exports::time_range time_;
};

}  // namespace tarn::command
