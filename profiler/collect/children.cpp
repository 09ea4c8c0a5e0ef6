#include "profiler/collect/children.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <system_error>

#include "profiler/base/failure.hpp"
#include "profiler/collect/process_recording.hpp"
#include "profiler/launch/launchers.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

// Returns the end that the recorder noted or, if a signal ended the process, the end that the system reports.
std::optional<format::end_facts> end_of(const process_recording& recording, const watched_process& process) {
  if (const auto end = recording.region().read_end_facts()) return end;
  const std::optional<int> status = process.status();
  if (!status || !WIFSIGNALED(*status)) return std::nullopt;
  const format::snapshot_facts last =
      recording.now().snapshots.empty() ? format::snapshot_facts() : recording.now().snapshots.back();
  return format::end_facts{.status_is_signal = true,
                           .status = static_cast<std::uint32_t>(WTERMSIG(*status)),
                           .wall_us = last.at_ns / 1000,
                           .user_us = last.user_us,
                           .system_us = last.system_us};
}

}  // namespace

void children::offer_to(region_file& first, std::uint32_t sources, std::uint64_t interval, const region_sizes& sizes,
                        const cpu::sampler* sampler) {
  first_region_ = &first;
  children_.resize(sizes.spares);
  std::vector<int> files;
  for (child_process& child : children_) {
    child.recording = std::make_unique<process_recording>(sources, interval, sizes.spare);
    if (sampler != nullptr) child.recording->use_sampler(*sampler);
    files.push_back(child.recording->region().file());
  }
  first.offer(files);
}

// Treats a process that is not found as ended.
bool children::watch(child_process& child, const namespace_process& owner, std::size_t index) {
  if (owner.number == 0) return false;
  const std::optional<pid_t> number = find_process(owner);
  child.file_suffix = name_of(owner, number, index);
  child.process = number ? static_cast<std::uint32_t>(*number) : owner.number;
  child.watched = std::make_unique<watched_process>(number ? child.process : 0);
  return true;
}

std::chrono::steady_clock::time_point children::write_changes(const std::string& path,
                                                              const format::program_facts& first, bool writes_now) {
  using steady = std::chrono::steady_clock;
  // New children are looked for ten times a second.
  const steady::time_point now = steady::now();
  steady::time_point next = children_.empty() ? steady::time_point::max() : now + std::chrono::milliseconds(100);
  for (std::size_t index = 0; index < children_.size(); ++index) {
    child_process& child = children_[index];
    if (!child.recording->has_begun()) {
      if (child.file_suffix.empty() && !watch(child, first_region_->owner_of(index), index)) continue;
      if (child.recording->region().arguments().empty()) continue;  // it has a number, but has not counted yet
      format::program_facts facts = first;
      facts.process = child.process;
      facts.parent = first.process;
      facts.arguments = child.recording->region().arguments();
      try {
        child.recording->begin(fmt::format("{}.{}", path, child.file_suffix), facts);
      } catch (const std::system_error& error) {
        if (!has_said_failure_) print_error("tarn: {}; files of further child processes may fail too\n", error.what());
        has_said_failure_ = true;
      }
    }
    if (child.has_end) continue;
    const bool is_over = child.watched->has_ended();  // read before the last changes
    const auto end = is_over ? end_of(*child.recording, *child.watched) : std::nullopt;
    // The last snapshot is taken when the end is seen; the exit status is known once the parent has asked for it.
    if (!child.is_over && (is_over || writes_now || now >= child.recording->next_snapshot()))
      child.recording->write_changes(end);
    child.is_over = is_over;
    if (!is_over) next = std::min(next, child.recording->next_snapshot());
    if (!is_over || (!end && !writes_now)) continue;
    if (end) child.recording->write_end(*end);
    child.has_end = true;
  }
  return next;
}

void children::end_early(const std::string& path, const format::program_facts& first, recorder_prices& prices) {
  for (const child_process& child : children_) child.recording->region().stop();
  write_changes(path, first, true);
  for (child_process& child : children_) {
    if (!child.recording->has_begun() || child.has_end) continue;
    child.recording->write_end(child.recording->so_far());
    child.has_end = true;
  }
  write_work(prices);
}

