// `tarn record -- PROGRAM`: runs a program with libtarn-record.so in it, and writes the counters to a file.
//
// The program is a child of this process. This process waits, reads the shared memory from time to time and at the
// end, and ends as the program did. The counters survive any end of the program; the written part survives any end of
// this process.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/output_file.hpp"
#include "profiler/cli/record_request.hpp"
#include "profiler/collect/children.hpp"
#include "profiler/collect/program_facts.hpp"
#include "profiler/collect/recorder_prices.hpp"
#include "profiler/collect/started_program.hpp"
#include "profiler/collect/summary.hpp"
#include "profiler/launch/access.hpp"
#include "profiler/launch/launchers.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/launch/start.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_pause{50};

// What is started, and with which library.
struct launch_plan {
  std::string library, program;
  start method;
  bool starts_launcher;  // its children are recorded as with --follow, and in the end one recording is kept
};

launch_plan plan_of(const record_request& request, const std::string& name) {
  constexpr auto file = "libtarn-record.so";
  require_proc();
  const std::string library = find_library(file, request.library);
  const std::string program = find_program(name);
  const start method = check_preloadable(name, program, file);
  const bool is_of_launcher = is_launcher(program);
  if (!request.every.empty() && is_of_launcher && !execs_its_program(program))
    fail(exit_code::usage,
         "--every divides the recording of one process, and {} starts its program as another one; start that program "
         "itself, or record it by --pid",
         name);
  return {library, program, method, is_of_launcher && !request.follows_children && request.every.empty()};
}

// The recording of a program that this process starts, and of its children where they are recorded.
class program_recording {
 public:
  program_recording(const record_request& request, const launch_plan& plan, const std::vector<std::string>& arguments)
      : request_(request),
        starts_launcher_(plan.starts_launcher),
        records_children_(request.follows_children || plan.starts_launcher),
        sources_(sources_of(request)),
        interval_(request.records_all || request.searches_heap() ? 0 : request.interval),
        sizes_(sizes_within_limits(interval_ == 0, records_children_)),
        pusher_(start_pusher(request)),
        first_(sources_, interval_, sizes_.first),
        facts_(facts_of(arguments, sources_, interval_)),
        sampler_(request.records_cpu ? add_cpu_source(facts_, 0) : nullptr),
        prices_(plan.library, sources_, interval_ == 0),
        files_(first_, prices_, request.output, bounds_of(request)) {
    if (sampler_ != nullptr) first_.use_sampler(*sampler_);
    if (records_children_) children_.offer_to(first_.region(), sources_, interval_, sizes_, sampler_.get());
    connect(files_, pusher_.get());
    try {
      files_.begin(facts_);
    } catch (const std::system_error& error) {
      fail(exit_code::io_error, "{}{}", error.what(), missing_folder_text(request.output, error.code().value()));
    }
    if (!records_children_) {
      control_.emplace(first_.region());
      first_.request_searches(request.searches_leaks, request.searches_contents);
    }
    preload(plan.library);
    set_environment(format::region_variable, first_.region().path());
    // With --follow the counts would belong to several recordings together.
    counts_.emplace((sources_ & source_bit(format::heap_kind)) != 0 && !request.follows_children);
    program_.emplace(arguments, plan.program, plan.method);
    if (sampler_ != nullptr && !records_children_) sampler_->keep_only(program_->process());
    facts_.process = static_cast<std::uint64_t>(program_->process());
    files_.begin(facts_);
  }

  // Records to the end, that of the program or that of the recording's time, and ends this process as the program ends.
  [[noreturn]] void run() {
    if (record_to_end()) {
      finish();
    } else {
      finish_early();
    }
    std::fflush(nullptr);
    program_->end_alike();
  }

 private:
  // Returns false if the time of the recording is over before the program has ended.
  bool record_to_end() {
    auto next = steady::now() + first_pause;
    while (!program_->wait(poll_entries(), next)) {
      if (steady::now() >= counts_->next_turn()) counts_->turn();
      if (control_) obey(*control_, files_, first_);
      take_samples(sampler_.get());
      first_.search_heap();
      files_.write_changes();
      if (files_.is_over()) return false;
      constexpr std::chrono::milliseconds longest_exit{20};  // that it waits for the search to begin
      const auto next_look = request_.searches_heap() ? steady::now() + longest_exit : steady::time_point::max();
      next =
          std::min({next_look, files_.next(), counts_->next_turn(), children_.write_changes(request_.output, facts_)});
      if (sampler_ != nullptr) next = std::min(next, sampler_->next());
    }
    return true;
  }

  std::vector<pollfd> poll_entries() const {
    std::vector<pollfd> descriptors = children_.poll_entries();
    if (control_) descriptors.push_back({control_->descriptor(), POLLIN, 0});
    return descriptors;
  }

  void finish_early() {
    first_.region().stop();
    if (sampler_ != nullptr) sampler_->stop();
    control_.reset();
    files_.end_early();
    files_.finish();
    children_.end_early(request_.output, facts_, prices_);
    print_summary(sources_, starts_launcher_ ? children_.keep_longest_running(first_) : first_);
    finish_pusher(files_, pusher_.get(), [] { return false; });
    while (!program_->wait({}, steady::now() + std::chrono::hours(1))) {
    }
  }

  void finish() {
    if (sampler_ != nullptr) sampler_->take();
    files_.end(program_->end(*counts_));
    first_.explain_missing_searches(request_.searches_leaks, request_.searches_contents, starts_launcher_);
    program_->stop_on_signals();
    follow_children();
    if (sampler_ != nullptr) sampler_->stop();
    children_.write_changes(request_.output, facts_, true);
    if (!files_.is_paused()) first_.write_work(prices_);
    children_.write_work(prices_);
    if (starts_launcher_) {
      print_summary(sources_, children_.keep_longest_running(first_));
    } else {
      first_.write_unrecorded(unrecorded_in(first_.region()));
      files_.finish();
      print_summary(sources_, first_);
      children_.write_unrecorded();
      children_.print_summary(first_.region());
    }
    finish_pusher(files_, pusher_.get(), started_program::is_stopped);
  }

  // Records the children that the program left behind, until they end or a signal comes.
  void follow_children() {
    children_.write_changes(request_.output, facts_);
    while (request_.follows_children && children_.has_running() && !started_program::is_stopped()) {
      std::vector<pollfd> entries = children_.poll_entries();
      ::poll(entries.data(), entries.size(), static_cast<int>(first_pause.count()));
      take_samples(sampler_.get());
      children_.write_changes(request_.output, facts_);
    }
  }

  const record_request& request_;
  const bool starts_launcher_, records_children_;
  const std::uint32_t sources_;
  const std::uint64_t interval_;  // 0: every event
  const region_sizes sizes_;
  const std::unique_ptr<file_pusher> pusher_;
  process_recording first_;  // of the program itself
  format::program_facts facts_;
  const std::unique_ptr<cpu::sampler> sampler_;
  children children_;
  recorder_prices prices_;
  bounded_recording files_;
  std::optional<recorder_control> control_;  // only where one process is recorded
  std::optional<processor_counts> counts_;
  std::optional<started_program> program_;
};

}  // namespace

void record_program(const record_request& request, const std::vector<std::string>& arguments) {
  program_recording(request, plan_of(request, arguments.front()), arguments).run();
}

}  // namespace tarn::command
