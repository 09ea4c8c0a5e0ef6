#include "tarn/children.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <system_error>

namespace tarn::command {
namespace {

// What the recorder saw of its end or, where a signal ended it, what the system says.
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

void children::offer_to(region_file& first, std::uint32_t sources, std::uint64_t interval) {
  first_ = &first;
  all_.resize(format::most_spares);
  std::vector<int> files;
  for (child& each : all_) {
    each.in = std::make_unique<recorded>(sources, interval);
    files.push_back(each.in->region().file());
  }
  first.offer(files);
}

std::chrono::steady_clock::time_point children::write_changes(const std::string& path,
                                                              const format::program_facts& first, bool at_once) {
  using steady = std::chrono::steady_clock;
  // Whether there is a new one is looked for as often as that.
  const steady::time_point now = steady::now();
  steady::time_point next = all_.empty() ? steady::time_point::max() : now + std::chrono::milliseconds(100);
  for (std::size_t at = 0; at < all_.size(); ++at) {
    child& each = all_[at];
    if (!each.in->has_begun()) {
      each.process = first_->taken_by(at);
      if (each.process == 0) continue;
      if (each.watched == nullptr) each.watched = std::make_unique<watched_process>(each.process);
      if (each.in->region().words().empty()) continue;  // between its number and its first step
      format::program_facts facts = first;
      facts.process = each.process;
      facts.parent = first.process;
      facts.words = each.in->region().words();
      try {
        each.in->begin(fmt::format("{}.{}", path, each.process), facts);
      } catch (const std::system_error& error) {
        fmt::print(stderr, "tarn: {}\n", error.what());
      }
    }
    if (each.has_end) continue;
    const bool is_over = each.watched->has_ended();  // before the last changes are read
    const auto how = is_over ? end_of(*each.in, *each.watched) : std::nullopt;
    // Its last moment is the one at which its end was seen; how it ended is known once its parent has asked.
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

void children::say(const region_file& first) const {
  std::size_t count = 0;
  const recorded* one = nullptr;
  for (const child& each : all_) {
    if (each.process == 0 || !each.in->is_whole()) continue;
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
