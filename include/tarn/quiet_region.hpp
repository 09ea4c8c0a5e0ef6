// Marks a scope that must not use the kernel or the global heap. Builds with checks and `tarn record` verify it; in
// other builds it costs next to nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tarn/detail/config.hpp>

// The recorder, which `tarn record` loads before the program, defines these; otherwise they are null. They are
// visible in every build, so that the loader can find them.
extern "C" {
/// Called by the constructor of a quiet_region. The recorder notes the beginning of a region of this name, for the
/// calling thread. It throws nothing.
[[gnu::weak, gnu::visibility("default")]] void tarn_recorder_quiet_begin(const char* name) noexcept;
/// Called by the destructor of a quiet_region. The recorder notes the end of the newest region of the calling thread.
[[gnu::weak, gnu::visibility("default")]] void tarn_recorder_quiet_end() noexcept;
}

namespace tarn {

namespace detail {
inline void tell_recorder_of_region(const char* name) noexcept {
  if (tarn_recorder_quiet_begin != nullptr) [[unlikely]]
    tarn_recorder_quiet_begin(name);
}
inline void tell_recorder_of_end() noexcept {
  if (tarn_recorder_quiet_end != nullptr) [[unlikely]]
    tarn_recorder_quiet_end();
}
}  // namespace detail

/// Kinds of violations.
enum class violation_kind : std::uint8_t {
  system_call,  ///< any system call but futex(2)
  lock_wait,    ///< futex(2), in which every mutex and condition variable waits
  heap,         ///< malloc, free, new, delete and related functions
};

/// One violation, as plain data that any thread may copy. stack() returns return addresses, innermost first, in the
/// form that `addr2line` takes.
struct quiet_violation {
  /// Most frames of a stack that are kept.
  static constexpr std::size_t max_frames = 24;
  /// Says which kind of call broke the rule.
  violation_kind kind;
  const char* name;  ///< "write", "futex", "malloc"
  /// Frames that are valid: the first ones of `frames`.
  std::size_t depth;
  /// Return addresses, innermost first.
  const void* frames[max_frames];

  /// Returns the valid frames.
  std::span<const void* const> stack() const noexcept { return {frames, depth}; }
};

/// Collects violations for a test, instead of text on standard error. Threads: only the one whose regions write into
/// it, and it must outlive them. Errors: only text() throws, std::bad_alloc. Cost: 3.4 KiB in builds with checks; in
/// others it is empty and counts nothing.
class violation_log {
 public:
  /// The number of violations whose details stay in the log; all are counted.
  static constexpr std::size_t capacity = 16;

#if TARN_CHECKS
  /// Returns the number of all violations, including those without details.
  std::size_t count() const noexcept { return count_; }
  /// Returns the first violations.
  std::span<const quiet_violation> first_violations() const noexcept {
    return {first_violations_, count_ < capacity ? count_ : capacity};
  }
  /// Returns one line for each of the first violations, with its stack below it; empty when there was none.
  std::string text() const;

 private:
  friend class quiet_region;
  std::size_t count_ = 0;
  quiet_violation first_violations_[capacity];
#else
  std::size_t count() const noexcept { return 0; }
  std::span<const quiet_violation> first_violations() const noexcept { return {}; }
  std::string text() const { return {}; }
#endif
};

/// Says what a region does at a violation.
enum class on_violation : std::uint8_t {
  report,  ///< reports the first few violations of a region, with their stacks, on standard error
  abort,   ///< reports the violation likewise, and ends the process
};

#if TARN_CHECKS

/// Watches the calling thread from here to the end of the scope: each system call, each wait for a lock and each call
/// of the global heap is reported and then executed as usual. Other code is not slowed down. Regions nest as scopes
/// do, and an outer region also sees the violations of an inner one. Other threads are not watched, and a region
/// throws nothing.
///
/// Cost: five system calls to enter and leave the outermost region; some microseconds for each violation.
///
/// It does not detect: taking a lock that is free, because that does not use the kernel; calls that the kernel
/// answers in user space, such as clock_gettime; memory of Tarn's own heaps, pools and arenas as long as they have
/// some; everything after a fork, or after a thread was started, until the region ends.
///
/// Signals from outside wait until the region ends or makes a call. The region uses SIGSYS: a program that handles
/// SIGSYS receives only the signals that are not the region's. A fault handler that blocks SIGSYS (sigfillset does)
/// must make no call in a region: the kernel would end the process. A region must not be left by longjmp.
class quiet_region {
 public:
  /// `name` appears in reports and must live as long as the region.
  explicit quiet_region(const char* name, on_violation policy = on_violation::report) noexcept;
  quiet_region(const char* name, violation_log& log) noexcept;
  ~quiet_region();
  quiet_region(const quiet_region&) = delete;
  quiet_region& operator=(const quiet_region&) = delete;

  /// Returns true when system calls and waits are detected: on x86-64 with Linux 5.11 or later.
  static bool observes_calls() noexcept;
  /// Returns true when heap calls are detected: in every build with checks, unless the program links a malloc of its
  /// own.
  static bool observes_heap() noexcept;

 private:
  friend struct listener;
  void enter() noexcept;
  bool note_violation(const quiet_violation& violation, bool is_reported) noexcept;

  const char* name_;
  violation_log* log_ = nullptr;
  quiet_region* outer_ = nullptr;
  std::size_t reported_ = 0;
  on_violation policy_ = on_violation::report;
};

#else

/// Does nothing but tell `tarn record`, which detects violations. It belongs to the thread that constructs it, and
/// throws nothing. Cost without a recorder: two tests.
class quiet_region {
 public:
  explicit quiet_region(const char* name, on_violation = on_violation::report) noexcept {
    detail::tell_recorder_of_region(name);
  }
  quiet_region(const char* name, violation_log&) noexcept { detail::tell_recorder_of_region(name); }
  ~quiet_region() { detail::tell_recorder_of_end(); }
  quiet_region(const quiet_region&) = delete;
  quiet_region& operator=(const quiet_region&) = delete;

  static bool observes_calls() noexcept { return false; }
  static bool observes_heap() noexcept { return false; }
};

#endif

}  // namespace tarn
