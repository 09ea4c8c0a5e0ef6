#include "profiler/collect/file_pusher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <random>

#include "profiler/advise/analysis.hpp"
#include "profiler/base/failure.hpp"
#include "profiler/export/push.hpp"
#include "profiler/report/report.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;
using outcome = profile_store::outcome;

// While the store is away: the pauses double from the first to the longest, and each is shortened by up to half at
// random, so that many hosts do not come back together.
constexpr std::chrono::milliseconds first_pause_of_push{500}, longest_pause{60'000};
constexpr std::chrono::milliseconds longest_attempt{30'000};
// After the recording's end.
constexpr std::chrono::milliseconds time_to_finish{10'000}, time_to_end{15'000};
constexpr std::size_t largest_message = 8192;

struct ended_file {
  exports::time_range time;
  std::string path;
};

// The loop of the process.
class push_loop {
 public:
  push_loop(int socket, const profile_store& store, const exports::row_labels& labels, std::size_t max_waiting)
      : socket_(socket), store_(store), labels_(labels), max_waiting_(max_waiting) {}

  void run() {
    while (!has_ended_ || (!waiting_.empty() && steady::now() < deadline_)) {
      receive();
      if (!waiting_.empty() && steady::now() >= next_attempt_) attempt();
    }
    if (added_ == 0) return;
    const std::string unsent = waiting_.empty() ? ""
                                                : fmt::format("; {} not sent, from {} to {}", waiting_.size(),
                                                              waiting_.front().path, waiting_.back().path);
    print_error("tarn: push: {}{}\n", counts(), unsent);
  }

 private:
  std::string counts() const {
    return fmt::format("{} profile{} sent, {} retried, {} dropped", sent_, sent_ == 1 ? "" : "s", retried_, dropped_);
  }

  // Waits for files, or until the next attempt.
  void receive() {
    if (has_ended_) {
      const auto until = std::min(next_attempt_, deadline_);
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
      if (left > 0) ::poll(nullptr, 0, static_cast<int>(left));
      return;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_attempt_ - steady::now()).count();
    pollfd descriptor{socket_, POLLIN, 0};
    ::poll(&descriptor, 1, waiting_.empty() ? -1 : static_cast<int>(std::max<std::int64_t>(left, 0)));
    std::array<char, largest_message> text;
    for (;;) {
      const ssize_t size = ::recv(socket_, text.data(), text.size(), MSG_DONTWAIT);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return;
      if (size == 0) return end();
      add({text.data(), static_cast<std::size_t>(size)});
    }
  }

  void end() {
    has_ended_ = true;
    deadline_ = steady::now() + time_to_finish;
    next_attempt_ = {};  // the last chance
    pause_ = first_pause_of_push;
  }

  void add(const std::string& message) {
    ended_file file;
    int begin = 0;
    if (std::sscanf(message.c_str(), "%lu %lu %n", &file.time.from_ns, &file.time.until_ns, &begin) != 2) return;
    file.path = message.substr(static_cast<std::size_t>(begin));
    waiting_.push_back(std::move(file));
    ++added_;
    while (waiting_.size() > max_waiting_) {
      drop(waiting_[0].path, fmt::format("more than {} profiles wait", max_waiting_), drop_for_age);
    }
  }

  // Says so once for each kind of reason in a row.
  void drop(const std::string& path, const std::string& reason, int kind) {
    ++dropped_;
    if (kind != last_drop_) print_error("tarn: push: {} is dropped: {} ({})\n", path, reason, counts());
    last_drop_ = kind;
    waiting_.pop_front();
    ready_.reset();
  }

  void attempt() {
    const std::string path = waiting_.front().path;
    if (!ready_) {
      try {
        analyse::analysis analysis(read_recording(path));
        ready_ = upload_of(exports::profile(analysis), labels_, waiting_.front().time);
      } catch (const std::exception& reason) {
        return drop(path, reason.what(), drop_unread);
      }
    } else {
      ++retried_;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady::now());
    const auto longest = has_ended_ ? std::clamp(left, std::chrono::milliseconds(1), longest_attempt) : longest_attempt;
    const profile_store::reply reply = store_.post(ready_->query, ready_->body, longest);
    if (reply.result == outcome::unavailable) return wait_for_store(reply);
    if (is_away_) print_error("tarn: push: {} answers again ({})\n", store_.name(), counts());
    is_away_ = false;
    next_attempt_ = {};
    pause_ = first_pause_of_push;
    if (reply.result == outcome::refused)
      return drop(path, fmt::format("{}: {}", store_.name(), reply.reason), reply.kind);
    ++sent_;
    last_drop_ = 0;
    waiting_.pop_front();
    ready_.reset();
  }

  void wait_for_store(const profile_store::reply& reply) {
    if (!is_away_ || reply.kind != away_kind_)
      print_error("tarn: push: {}: {}; up to {} profiles wait ({})\n", store_.name(), reply.reason, max_waiting_,
                  counts());
    is_away_ = true;
    away_kind_ = reply.kind;
    std::uniform_real_distribution<double> part(0.5, 1);
    auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(pause_ * part(random_));
    const auto requested = std::min<std::chrono::milliseconds>(reply.retry_after, longest_pause);
    if (!has_ended_) wait = std::max(wait, requested);
    next_attempt_ = steady::now() + wait;
    pause_ = std::min(pause_ * 2, longest_pause);
  }

  static constexpr int drop_for_age = 1, drop_unread = 2;

  const int socket_;
  const profile_store& store_;
  const exports::row_labels& labels_;
  const std::size_t max_waiting_;
  std::deque<ended_file> waiting_;
  std::optional<profile_upload> ready_;  // the first of those that wait
  std::size_t added_ = 0, sent_ = 0, retried_ = 0, dropped_ = 0;
  bool has_ended_ = false, is_away_ = false;
  int away_kind_ = 0, last_drop_ = 0;
  steady::time_point next_attempt_{}, deadline_{};
  std::chrono::milliseconds pause_ = first_pause_of_push;
  std::minstd_rand random_{std::random_device{}()};
};

[[noreturn]] void run_process(int socket, const profile_store& store, const exports::row_labels& labels,
                              std::size_t max_waiting) {
  // A terminal's signals are the program's. This process ends when the recorder closes the socket.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, "tarn-push");
  // It yields to the program. With the lowest priority, 19, it would hardly run on a machine that is always busy, and
  // most profiles would be dropped.
  ::setpriority(PRIO_PROCESS, 0, 10);
  push_loop(socket, store, labels, max_waiting).run();
  ::_exit(0);
}

}  // namespace

file_pusher::file_pusher(const profile_store& store, const exports::row_labels& labels, std::size_t max_waiting) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(exit_code::cannot_run, "no socket for --push: {}", system_error_text(errno));
  process_ = ::fork();
  if (process_ < 0) fail(exit_code::cannot_run, "no process for --push: {}", system_error_text(errno));
  if (process_ == 0) {
    ::close(ends[0]);
    run_process(ends[1], store, labels, max_waiting);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

file_pusher::~file_pusher() {
  if (socket_ >= 0) ::close(socket_);
}

void file_pusher::add(const std::string& path, const exports::time_range& time) {
  const std::string message = fmt::format("{} {} {}", time.from_ns, time.until_ns, path);
  const bool is_sent = message.size() <= largest_message &&
                       ::send(socket_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  if (!is_sent && !is_broken_)
    print_error("tarn: push: {} is not sent, nor may later files be: the process that sends them {}\n", path,
                errno == EAGAIN ? "is behind" : "has ended");
  is_broken_ = is_broken_ || !is_sent;
}

void file_pusher::finish(const std::function<bool()>& is_stopped) {
  ::close(socket_);
  socket_ = -1;
  const auto until = steady::now() + time_to_end;
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    if (steady::now() >= until || is_stopped()) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, &status, 0);
      break;
    }
    ::poll(nullptr, 0, 10);
  }
  if (WIFSIGNALED(status))
    print_error("tarn: push: its process was ended by signal {}; files that it had not sent remain\n",
                WTERMSIG(status));
}

}  // namespace tarn::command
