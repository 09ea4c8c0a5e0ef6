// A thread that runs one task at a time while the caller waits: several threads, one order.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace support {

class worker {
 public:
  worker() : thread_([this] { serve(); }) {}
  ~worker() { end(); }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Returns when the thread has run `task`.
  void run(std::function<void()> task) {
    std::unique_lock hold(mutex_);
    task_ = std::move(task);
    changed_.notify_all();
    changed_.wait(hold, [this] { return !task_; });
  }

  /// Returns when the thread has ended; the next run() is an error.
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard hold(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void serve() {
    std::unique_lock hold(mutex_);
    for (;;) {
      changed_.wait(hold, [this] { return is_ending_ || task_; });
      if (!task_) return;
      task_();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool is_ending_ = false;
  std::thread thread_;  // last, because it uses the others
};

}  // namespace support
