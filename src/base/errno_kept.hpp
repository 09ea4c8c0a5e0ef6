#pragma once

#include <cerrno>

namespace tarn::base {

/// Restores at its end what errno was at its start: a program does not expect that malloc or free sets it.
class errno_kept {
 public:
  errno_kept() noexcept : saved_(errno) {}
  ~errno_kept() { errno = saved_; }
  errno_kept(const errno_kept&) = delete;
  errno_kept& operator=(const errno_kept&) = delete;

 private:
  int saved_;
};

}  // namespace tarn::base
