// The implementation of an application: the parts that both kinds of workers, threads and processes, share.
#pragma once

#include <cxxabi.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tarn/application.hpp>

#include "base/text.hpp"
#include "sync/descriptors.hpp"
#include "sync/service_manager.hpp"
#include "sync/worker.hpp"

namespace tarn::detail {

using clock = std::chrono::steady_clock;

/// Refuses a second application in a process. The child of a fork may have one of its own.
class sole_application {
 public:
  explicit sole_application(const char* name) {
    pid_t expected = process_.load(std::memory_order_acquire);
    if (expected == getpid() || !process_.compare_exchange_strong(expected, getpid(), std::memory_order_acq_rel)) {
      throw std::logic_error("tarn::application \"" + std::string(name) + "\": this process has \"" +
                             name_.load(std::memory_order_relaxed) +
                             "\" already, and a signal would reach only one of them: use one with more workers, or "
                             "destroy the other one first");
    }
    name_.store(name, std::memory_order_relaxed);
  }
  ~sole_application() {
    pid_t expected = getpid();
    process_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  }
  sole_application(const sole_application&) = delete;
  sole_application& operator=(const sole_application&) = delete;

 private:
  static constinit inline std::atomic<pid_t> process_{0};
  static constinit inline std::atomic<const char*> name_{""};
};

/// Blocks the signals of an application and ignores SIGPIPE, until it is destroyed.
class blocked_signals {
 public:
  /// With `has_children`, it also blocks SIGCHLD.
  explicit blocked_signals(bool has_children) {
    sigemptyset(&blocked_);
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&blocked_, number);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_before_);
    if (has_children) {
      sigaddset(&blocked_, SIGCHLD);
      struct sigaction default_action = {};
      default_action.sa_handler = SIG_DFL;  // if SIGCHLD were ignored, the children's exit status would be lost
      sigaction(SIGCHLD, &default_action, &child_before_.emplace());
    }
    pthread_sigmask(SIG_BLOCK, &blocked_, &mask_before_);
  }
  ~blocked_signals() {
    restore_child_signal();
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    sigaction(SIGPIPE, &pipe_before_, nullptr);
  }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

  const sigset_t& set() const noexcept { return blocked_; }

  /// Restores the previous handling of SIGCHLD.
  void restore_child_signal() noexcept {
    if (child_before_) {
      sigaction(SIGCHLD, &*child_before_, nullptr);
      child_before_.reset();
      if (sigismember(&mask_before_, SIGCHLD) == 0) {
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, SIGCHLD);
        pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
      }
    }
  }

 private:
  sigset_t blocked_, mask_before_;
  struct sigaction pipe_before_ = {};
  std::optional<struct sigaction> child_before_;
};

/// Returns the number of threads of this process; 0: unknown.
unsigned number_of_threads() noexcept;

/// Returns the name of the type of the exception that is being handled.
std::string type_of_exception();

/// Returns the text of the exception that is being handled, or the name of its type if it has none. Where it says that
/// there are no descriptors left, the limit follows.
std::string text_of(const std::exception& handled);

/// Returns the text of an exception that `function` throws, or the name of its type if it has none. Passes on the
/// exception with which a cancelled thread unwinds.
template <class Function>
std::optional<std::string> text_of_exception(Function&& function) {
  try {
    function();
    return std::nullopt;
  } catch (const std::exception& thrown) {
    return text_of(thrown);
#ifdef __GLIBCXX__  // libc++ has no name for it
  } catch (abi::__forced_unwind&) {
    throw;
#endif
  } catch (...) {
    return type_of_exception();
  }
}

class application_inside {
 public:
  explicit application_inside(const application_options& options)
      : options_(options),
        sole_(options.name),
        blocked_signals_(options.processes != 0),
        signals_("a signalfd", signalfd(-1, &blocked_signals_.set(), SFD_NONBLOCK | SFD_CLOEXEC)),
        wake_("an eventfd", new_event()),
        stop_("an eventfd", new_event()),
        manager_(service_manager::open()) {}

  std::function<void()> initialise, reload, on_stop;
  std::function<void(worker&)> work;
  std::function<void(unsigned)> on_process;

  int run();
  void ask_stop() noexcept {
    stop_asked_.fetch_add(1, std::memory_order_relaxed);
    wake_.signal();
  }
  void ask_reload() noexcept {
    is_reload_requested_.store(true, std::memory_order_relaxed);
    wake_.signal();
  }

 private:
  enum class gate : std::uint8_t { shut, open, off };
  using line = base::text_buffer<1024>;

  // Each message is one line on standard error.
  line& begin(line& message) const noexcept {
    message.append("tarn: application \"").append_escaped(options_.name).append("\": ");
    if (own_number_) message.append("process ").decimal(*own_number_).append(": ");
    return message;
  }
  static void end(line& message) noexcept { message.append('\n').write_to(2); }
  void say(std::string_view text, std::string_view reason = {}) const noexcept {
    line message;
    begin(message).append(text).append_escaped(reason, 512);
    end(message);
  }

