#pragma once

#include <string>
#include <string_view>

#include "profiler/format/code.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::format {

// Receives the changes of each snapshot and then its moment, in the order of the file.
class watcher {
 public:
  virtual ~watcher() = default;
  // Receives the increase since the previous snapshot; for a longest time the new value, or 0 if it has not changed. A
  // time of a thread that has fallen wraps around (may_fall).
  virtual void increase(const heap_key&, const heap_counts&) {}
  virtual void increase(const call_key&, const call_counts&) {}
  virtual void increase(const lock_key&, const lock_counts&) {}
  virtual void increase(const wait_key&, const wait_counts&) {}
  virtual void increase(const violation_key&, const violation_counts&) {}
  virtual void increase(const order_key&, const order_counts&) {}
  virtual void increase(const cpu_key&, const cpu_counts&) {}
  // Receives the recording up to the last of its moments.
  virtual void snapshot(const recording&) {}
};

// Parses a recording up to the last complete block; `damage` gives the reason if that is not the end. Throws
// `unreadable` if `bytes` is not a recording or has another version. Memory is bounded by the content of the complete
// blocks.
recording parse(std::string_view bytes, watcher* watching = nullptr);

// Returns whether the file begins as a recording does, or is the beginning of that.
bool is_recording(const std::string& path);
// Throws std::system_error if it does not. To read the file ends this process's lock of it.
void require_recording(const std::string& path);
// These return the bytes of a file, and the recording in a file. Both throw `unreadable`, which names the file.
std::string content_of(const std::string& path);
recording read(const std::string& path);

}  // namespace tarn::format
