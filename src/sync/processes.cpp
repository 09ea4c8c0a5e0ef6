// The processes of an application. The process that ran the initialiser forks them, so that they share read-only data
// without a copy. Each has its own workers, and one that dies is replaced.
//
// Parent and child communicate over a pair of sockets, with one byte for each message. The parent sends reload, stop
// and hurry; the child reports that its workers run, and that all have returned. When the channel closes, the parent is
// gone, which also means a stop. Signals are not suitable: those of a terminal or a service manager reach the whole
// group at once, and a second stop signal has another meaning.
#include "sync/application_inside.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tarn::detail {
namespace {

using namespace std::chrono_literals;

constexpr int stopped_alone = 64;  // exit status of a child that was stopped on its own: it is replaced
constexpr auto grace = 1s;         // a child ends at its own deadline; the parent's is later
constexpr auto soon = 10s;         // a process that lived longer did not die because of its start
constexpr auto first_pause = 10ms;
constexpr unsigned max_doublings = 10;
#if defined(__SANITIZE_THREAD__)
constexpr unsigned threads_of_a_sanitizer = 1;  // it starts with the first thread, and a callback has a watchdog
#else
constexpr unsigned threads_of_a_sanitizer = 0;
#endif

void close_channel(int& channel) noexcept {
  if (channel >= 0) {
    close(channel);
    channel = -1;
  }
}

}  // namespace

unsigned number_of_threads() noexcept {
  std::error_code error;
  unsigned count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return error ? 0 : count;
}

// --- The parent -----------------------------------------------------------------------------------------------------

int application_inside::run_processes() {
  if (number_of_threads() > threads_before_ + threads_of_a_sanitizer) {
    say("not started: another thread runs already, and a process is forked from one thread alone");
    return static_cast<int>(application_end::not_started);
  }
  processes_.resize(options_.processes);
  for (unsigned number = 0; number < options_.processes; ++number) processes_[number].number = number;
  bool is_ready = false;
  for (;;) {
    for (process& child : processes_) reap_or_start(child);
    if (!is_ready &&
        std::all_of(processes_.begin(), processes_.end(), [](const process& child) { return child.has_begun; })) {
      is_ready = true;
      tell_manager("READY=1");
    }
    advance();
    // The parent reloads first: later children inherit its result, and a failed reload is not passed on.
    if (is_reload_requested_.exchange(false, std::memory_order_relaxed)) {
      if (do_reload()) tell_all(please_reload);
      continue;  // requests during the callback woke only the watchdog, so check again
    }
    if (!any_process_left()) break;
    take_requests(beat(stage() == stop_stage::working ? ms_to_next_start() : ms_to_deadline()));
  }
  return static_cast<int>(has_start_failed_ ? application_end::not_started
                          : process_killed_ ? application_end::without_workers
                          : process_failed_ ? application_end::worker_failed
                                            : application_end::stopped);
}

bool application_inside::any_process_left() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(), [this](const process& child) {
    return child.id != 0 || (!child.has_returned && stage() == stop_stage::working);
  });
}

void application_inside::reap_or_start(process& child) {
  if (child.id != 0) {
    hear_child(child);
    int status = 0;
    const pid_t reaped = waitpid(child.id, &status, WNOHANG);
    if (reaped > 0) {
      note_exit(child, status);
    } else if (reaped < 0) {  // something else in the program has waited for it
      note_exit(child, std::nullopt);
    }
  }
  const bool is_wanted = child.id == 0 && !child.has_returned && stage() == stop_stage::working && !has_start_failed_;
  if (is_wanted && clock::now() >= child.next_start && !fork_child(child)) {
    has_start_failed_ = has_start_failed_ || !child.has_begun;
    child.next_start = clock::now() + soon;
  }
}

// Returns false, after a message, when the process cannot be forked.
bool application_inside::fork_child(process& child) {
  const auto fail = [&](std::string_view reason) {
    line message;
    begin(message, child).append("cannot be forked: ").append(reason);
    end(message);
    return false;
  };
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(text_of_missing("a socketpair", errno));
  }
  std::fflush(nullptr);  // otherwise the child would write it again
  const pid_t id = fork();
  if (id == 0) {
    close(ends[0]);
    run_child(child.number, ends[1]);
  }
  const int saved_errno = errno;
  close(ends[1]);
  if (id < 0) {
    close(ends[0]);
    return fail(std::strerror(saved_errno));
  }
  child.id = id;
  child.channel = ends[0];
  child.has_reported_return = false;
  child.started = clock::now();
  return true;
}

void application_inside::hear_child(process& child) {
  char word = 0;
  ssize_t count;
  while (child.channel >= 0 && (count = recv(child.channel, &word, 1, 0)) >= 0) {
    if (count == 0) close_channel(child.channel);  // the child is ending; the signal says when
    child.has_begun = child.has_begun || word == workers_run;
    child.has_reported_return = child.has_reported_return || word == workers_returned;
  }
}

