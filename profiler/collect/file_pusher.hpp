// Sends the files of a recording to a store, in a process of its own, so that neither the program nor its recording
// waits for the store.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

#include "profiler/export/formats.hpp"
#include "profiler/export/store.hpp"

namespace tarn::command {

class file_pusher {
 public:
  // Starts the process, which sends up to `max_waiting` files later where the store is away, and drops the oldest
  // beyond. Throws a failure if there is no process.
  file_pusher(const profile_store& store, const exports::row_labels& labels, std::size_t max_waiting);
  file_pusher(const file_pusher&) = delete;
  file_pusher& operator=(const file_pusher&) = delete;
  ~file_pusher();

  // Has the file sent. Never waits.
  void add(const std::string& path, const exports::time_range& time);
  // Waits until all is sent, or for some seconds at most, or until `is_stopped`. Nothing may be added later.
  void finish(const std::function<bool()>& is_stopped);

 private:
  pid_t process_ = -1;
  int socket_ = -1;
  bool is_broken_ = false;
};

}  // namespace tarn::command
