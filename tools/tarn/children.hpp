// The processes that a recorded one starts, each recorded in a file of its own.
//
// A region for each lies ready, so that a child finds one however short it lives; what it counted stays there.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/recording.hpp"
#include "tarn/recorded.hpp"
#include "tarn/watched_process.hpp"

namespace tarn::command {

class children {
 public:
  // None, until offer_to() is called.
  children() = default;

  // From now on the process of this region, and what it starts, are followed.
  void offer_to(region_file& first, std::uint32_t sources, std::uint64_t interval);

  // Notices new ones, whose files are `path`.PROCESS, and writes what changed of those that are due, or have ended;
  // with `at_once` of all. `first`: of the process that was started. When to come again.
  std::chrono::steady_clock::time_point write_changes(const std::string& path, const format::program_facts& first,
                                                      bool at_once = false);

  bool any_runs() const;
  // For poll(2): of those that run, to come again as soon as one ends.
  std::vector<pollfd> running() const;

  // How many there were, and where they are recorded; nothing when there was none.
  void say(const region_file& first) const;

 private:
  struct child {
    std::uint32_t process = 0;
    std::unique_ptr<recorded> in;
    std::unique_ptr<watched_process> watched;  // once there is one
    bool is_over = false;                      // and what was counted is written
    bool has_end = false;                      // written
  };
  std::vector<child> all_;
  const region_file* first_ = nullptr;
};

}  // namespace tarn::command
