// The parts of a memo that do not depend on its types: the clock, versions of files, who waits for whom, forks.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace tarn::detail {

/// Returns milliseconds of a monotonic clock.
std::uint64_t memo_now_ms() noexcept;

/// Tells two versions of a file apart.
struct file_stamp {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;  ///< both 0: there is no such file
  bool operator==(const file_stamp&) const = default;
};
file_stamp stamp_of(const char* path) noexcept;
/// Returns false if a change of the file may have left the stamp as it is: times of files have a step of milliseconds.
bool is_settled(const file_stamp& stamp) noexcept;

/// A question that one thread asks, while others may wait for its answer.
class memo_load {
 public:
  bool is_asked_by_caller() const noexcept { return thread_ == std::this_thread::get_id(); }
  /// Waits for land(). Throws std::logic_error where that would never end: when the thread that asks is the caller, or
  /// waits, in whatever memo and through whatever threads, for a question that the caller asks.
  void wait();
  void land() noexcept;

 private:
  friend class memo_waits;
  std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<std::uint32_t> has_landed_{0};
};

/// What a memo does in the child of a fork, which has none of the parent's other threads.
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
