// Descriptors of an application, and why one could not be opened.
#pragma once

#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/errno_kept.hpp"
#include "base/text.hpp"

namespace tarn::detail {

/// Appends the meaning of an errno. For those that say that there are no descriptors left, it adds the limit and the
/// ways to raise it.
void append_descriptor_error(base::text& message, int error) noexcept;

/// Appends only the limit and the ways to raise it; nothing for other errnos.
void append_descriptor_cure(base::text& message, int error) noexcept;

/// Says which system call failed to make a descriptor, and why. Throws std::bad_alloc.
std::string text_of_missing(std::string_view call, int error);

/// Owns a descriptor and closes it. One that could not be opened has the number -1 and the reason.
class owned_descriptor {
 public:
  /// Makes an object without a descriptor.
  owned_descriptor() noexcept = default;
  /// `call` names the system call that returned `opened`, for messages.
  owned_descriptor(const char* call, int opened) noexcept
      : call_(call), number_(opened), error_(opened < 0 ? errno : 0) {}
  ~owned_descriptor() { close_it(); }
  owned_descriptor(const owned_descriptor&) = delete;
  owned_descriptor& operator=(const owned_descriptor&) = delete;
  int number() const noexcept { return number_; }
  const char* call() const noexcept { return call_; }
  /// Returns the errno of the call; 0 where it succeeded.
  int error() const noexcept { return error_; }
  void replace(int opened) noexcept {
    error_ = opened < 0 ? errno : 0;
    close_it();
    number_ = opened;
  }

  /// Signals an eventfd. It fails only when the count is full, and then the eventfd is readable anyway.
  void signal() const noexcept {
    const base::errno_kept keep;
    const std::uint64_t increment = 1;
    static_cast<void>(!write(number_, &increment, sizeof increment));
  }
  void drain() const noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!read(number_, &count, sizeof count));
  }

 private:
  void close_it() const noexcept {
    if (number_ >= 0) close(number_);
  }

  const char* call_ = "";
  int number_ = -1;
  int error_ = 0;
};

}  // namespace tarn::detail
