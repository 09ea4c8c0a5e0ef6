#include "sync/application_inside.hpp"

#include <poll.h>
#include <sched.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <utility>

#include <tarn/service.hpp>
#include <tarn/work_phase.hpp>

#include "platform/platform.hpp"

namespace tarn::detail {
namespace {

// Binds the calling thread to one of the processors that it may use; `number` counts these and wraps around. If the
// kernel refuses, the thread keeps all of them.
void bind_to_processor(unsigned number) noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
  unsigned before = number % static_cast<unsigned>(CPU_COUNT(&allowed));
  for (unsigned processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed) && before-- == 0) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(processor, &only);
      sched_setaffinity(0, sizeof only, &only);
      return;
    }
  }
}

// Returns the name of a thread that does not block all of these signals; nothing where there is none, or no /proc. The
// kernel may deliver such a signal to that thread, and its default action ends the process.
std::optional<std::string> thread_that_takes(const sigset_t& signals) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream status(entry->path() / "status");
    std::string name;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:\t")) {
        name = line.substr(6);
      } else if (line.starts_with("SigBlk:\t")) {
        const std::uint64_t blocked = std::strtoull(line.c_str() + 8, nullptr, 16);
        for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
          if (sigismember(&signals, number) == 1 && (blocked >> (number - 1) & 1) == 0) return name;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string type_of_exception() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "an exception of another language";
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr),
                                                    std::free);
  return std::string("an exception of type ") + (name != nullptr ? name.get() : type->name());
}

std::string text_of(const std::exception& handled) {
  if (*handled.what() == '\0') return type_of_exception();
  const auto* const failed = dynamic_cast<const std::system_error*>(&handled);
  if (failed == nullptr) return handled.what();
  base::text_buffer<256> cure;
  for (const int error : {EMFILE, ENFILE}) {
    if (failed->code() == static_cast<std::errc>(error)) append_descriptor_cure(cure, error);
  }
  return handled.what() + std::string(cure.view());
}

int application_inside::run() {
  if (std::exchange(has_run_, true)) throw std::logic_error("tarn::application: run() can be called only once");
  if (const auto reason = missing_descriptor()) {
    say("not started: ", *reason);
    return static_cast<int>(application_end::not_started);
  }
  if (!work || options_.workers == 0) {
    say(work ? "not started: application_options::workers is 0, and there would be nobody to work"
             : "not started: on_work() was not called, and there would be nothing to do");
    return static_cast<int>(application_end::not_started);
  }
  for (const auto& [deadline, name] : {std::pair(options_.stop_timeout, "stop_timeout"),
                                       std::pair(options_.forced_stop_timeout, "forced_stop_timeout")}) {
    if (deadline < deadline.zero()) {
      line message;
      begin(message).append("not started: application_options::").append(name).append(" is negative: -");
      message.decimal(0 - static_cast<std::uint64_t>(deadline.count())).append(" ms");
      end(message);
      return static_cast<int>(application_end::not_started);
    }
  }
  if (const auto name = thread_that_takes(blocked_signals_.set())) {
    say("construct it before other threads start: SIGHUP, SIGINT and SIGTERM may end the process, because they are not "
        "blocked in the thread ",
        *name);
  }
  if (initialise) {
    if (const auto reason = run_watched("on_initialise", initialise)) {
      say("not started: the initialiser threw: ", *reason);
      return static_cast<int>(application_end::not_started);
    }
  }
  take_requests(0);
  if (stop_asked_.load(std::memory_order_relaxed) != 0 || stage() != stop_stage::working) {
    return static_cast<int>(application_end::stopped);
  }
  beat_every_ = service_watchdog_interval() / 2;
  const work_phase from_here_on;
  return options_.processes == 0 ? run_workers() : run_processes();
}

std::optional<std::string> application_inside::missing_descriptor() const {
  for (const owned_descriptor* const descriptor : {&signals_, &wake_, &stop_, &manager_}) {
    if (descriptor->error() != 0) return text_of_missing(descriptor->call(), descriptor->error());
  }
  return std::nullopt;
}

int application_inside::run_workers() {
  if (!start()) return static_cast<int>(application_end::not_started);
  tell_manager("READY=1");
  for (;;) {
    advance();
    if (std::exchange(must_call_on_stop_, false) && on_stop) {
      if (const auto reason = run_watched("on_stop", on_stop)) say("on_stop threw: ", *reason);
      continue;  // requests during the callback woke only the watchdog, so check again
    }
    if (is_reload_requested_.exchange(false, std::memory_order_relaxed)) {
      do_reload();
      continue;
    }
    if (all_ended()) break;
    take_requests(beat(ms_to_deadline()));
  }
  for (const auto& member : workers_) member->thread.join();
  return static_cast<int>(any_failed() ? application_end::worker_failed : application_end::stopped);
}