  static int new_event() noexcept { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
  /// Returns the reason why a descriptor of the application could not be opened; nothing when all are open.
  std::optional<std::string> missing_descriptor() const;

  // -- callbacks (watchdog.cpp)
  /// Returns the text of the callback's exception. A thread watches the callback: a stop requested meanwhile begins
  /// at once, and at the stop's last deadline the thread ends the process and names the callback.
  std::optional<std::string> run_watched(const char* callback, const std::function<void()>& function);
  void watch();
  class watchdog;
  bool is_parent() const noexcept { return options_.processes != 0 && !is_child(); }

  // -- the service manager (manager.cpp); a child sends it nothing
  void tell_manager(std::string_view lines) const noexcept;
  void tell_manager_of_reload() const noexcept;
  /// Sends a sign of life when half of the manager's interval is over. Returns how long poll may wait, at most
  /// `timeout_ms`. Only the thread of run() calls it: when it hangs in a callback, it sends no sign.
  int beat(int timeout_ms) noexcept;

  // -- workers, in one process (application.cpp)
  int run_workers();
  bool start();
  void body(worker_inside& me);
  bool work_until_the_end(worker_inside& me);
  void take_requests(int timeout_ms);
  bool do_reload();
  void advance();
  void next_stage();
  [[noreturn]] void leave_without_workers();
  int ms_to_deadline() const noexcept;
  int ms_to(clock::time_point time) const noexcept;
  bool all_ended() const noexcept {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& member) { return member->has_ended.load(std::memory_order_acquire); });
  }
  bool any_failed() const noexcept {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const auto& member) { return member->has_failed.load(std::memory_order_acquire); });
  }
  stop_stage stage() const noexcept { return stage_.load(std::memory_order_relaxed); }

  // -- processes (processes.cpp)
  struct process {
    unsigned number = 0;
    pid_t id = 0;                      ///< 0: no process at present
    int channel = -1;                  ///< the parent's end; a child has no channels to its siblings
    bool has_begun = false;            ///< its workers have started, or those of a predecessor have
    bool has_returned = false;         ///< it has returned
    bool has_reported_return = false;  ///< the running process has said that it returns
    unsigned deaths = 0;               ///< in a row, each soon after the fork
    clock::time_point started, next_start;
  };
  static constexpr char please_reload = 'r', please_stop = 's', please_hurry = 'h', workers_run = 'w',
                        workers_returned = 'd';

  int run_processes();
  bool fork_child(process& child);
  [[noreturn]] void run_child(unsigned number, int channel);
  bool is_child() const noexcept { return own_number_.has_value(); }
  void take_signal_of_child(int number);
  void hear_parent();
  void hear_child(process& child);
  void reap_or_start(process& child);
  void note_exit(process& child, std::optional<int> status);
  void next_stage_of_processes();
  void kill_processes();
  int ms_to_next_start() const noexcept;
  bool any_process_left() const noexcept;
  line& begin(line& message, const process& child) const noexcept;
  static void tell(int channel, char message) noexcept;
  void tell_all(char message) const noexcept;
  void add_channels(std::vector<pollfd>& polled) const;

  application_options options_;
  sole_application sole_;
  blocked_signals blocked_signals_;
  owned_descriptor signals_, wake_, stop_;
  owned_descriptor manager_;  ///< is kept open, so that signs of life do not end with the last descriptor
  std::atomic<unsigned> stop_asked_{0};
  std::atomic<bool> is_reload_requested_{false};
  std::atomic<stop_stage> stage_{stop_stage::working};
  clock::time_point deadline_;
  bool has_run_ = false;
  bool must_call_on_stop_ = false;  ///< a stop has begun, and the callback has not been called yet
  std::vector<pollfd> polled_;
  std::chrono::microseconds beat_every_{0};  ///< 0: the manager expects no sign of life
  clock::time_point next_beat_;

  // While a callback runs, only its watchdog accesses the members here that are not atomic; the thread of run() does
  // not.
  const char* callback_ = nullptr;
  std::atomic<bool> has_callback_returned_{false};
  std::uint32_t watchdog_number_ = 0;

  std::mutex mutex_;  // protects the next five members
  std::condition_variable changed_;
  gate gate_ = gate::shut;
  unsigned ready_ = 0;
  std::string why_not_;  // the reason why a worker could not start; its number follows
  unsigned who_not_ = 0;

  std::vector<std::unique_ptr<worker_inside>> workers_;

  // These members are used in the parent of processes:
  std::vector<process> processes_;
  bool has_start_failed_ = false;
  bool process_failed_ = false;  ///< a process failed during the stop
  bool process_killed_ = false;
  unsigned threads_before_ = number_of_threads();
  // These members are used in a child process:
  std::optional<unsigned> own_number_;
  int parent_ = -1;  ///< the channel; -1: the parent is gone
  bool is_parent_stopping_ = false;
  unsigned first_worker_ = 0;  ///< number in the count over all processes
};

}  // namespace tarn::detail
