// A process that is not our child, watched until it ends and after.
#pragma once

#include <cstdint>
#include <optional>

namespace tarn::command {

class watched_process {
 public:
  // One that is gone already counts as ended.
  explicit watched_process(std::uint32_t process);
  watched_process(const watched_process&) = delete;
  watched_process& operator=(const watched_process&) = delete;
  ~watched_process();

  // A process that has ended, and whose parent has not asked yet, has.
  bool has_ended() const;
  // How it ended, as wait(2) says it: once its parent has asked. Nothing before Linux 6.15.
  std::optional<int> status() const;
  // For poll(2), which finds it readable once the process has ended. Negative for one that was gone already.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace tarn::command