// Begins the stop, or enters its next stage, when that was requested or its deadline has passed.
void application_inside::advance() {
  const bool is_working = stage() == stop_stage::working;
  const bool is_late = !is_working && clock::now() >= deadline_;
  const bool has_failed = is_parent() ? has_start_failed_ : any_failed();
  if (stop_asked_.exchange(0, std::memory_order_relaxed) == 0 && !is_late && !(has_failed && is_working)) return;
  if (is_parent()) {
    next_stage_of_processes();
  } else {
    next_stage();
  }
}

// Returns the time in the form that poll expects; -1: no deadline.
int application_inside::ms_to_deadline() const noexcept {
  return stage() == stop_stage::working ? -1 : ms_to(deadline_);
}
int application_inside::ms_to(clock::time_point deadline) const noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1'000'000));
}

void application_inside::take_requests(int timeout_ms) {
  polled_.assign({{signals_.number(), POLLIN, 0}, {wake_.number(), POLLIN, 0}});
  add_channels(polled_);
  poll(polled_.data(), polled_.size(), timeout_ms);  // the requests are checked even if it was interrupted
  wake_.drain();
  signalfd_siginfo signal_info;
  while (read(signals_.number(), &signal_info, sizeof signal_info) == sizeof signal_info) {
    if (is_child()) {
      take_signal_of_child(static_cast<int>(signal_info.ssi_signo));
    } else if (signal_info.ssi_signo == SIGHUP) {
      is_reload_requested_.store(true, std::memory_order_relaxed);
    } else if (signal_info.ssi_signo != SIGCHLD) {  // SIGCHLD only wakes the thread
      stop_asked_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (is_child()) hear_parent();
}

// Returns false when the reload failed.
bool application_inside::do_reload() {
  if (stage() != stop_stage::working) {
    say("no reload: it is stopping");
    return false;
  }
  if (reload) {
    tell_manager_of_reload();
    const auto reason = run_watched("on_reload", reload);
    if (stage() == stop_stage::working) tell_manager("READY=1");
    if (reason) {
      say("reload failed: ", *reason);
      return false;
    }
  }
  return true;
}

void application_inside::next_stage() {
  if (stage() == stop_stage::hurrying) {
    if (clock::now() >= deadline_ && (callback_ != nullptr || !all_ended())) leave_without_workers();
    return;  // a further signal has no effect
  }
  const bool is_first = stage() == stop_stage::working;
  if (is_first) tell_manager("STOPPING=1");
  // release: workers that see the new stage also see everything that led to the stop.
  stage_.store(is_first ? stop_stage::stopping : stop_stage::hurrying, std::memory_order_release);
  deadline_ = clock::now() + (is_first ? options_.stop_timeout : options_.forced_stop_timeout);
  stop_.signal();
  for (const auto& member : workers_) member->shut_down_sockets();
  must_call_on_stop_ = must_call_on_stop_ || is_first;
}

void application_inside::leave_without_workers() {
  if (callback_ != nullptr) say(callback_, " did not return");
  for (const auto& member : workers_) {
    if (member->has_ended.load(std::memory_order_acquire)) {
      member->thread.detach();  // joining could wait for a destructor of its thread
    } else {
      line message;
      begin(message).append("worker ").decimal(member->number).append(", thread ");
      message.decimal(member->thread_number.load(std::memory_order_relaxed)).append(", did not stop");
      if (const char* const doing = member->doing.load(std::memory_order_acquire)) {
        message.append(": ").append_escaped(doing, 256);
      }
      end(message);
    }
  }
  _exit(static_cast<int>(application_end::without_workers));
}

// Starts all workers or none: each thread reports that it is ready, with its heap, and waits for the others.
bool application_inside::start() {
  std::string reason;
  unsigned failed_number = 0;
  try {
    for (unsigned number = 0; number < options_.workers; ++number) {
      workers_.push_back(std::make_unique<worker_inside>(first_worker_ + number, stage_, stop_.number()));
      worker_inside& added = *workers_.back();
      added.thread = std::thread([this, &added] { body(added); });
    }
  } catch (const std::exception& failed) {
    reason = failed.what();
    failed_number = first_worker_ + static_cast<unsigned>(workers_.size()) - 1;
  }
  {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return !reason.empty() || !why_not_.empty() || ready_ == options_.workers; });
    if (reason.empty()) {
      reason = why_not_;
      failed_number = who_not_;
    }
    if (reason.empty() && is_child()) {
      tell(parent_, workers_run);  // comes first: a worker that ends its process at once counts as started
    }
    gate_ = reason.empty() ? gate::open : gate::off;
  }
  changed_.notify_all();
  if (reason.empty()) return true;
  for (const auto& member : workers_) {
    if (member->thread.joinable()) member->thread.join();
  }
  line message;
  begin(message).append("not started: worker ").decimal(failed_number).append(" of ");
  message.decimal(std::max(options_.processes, 1u) * options_.workers).append(": ").append_escaped(reason, 512);
  end(message);
  workers_.clear();
  return false;
}

