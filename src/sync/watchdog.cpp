// The deadlines of a stop also apply while a callback runs. The thread of run() is then inside the callback, so
// another thread takes the requests and watches the time. That thread exists only as long as the callback, because a
// process must have one thread when it forks.
#include "sync/application_inside.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <thread>

#include "platform/platform.hpp"

namespace tarn::detail {

class application_inside::watchdog {
 public:
  watchdog(application_inside& application, const char* callback) : application_(application) {
    application_.callback_ = callback;
    application_.has_callback_returned_.store(false, std::memory_order_relaxed);
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);  // handlers of the program do not run in the watchdog
    try {
      thread_ = std::thread([this] { application_.watch(); });
    } catch (const std::system_error&) {
      application_.say("no thread to watch over ", callback);  // the callback then has no deadline
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~watchdog() {
    if (thread_.joinable()) {
      application_.has_callback_returned_.store(true, std::memory_order_release);
      application_.wake_.signal();
      thread_.join();
      // The kernel counts a joined thread for a moment longer, and a process must have one thread when it forks.
      while (syscall(SYS_tgkill, getpid(), application_.watchdog_number_, 0) == 0) sched_yield();
    }
    application_.callback_ = nullptr;
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

 private:
  application_inside& application_;
  std::thread thread_;
};

std::optional<std::string> application_inside::run_watched(const char* callback,
                                                           const std::function<void()>& function) {
  const watchdog active_watchdog(*this, callback);
  return text_of_exception(function);
}

// While this thread runs, it alone uses the state of the application; its start and its join hand the state over.
void application_inside::watch() {
  pthread_setname_np(pthread_self(), "tarn-watchdog");
  watchdog_number_ = platform::thread_number();
  while (!has_callback_returned_.load(std::memory_order_acquire)) {
    take_requests(ms_to_deadline());
    for (process& child : processes_) {
      if (stage() != stop_stage::working) {
        reap_or_start(child);
      } else {
        hear_child(child);  // reap_or_start() would fork, which only run() does
      }
    }
    advance();
  }
}

}  // namespace tarn::detail
