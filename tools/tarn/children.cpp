#include "tarn/children.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <system_error>

#include "tarn/launchers.hpp"
#include "tarn/unrecorded.hpp"

namespace tarn::command {
namespace {

// Returns the end that the recorder saw or, where a signal ended the process, what the system says.
std::optional<format::end_facts> end_of(const recorded& in, const watched_process& process) {
  if (const auto seen = in.region().ending()) return seen;
  const std::optional<int> status = process.status();
  if (!status || !WIFSIGNALED(*status)) return std::nullopt;
  const format::moment_facts last = in.now().moments.empty() ? format::moment_facts() : in.now().moments.back();
  return format::end_facts{.by_signal = true,
                           .status = static_cast<std::uint32_t>(WTERMSIG(*status)),
                           .wall_us = last.at_ns / 1000,
                           .user_us = last.user_us,
                           .system_us = last.system_us};
}

}  // namespace

void children::offer_to(region_file& first, std::uint32_t sources, std::uint64_t interval, const region_sizes& sizes) {
  first_ = &first;
  all_.resize(sizes.spares);
  std::vector<int> files;
  for (child& each : all_) {
    each.in = std::make_unique<recorded>(sources, interval, sizes.spare);
    files.push_back(each.in->region().file());
  }
  first.offer(files);
}

// Treats a process that is not found as ended.
bool children::find(child& of, const namespace_process& taken_by, std::size_t place) {
  if (taken_by.number == 0) return false;
  const std::optional<pid_t> found = find_process(taken_by);
  of.name = name_of(taken_by, found, place);
  of.process = found ? static_cast<std::uint32_t>(*found) : taken_by.number;
  of.watched = std::make_unique<watched_process>(found ? of.process : 0);
  return true;
}

std::chrono::steady_clock::time_point children::write_changes(const std::string& path,
                                                              const format::program_facts& first, bool at_once) {
  using steady = std::chrono::steady_clock;
  // New children are looked for ten times a second.
  const steady::time_point now = steady::now();
  steady::time_point next = all_.empty() ? steady::time_point::max() : now + std::chrono::milliseconds(100);
  for (std::size_t at = 0; at < all_.size(); ++at) {
    child& each = all_[at];
    if (!each.in->has_begun()) {
      if (each.name.empty() && !find(each, first_->taken_by(at), at)) continue;
      if (each.in->region().words().empty()) continue;  // it has a number, but has not counted yet
      format::program_facts facts = first;
      facts.process = each.process;
      facts.parent = first.process;
      facts.words = each.in->region().words();
      try {
        each.in->begin(fmt::format("{}.{}", path, each.name), facts);
      } catch (const std::system_error& error) {
        fmt::print(stderr, "tarn: {}\n", error.what());
      }
    }
    if (each.has_end) continue;
    const bool is_over = each.watched->has_ended();  // read before the last changes
    const auto how = is_over ? end_of(*each.in, *each.watched) : std::nullopt;
    // The last snapshot is taken when the end is seen; the exit status is known once the parent has asked for it.
    if (!each.is_over && (is_over || at_once || now >= each.in->next_look())) each.in->write_changes(how);
    each.is_over = is_over;
    if (!is_over) next = std::min(next, each.in->next_look());
    if (!is_over || (!how && !at_once)) continue;
    if (how) each.in->write_end(*how);
    each.has_end = true;
  }
  return next;
}

bool children::any_runs() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const child& each) { return each.watched != nullptr && !each.watched->has_ended(); });
}

std::vector<pollfd> children::running() const {
  std::vector<pollfd> all;
  for (const child& each : all_) {
    if (each.in->has_begun() && !each.is_over) all.push_back({each.watched->descriptor(), POLLIN, 0});
  }
  return all;
}

namespace {

bool is_of_launcher(const recorded& of) {
  const std::vector<std::string> words = of.region().words();
  return words.empty() || is_launcher(words.front());
}
std::uint64_t processor_us(const recorded& of) {
  if (const auto end = of.region().ending()) return end->user_us + end->system_us;
  if (of.now().moments.empty()) return 0;
  return of.now().moments.back().user_us + of.now().moments.back().system_us;
}

}  // namespace

recorded& children::keep_one(recorded& launcher) {
  recorded* kept = &launcher;
  if (is_of_launcher(launcher)) {
    for (const child& each : all_) {
      if (!each.in->is_whole() || is_of_launcher(*each.in)) continue;
      if (kept == &launcher || processor_us(*each.in) > processor_us(*kept)) kept = each.in.get();
    }
  }
  format::unrecorded_facts facts = unrecorded_in(kept->region());
  for (const child& each : all_) {
    if (each.in.get() == kept || !each.in->has_begun()) continue;
    if (!is_of_launcher(*each.in)) {
      const std::string path = each.in->region().words().front();
      ++facts.programs[path.substr(path.find_last_of('/') + 1)];
    }
    each.in->remove();
  }
  try {
    if (kept != &launcher) kept->move_to(launcher.path());
  } catch (const std::system_error& error) {
    fmt::print(stderr, "tarn: {}\n", error.what());
  }
  kept->write_unrecorded(facts);
  return *kept;
}

void children::say(const region_file& first) const {
  std::size_t count = 0;
  const recorded* one = nullptr;
  for (const child& each : all_) {
    if (each.name.empty() || !each.in->is_whole()) continue;
    ++count;
    one = each.in.get();
  }
  if (count == 1) fmt::print(stderr, "tarn: and a process that it started, in {}\n", one->path());
  if (count > 1)
    fmt::print(stderr, "tarn: and {} processes that it started, each in its file, such as {}\n", count, one->path());
  if (first.missed() != 0) {
    fmt::print(stderr, "tarn: {} further processes were not recorded: at most {} are\n", first.missed(), all_.size());
  }
}

}  // namespace tarn::command
