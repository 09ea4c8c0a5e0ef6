// The parts of a memo that do not depend on its types: the clock, versions of files, waits between threads, forks.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace tarn::detail {

/// Returns milliseconds of a monotonic clock.
std::uint64_t memo_now_ms() noexcept;

/// The status of a file. Two versions of a file have different stamps.
struct file_stamp {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;  ///< both 0: there is no such file
  bool operator==(const file_stamp&) const = default;
};
file_stamp stamp_of(const char* path) noexcept;
/// Returns false if the file may have changed after the stamp without another stamp, because the times of files have a
/// resolution of milliseconds.
bool is_settled(const file_stamp& stamp) noexcept;

/// A load by one thread, whose answer other threads may wait for.
class memo_load {
 public:
  bool is_asked_by_caller() const noexcept { return thread_ == std::this_thread::get_id(); }
  /// Waits for finish(). Throws std::logic_error if the wait would never end: if the caller itself runs the load, or
  /// the loading thread waits, directly or through other threads and memos, for a load that the caller runs.
  void wait();
  void finish() noexcept;

 private:
  friend class memo_waits;
  std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<std::uint32_t> has_finished_{0};
};

/// Repairs a memo in the child of a fork, which has none of the parent's other threads.
class memo_in_child {
 public:
  memo_in_child(const memo_in_child&) = delete;
  memo_in_child& operator=(const memo_in_child&) = delete;

 protected:
  using forgetter = void (*)(memo_in_child&) noexcept;
  explicit memo_in_child(forgetter forget) noexcept : forget_other_threads_(forget) {}
  ~memo_in_child() = default;
  void enrol();
  void leave() noexcept;

 private:
  friend class memo_waits;
  forgetter forget_other_threads_;
  memo_in_child* next_ = nullptr;
  memo_in_child* before_ = nullptr;
};

}  // namespace tarn::detail