void children::write_work(recorder_prices& prices) {
  for (const child_process& child : children_) {
    if (child.recording->has_begun()) child.recording->write_work(prices);
  }
}

bool children::has_running() const {
  return std::any_of(children_.begin(), children_.end(), [](const child_process& child) {
    return child.watched != nullptr && !child.watched->has_ended();
  });
}

std::vector<pollfd> children::poll_entries() const {
  std::vector<pollfd> descriptors;
  for (const child_process& child : children_) {
    if (child.recording->has_begun() && !child.is_over) descriptors.push_back({child.watched->descriptor(), POLLIN, 0});
  }
  return descriptors;
}

namespace {

bool is_of_launcher(const process_recording& process) {
  const std::vector<std::string> arguments = process.region().arguments();
  return arguments.empty() || is_launcher(arguments.front());
}
std::uint64_t processor_us(const process_recording& process) {
  if (const auto end = process.region().read_end_facts()) return end->user_us + end->system_us;
  if (process.now().snapshots.empty()) return 0;
  return process.now().snapshots.back().user_us + process.now().snapshots.back().system_us;
}

}  // namespace

process_recording& children::keep_longest_running(process_recording& launcher) {
  process_recording* longest_running = &launcher;
  if (is_of_launcher(launcher)) {
    for (const child_process& child : children_) {
      if (!child.recording->is_whole() || is_of_launcher(*child.recording)) continue;
      if (longest_running == &launcher || processor_us(*child.recording) > processor_us(*longest_running))
        longest_running = child.recording.get();
    }
  }
  format::unrecorded_facts facts = unrecorded_in(longest_running->region());
  const auto add_programs = [&](const format::unrecorded_facts& started) {
    for (const auto& [name, starts] : started.programs) facts.programs[name] += starts;
  };
  if (longest_running != &launcher) add_programs(launcher.region().unrecorded());
  for (const child_process& child : children_) {
    if (child.recording.get() == longest_running || !child.recording->has_begun()) continue;
    const format::unrecorded_facts of_child = unrecorded_in(child.recording->region());
    add_programs(of_child);
    if (!of_child.became.empty()) {
      const std::size_t reason = of_child.why.find(": ");
      ++facts.programs[analyse::file_name(of_child.became) +
                       (reason == std::string::npos ? "" : of_child.why.substr(reason))];
    } else if (!is_of_launcher(*child.recording)) {
      const std::string path = child.recording->region().arguments().front();
      ++facts.programs[analyse::file_name(path)];
    }
    // A launcher in a user namespace of its own cannot have its children recorded.
    facts.forks += of_child.forks;
    child.recording->remove();
  }
  try {
    if (longest_running != &launcher) longest_running->move_to(launcher.path());
  } catch (const std::system_error& error) {
    print_error("tarn: {}\n", error.what());
  }
  longest_running->write_unrecorded(facts);
  if (longest_running != &launcher)
    print_error("tarn: kept the recording of {}\n", fmt::join(longest_running->region().arguments(), " "));
  return *longest_running;
}

void children::write_unrecorded() {
  for (const child_process& child : children_) {
    if (!child.recording->has_begun()) continue;
    const format::unrecorded_facts facts = unrecorded_in(child.recording->region());
    child.recording->write_unrecorded(facts);
    if (!facts.became.empty())
      print_error("tarn: not recorded: process {} from its exec on, {}\n", child.process,
                  facts.why.empty() ? facts.became : facts.why);
  }
}

void children::print_summary(const region_file& first) const {
  std::size_t count = 0;
  const process_recording* last = nullptr;
  for (const child_process& child : children_) {
    if (child.file_suffix.empty() || !child.recording->is_whole() || !child.recording->save_if_replaced()) continue;
    ++count;
    last = child.recording.get();
  }
  if (count == 1) print_error("tarn: recorded 1 child process, in {}\n", last->path());
  if (count > 1)
    print_error("tarn: recorded {} child processes, each in a file of its own, such as {}\n", count, last->path());
  if (first.missed_count() != 0) {
    print_error("tarn: {} more child processes were not recorded; the limit is {}{}\n", first.missed_count(),
                children_.size(),
                children_.size() < format::max_spare_regions ? ", more with a higher ulimit -n or -v" : "");
  }
}

}  // namespace tarn::command
