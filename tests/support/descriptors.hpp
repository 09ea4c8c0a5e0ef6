// Takes the descriptors of a process away, for tests of what needs one.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace support {

/// While it lives, the process may open only `left` more files, and no more than 64 altogether. The process must have
/// fewer than that at first.
class few_descriptors {
 public:
  explicit few_descriptors(unsigned left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit shortage{64, before_.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &shortage) != 0) std::abort();
    for (int copy; (copy = dup(STDERR_FILENO)) >= 0;) copies_.push_back(copy);
    if (copies_.size() < left) std::abort();
    for (; left != 0; --left) give_back_one();
  }
  ~few_descriptors() {
    while (!copies_.empty()) give_back_one();
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  few_descriptors(const few_descriptors&) = delete;
  few_descriptors& operator=(const few_descriptors&) = delete;

  /// Allows the process one more open file.
  void give_back_one() {
    close(copies_.back());
    copies_.pop_back();
  }

 private:
  rlimit before_{};
  std::vector<int> copies_;
};

/// The end of each message about EMFILE in a process of few_descriptors.
inline constexpr const char* few_descriptors_text =
    "Too many open files: this process may have 64: close some, or raise that limit (ulimit -n, LimitNOFILE= of a "
    "systemd unit)";

}  // namespace support
