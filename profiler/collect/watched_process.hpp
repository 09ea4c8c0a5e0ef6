// Watches a process that is not our child until it ends, and reads its exit status afterwards.
#pragma once

#include <cstdint>
#include <optional>

namespace tarn::command {

class watched_process {
 public:
  // A process that is gone already counts as ended, as does 0.
  explicit watched_process(std::uint32_t process);
  watched_process(const watched_process&) = delete;
  watched_process& operator=(const watched_process&) = delete;
  ~watched_process();

  // Returns true also for a process that has ended and whose parent has not asked for its status yet.
  bool has_ended() const;
  // Returns the exit status as wait(2) reports it, once the parent has asked for it. Returns nothing before Linux
  // 6.15.
  std::optional<int> status() const;
  // Returns a descriptor for poll(2), which becomes readable once the process has ended; negative for a process that
  // was gone already.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace tarn::command