// Without a status, only the child's own report can say that it has done its work.
void application_inside::note_exit(process& child, std::optional<int> status) {
  const pid_t id = std::exchange(child.id, 0);
  hear_child(child);  // its last messages may not have been read
  close_channel(child.channel);
  const std::optional<int> exit_status =
      status && WIFEXITED(*status) ? std::optional(WEXITSTATUS(*status)) : std::nullopt;
  if (status ? exit_status == static_cast<int>(application_end::stopped) : child.has_reported_return) {
    child.has_returned = true;
    return;
  }
  const bool was_stopped = exit_status == stopped_alone;
  const bool is_over = stage() != stop_stage::working;
  if (is_over && (was_stopped || process_killed_)) return;
  line message;
  begin(message, child).append("process ").decimal(static_cast<std::uint64_t>(id));
  if (was_stopped) {
    message.append(" was stopped");
  } else if (!status) {
    message.append(" ended with an unknown status (something else in this program waited for it)");
  } else if (exit_status) {
    message.append(" ended with status ").decimal(static_cast<unsigned>(*exit_status));
  } else {
    message.append(" was ended by signal ").decimal(static_cast<unsigned>(WTERMSIG(*status))).append(" (");
    message.append(strsignal(WTERMSIG(*status))).append(")");
  }
  if (is_over) {
    process_failed_ = true;
  } else if (!child.has_begun) {
    has_start_failed_ = true;
    message.append(" before its workers ran: not started");
  } else {
    child.deaths = was_stopped || clock::now() - child.started >= soon ? 1 : child.deaths + 1;
    const auto pause = first_pause * (1u << std::min(child.deaths - 1, max_doublings));
    child.next_start = clock::now() + pause;
    message.append(", and starts again in ").decimal(static_cast<std::uint64_t>(pause.count())).append(" ms");
  }
  end(message);
}

void application_inside::next_stage_of_processes() {
  if (stage() == stop_stage::hurrying) {
    if (clock::now() >= deadline_) {
      kill_processes();
      if (callback_ != nullptr) leave_without_workers();
    }
    return;  // a further signal has no effect
  }
  const bool is_first = stage() == stop_stage::working;
  if (is_first) tell_manager("STOPPING=1");
  stage_.store(is_first ? stop_stage::stopping : stop_stage::hurrying, std::memory_order_relaxed);
  deadline_ = clock::now() + options_.forced_stop_timeout + grace + (is_first ? options_.stop_timeout : 0ms);
  tell_all(is_first ? please_stop : please_hurry);
}

void application_inside::kill_processes() {
  for (const process& child : processes_) {
    if (child.id != 0) {
      line message;
      begin(message, child).append("process ").decimal(static_cast<std::uint64_t>(child.id));
      message.append(" did not stop, and is killed");
      end(message);
      kill(child.id, SIGKILL);
      process_killed_ = true;
    }
  }
  deadline_ = clock::time_point::max();
}

// Returns the time until the next process is due to start; -1: none.
int application_inside::ms_to_next_start() const noexcept {
  clock::time_point next = clock::time_point::max();
  for (const process& child : processes_) {
    if (child.id == 0 && !child.has_returned) next = std::min(next, child.next_start);
  }
  return next == clock::time_point::max() ? -1 : ms_to(next);
}

application_inside::line& application_inside::begin(line& message, const process& child) const noexcept {
  begin(message).append("process ").decimal(child.number).append(" of ").decimal(options_.processes).append(": ");
  return message;
}

// Ignores failures: a full channel already holds more messages than anybody needs.
void application_inside::tell(int channel, char message) noexcept {
  static_cast<void>(send(channel, &message, 1, MSG_NOSIGNAL));
}

void application_inside::tell_all(char message) const noexcept {
  for (const process& child : processes_) {
    if (child.channel >= 0) tell(child.channel, message);
  }
}

void application_inside::add_channels(std::vector<pollfd>& descriptors) const {
  if (parent_ >= 0) {
    descriptors.push_back({parent_, POLLIN, 0});
  }
  for (const process& child : processes_) {
    if (child.channel >= 0) {
      descriptors.push_back({child.channel, POLLIN, 0});
    }
  }
}

// --- The child ------------------------------------------------------------------------------------------------------

// Does not return to main(), because the parent must destroy the objects there.
void application_inside::run_child(unsigned number, int channel) {
  for (process& child : processes_) {
    close_channel(child.channel);  // otherwise a sibling would not notice the parent's end
  }
  processes_.clear();
  own_number_ = number;
  parent_ = channel;
  first_worker_ = number * options_.workers;
  blocked_signals_.restore_child_signal();
  is_reload_requested_.store(false, std::memory_order_relaxed);
  const auto reason = text_of_exception([&] {
    wake_.replace(new_event());
    stop_.replace(new_event());
    if (const auto missing = missing_descriptor()) throw std::runtime_error(*missing);
    if (on_process) {
      if (const auto thrown = run_watched("on_process", [&] { on_process(number); })) throw std::runtime_error(*thrown);
    }
  });
  int result = static_cast<int>(application_end::not_started);
  if (reason) {
    say("not started: ", *reason);
  } else {
    result = run_workers();
  }
  std::fflush(nullptr);
  const bool has_returned = result == static_cast<int>(application_end::stopped);
  if (has_returned && stage() != stop_stage::working && !is_parent_stopping_) _exit(stopped_alone);
  if (has_returned) tell(parent_, workers_returned);
  _exit(result);
}

// Handles signals that reach the whole group: only a stop applies to this process, and only once.
void application_inside::take_signal_of_child(int number) {
  if (number == SIGTERM && stage() == stop_stage::working) stop_asked_.fetch_add(1, std::memory_order_relaxed);
}

void application_inside::hear_parent() {
  char word = 0;
  ssize_t count;
  while (parent_ >= 0 && (count = recv(parent_, &word, 1, 0)) >= 0) {
    if (count == 0) {
      close_channel(parent_);
      word = please_stop;
      if (stage() == stop_stage::working) say("the parent is gone: stopping");
    }
    if (word == please_reload) {
      is_reload_requested_.store(true, std::memory_order_relaxed);
    } else if (word == please_hurry || stage() == stop_stage::working) {
      is_parent_stopping_ = true;
      stop_asked_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace tarn::detail
