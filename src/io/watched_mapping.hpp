// Mappings of files in which SIGBUS has a cure. Pages of a file that becomes shorter are gone, and the system sends
// SIGBUS to the thread that touches them: here the owner of the mapping may make the access possible again.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tarn::io {

/// A record that the signal handler reads. Records are used again and never freed, so that it can walk them at any
/// time.
class watched_mapping {
 public:
  /// Called inside the signal handler, in the thread that touched `address`; true: the access may be repeated. Makes
  /// system calls only.
  using cure = bool (*)(watched_mapping& mapping, void* owner, std::uintptr_t address);

  /// An unused record. The first call of a process installs the handler. Other SIGBUS go where they went before.
  static watched_mapping& take();
  void watch(const void* start, std::size_t bytes, cure handler, void* owner) noexcept;
  /// To be called before the range is unmapped: after that its addresses are somebody else's.
  void forget() noexcept;

  std::uintptr_t end() const noexcept { return end_.load(std::memory_order_relaxed); }
  /// A page was gone since watch().
  bool has_faulted() const noexcept { return has_faulted_.load(std::memory_order_relaxed); }

 private:
  static void install() noexcept;
  static void handle(int signal, siginfo_t* info, void* context);
  static bool repair(std::uintptr_t address);

  std::atomic<std::uintptr_t> start_{0};  // 0: of no mapping
  std::atomic<std::uintptr_t> end_{0};
  std::atomic<bool> has_faulted_{false};
  std::atomic<bool> is_taken_{false};
  cure cure_ = nullptr;
  void* owner_ = nullptr;
  watched_mapping* next_ = nullptr;
};

}  // namespace tarn::io
