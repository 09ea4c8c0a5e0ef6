// A scope in which nothing may be asked of the kernel or of the global heap: proved in builds with checks and under
// `tarn record`, next to free elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// Of the recorder, which is loaded before the program under `tarn record`; else null. Visible in every build, so that
// they stay for the loader to find.
extern "C" {
[[gnu::weak, gnu::visibility("default")]] void tarn_recorder_quiet_begin(const char* name) noexcept;
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

enum class noise_kind : std::uint8_t {
  system_call,
  lock_wait,  ///< futex(2), as every mutex and condition variable waits
  heap,       ///< malloc, free, new, delete and their kin
};

/// One disturbance. `stack` has return addresses, the innermost first, as `addr2line` takes them.
struct noise {
  static constexpr std::size_t deepest = 24;
  noise_kind kind;
  const char* name;  ///< "write", "futex", "malloc"
  std::size_t depth;
  const void* frames[deepest];

  std::span<const void* const> stack() const noexcept { return {frames, depth}; }
};

/// What a test asks for instead of words on standard error.
class noise_log {
 public:
  static constexpr std::size_t most_kept = 16;

#if TARN_CHECKS
  /// All noises, also those that were not kept.
  std::size_t count() const noexcept { return count_; }
  /// The first ones.
  std::span<const noise> kept() const noexcept { return {kept_, count_ < most_kept ? count_ : most_kept}; }
  /// A line for each that was kept, with its stack below it; empty when it was quiet. Allocates.
  std::string text() const;

 private:
  friend class quiet_region;
  std::size_t count_ = 0;
  noise kept_[most_kept];
#else
  std::size_t count() const noexcept { return 0; }
  std::span<const noise> kept() const noexcept { return {}; }
  std::string text() const { return {}; }
#endif
};

enum class on_noise : std::uint8_t {
  report,  ///< with its stack, on standard error; the first few of a region
  abort,   ///< the same, and the end of the process
};

#if TARN_CHECKS

/// From here to the end of the scope the calling thread is listened to: each system call, each wait for a lock and each
/// call of the global heap is reported, and then done as ever. What needs none of them is not slowed. Regions lie in
/// each other as scopes do; an outer one hears what an inner one hears. Other threads are not listened to, and nothing
/// that a region does throws.
///
/// Cost: five system calls to enter and leave the outermost region; some microseconds for each noise.
///
/// Not heard: a lock that is free, as it is taken without the kernel; calls that the kernel answers in user space, such
/// as clock_gettime; memory of Tarn's own heaps, pools and arenas as long as they have some; all that comes after a
/// fork, or after a thread was started, until the region ends.
///
/// Signals from outside wait until the region ends or makes a call. SIGSYS is the region's: a program that handles it
/// gets those that are not. While a handler of a fault blocks SIGSYS (sigfillset does), it must make no call in a
/// region: the kernel would end the process. A region must not be left by longjmp.
class quiet_region {
 public:
  /// `name` appears in reports, and must live as long as the region.
  explicit quiet_region(const char* name, on_noise policy = on_noise::report) noexcept;
  quiet_region(const char* name, noise_log& log) noexcept;
  ~quiet_region();
  quiet_region(const quiet_region&) = delete;
  quiet_region& operator=(const quiet_region&) = delete;

  /// Whether system calls and waits are heard: on x86-64 with Linux 5.11 or later. Heap calls are heard by every build
  /// with checks in which the program does not bring a malloc of its own, linked into it.
  static bool hears_calls() noexcept;
  static bool hears_heap() noexcept;

 private:
  friend struct listener;
  void enter() noexcept;
  bool hear(const noise& heard, bool is_reported) noexcept;

  const char* name_;
  noise_log* log_ = nullptr;
  quiet_region* outer_ = nullptr;
  std::size_t reported_ = 0;
  on_noise policy_ = on_noise::report;
};

#else

/// Heard by `tarn record` alone. Cost elsewhere: two tests.
class quiet_region {
 public:
  explicit quiet_region(const char* name, on_noise = on_noise::report) noexcept {
    detail::tell_recorder_of_region(name);
  }
  quiet_region(const char* name, noise_log&) noexcept { detail::tell_recorder_of_region(name); }
  ~quiet_region() { detail::tell_recorder_of_end(); }
  quiet_region(const quiet_region&) = delete;
  quiet_region& operator=(const quiet_region&) = delete;

  static bool hears_calls() noexcept { return false; }
  static bool hears_heap() noexcept { return false; }
};

#endif

}  // namespace tarn
