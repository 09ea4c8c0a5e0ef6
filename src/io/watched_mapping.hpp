// Mappings of files whose SIGBUS is handled. When a file becomes shorter, its last pages are gone, and the system sends
// SIGBUS to a thread that touches them. The owner of the mapping may then make the access possible again.
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
  /// Called in the signal handler, by the thread that touched `address`. Returns true if the access may be repeated. It
  /// may only make system calls.
  using cure = bool (*)(watched_mapping& mapping, void* owner, std::uintptr_t address);

  /// Returns an unused record. The first call of a process installs the handler, which passes other SIGBUS on to the
  /// earlier one.
  static watched_mapping& take();
  void watch(const void* start, std::size_t bytes, cure handler, void* owner) noexcept;
  /// Call it before the range is unmapped, because another mapping may get its addresses afterwards.
  void forget() noexcept;

  std::uintptr_t end() const noexcept { return end_.load(std::memory_order_relaxed); }
  /// Returns true if a page was gone since watch().
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