void application_inside::body(worker_inside& me) {
  base::text_buffer<16> name;  // the kernel keeps 15 bytes
  base::text_buffer<12> number;
  number.append('-').decimal(me.number);
  const std::string_view whole = options_.name;
  name.append(whole.substr(0, 15 - number.view().size())).append(number.view()).append('\0');
  pthread_setname_np(pthread_self(), name.view().data());
  me.thread_number.store(platform::thread_number(), std::memory_order_relaxed);

  if (options_.binds_workers) bind_to_processor(me.number);

  std::optional<tarn::heap> heap;
  std::optional<scoped_current_heap> current;
  const auto reason = text_of_exception([&] {
    if (options_.has_own_heaps) {
      heap_options heap_settings = options_.heap;
      heap_settings.name = name.view().data();
      heap.emplace(heap_settings);
    }
  });
  {
    std::unique_lock hold(mutex_);
    ++ready_;
    if (reason) {
      why_not_ = *reason;
      who_not_ = me.number;
    }
    changed_.notify_all();
    changed_.wait(hold, [&] { return gate_ != gate::shut; });
    if (gate_ == gate::off) return;
  }
  // Also runs when the function of the program calls pthread_exit, or the thread is cancelled.
  struct at_end {
    application_inside& application;
    worker_inside& me;
    std::optional<tarn::heap>& heap;
    std::optional<scoped_current_heap>& current;
    std::optional<bool> failed;
    ~at_end() {
      if (!failed) {
        line message;
        application.begin(message).append("worker ").decimal(me.number).append(
            " was ended by pthread_exit or cancellation");
        application.end(message);
      }
      current.reset();
      heap.reset();  // must precede the report that the worker has ended
      me.has_failed.store(failed.value_or(true), std::memory_order_release);
      me.has_ended.store(true, std::memory_order_release);
      application.wake_.signal();
    }
  } last{*this, me, heap, current, {}};
  if (heap) current.emplace(*heap);
  last.failed = !work_until_the_end(me);
}

// Returns false when the worker threw more often than `restarts` allows.
bool application_inside::work_until_the_end(worker_inside& me) {
  worker handle(me);
  for (unsigned restarts = 0;; ++restarts) {
    const auto reason = text_of_exception([&] { work(handle); });
    if (!reason) return true;
    const bool is_restarted = restarts < options_.restarts && !handle.is_stopping();
    line message;
    begin(message).append("worker ").decimal(me.number).append(" threw");
    message.append(is_restarted ? ", and starts again: " : ": ").append_escaped(*reason, 512);
    end(message);
    if (!is_restarted) return false;
    pollfd stop{me.stop_descriptor, POLLIN, 0};
    poll(&stop, 1, static_cast<int>(10u << std::min(restarts, 7u)));  // 10 ms, 20 ms … 1.28 s
    if (handle.is_stopping()) {
      return true;  // its exception was already reported
    }
  }
}

}  // namespace tarn::detail

namespace tarn {

application::application(const application_options& options)
    : state_(std::make_unique<detail::application_inside>(options)) {}
application::~application() = default;

application& application::on_initialise(detail::callback<void()> function) {
  state_->initialise = std::move(function).take();
  return *this;
}
application& application::on_work(detail::callback<void(worker&)> function) {
  state_->work = std::move(function).take();
  return *this;
}
application& application::on_reload(detail::callback<void()> function) {
  state_->reload = std::move(function).take();
  return *this;
}
application& application::on_process(detail::callback<void(unsigned)> function) {
  state_->on_process = std::move(function).take();
  return *this;
}
application& application::on_stop(detail::callback<void()> function) {
  state_->on_stop = std::move(function).take();
  return *this;
}

int application::run() { return state_->run(); }
void application::stop() noexcept { state_->ask_stop(); }
void application::reload() noexcept { state_->ask_reload(); }

}  // namespace tarn
