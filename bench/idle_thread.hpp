// The second thread of a process that is measured.
#pragma once

#include <atomic>
#include <thread>

namespace bench {

/// A thread that sleeps during the lifetime of this object, so that every row runs in a process of several threads:
/// allocators and the C library take short cuts in a process of one thread, and no server is one.
class idle_thread {
 public:
  ~idle_thread() {
    ends_.test_and_set();
    ends_.notify_one();
    thread_.join();
  }

 private:
  std::atomic_flag ends_;
  std::thread thread_{[this] { ends_.wait(false); }};
};

}  // namespace bench
