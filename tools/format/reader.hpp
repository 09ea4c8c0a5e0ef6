#pragma once

#include <string>
#include <string_view>

#include "format/code.hpp"
#include "format/recording.hpp"

namespace tarn::format {

// Receives the changes of each snapshot and then its moment, in the order of the file.
class watcher {
 public:
  virtual ~watcher() = default;
  // Receives the increase since the previous snapshot; for a longest time the new value, or 0 if it has not changed.
  virtual void more(const cell_key_facts&, const counts&) {}
  virtual void more(const call_key&, const call_counts&) {}
  virtual void more(const lock_key&, const lock_counts&) {}
  virtual void more(const wait_key&, const wait_counts&) {}
  virtual void more(const noise_key&, const noise_counts&) {}
  virtual void more(const order_key&, const order_counts&) {}
  // Receives the recording up to the last of its moments.
  virtual void moment(const recording&) {}
};

// Parses a recording up to the last complete block; `damage` gives the reason if that is not the end. Throws
// `unreadable` if `bytes` is not a recording or has another version. Memory is bounded by the content of the complete
// blocks.
recording parse(std::string_view bytes, watcher* watching = nullptr);

// These return the bytes of a file, and the recording in a file. Both throw `unreadable`, which names the file.
std::string content_of(const std::string& path);
recording read(const std::string& path);

}  // namespace tarn::format
