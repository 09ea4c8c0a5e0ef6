#include "profiler/collect/process_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <system_error>

#include "profiler/base/failure.hpp"
#include "profiler/collect/heap_search.hpp"
#include "profiler/collect/process_state.hpp"
#include "profiler/collect/thread_names.hpp"
#include "profiler/format/clock.hpp"
#include "profiler/format/interval.hpp"
#include "profiler/launch/program.hpp"
#include "profiler/predict/recording_cost.hpp"

namespace tarn::command {

namespace {

constexpr std::chrono::milliseconds shortest_pause{50};
constexpr int max_snapshots = 24;  // while a recording's age doubles
// These times the duration of a look bound the CPU time of `tarn record`: a snapshot, and one of the process's memory,
// for which the kernel holds a lock of the process.
constexpr int min_pause_factor = 100, residence_pause_factor = 300;

// Lengthens the pause with age, so that there are tens of snapshots in a second and some hundreds in a day.
std::chrono::nanoseconds pause_after(const format::recording& now, std::chrono::nanoseconds duration) {
  const std::chrono::nanoseconds age(now.snapshots.empty() ? 0 : now.snapshots.back().at_ns);
  return std::max<std::chrono::nanoseconds>({shortest_pause, age / max_snapshots, duration * min_pause_factor});
}

}  // namespace

template <class Step>
void process_recording::write(Step step) {
  if (writer_ == nullptr || is_truncated()) return;
  try {
    step(*writer_);
  } catch (const std::system_error& error) {
    failure_ = fmt::format("{}: {}", path_, error.what());
    cut_writer_ = std::move(writer_);
    if (tries_again_) return;
    const std::string content = written_ns_ == 0
                                    ? "it has no events"
                                    : fmt::format("it has the first {:.1f} s", static_cast<double>(written_ns_) * 1e-9);
    print_error("tarn: {}; {}\n", failure_, content);
    has_failed_ = true;
  }
}

// Says so and ends the file if somebody has truncated it: further blocks would follow a hole.
bool process_recording::is_truncated() {
  if (!writer_->is_truncated()) return false;
  print_error("tarn: {} was truncated by another program while it was written; it cannot be read\n", path_);
  has_failed_ = true;
  writer_.reset();
  return true;
}

void process_recording::begin(const std::string& path, const format::program_facts& facts) {
  path_ = path;
  now_.program = facts;
  now_.has_ended = false;
  has_work_ = false;
  open();
}

void process_recording::open() {
  has_file_.reset();
  written_ns_ = 0;
  // The file may be the same, and to close it later would end the new writer's lock.
  writer_.reset();
  cut_writer_.reset();
  try {
    writer_ = std::make_unique<format::writer>(path_);
  } catch (const std::system_error& error) {
    failure_ = error.what();
    throw;
  }
  failure_.clear();
  write([&](format::writer& writer) { writer.program(now_.program); });
}

void process_recording::write_all() {
  try {
    open();
  } catch (const std::system_error&) {
    return;
  }
  write_counts();
  if (now_.has_ended) write([&](format::writer& writer) { writer.end(now_.end); });
  if (has_work_) write([&](format::writer& writer) { writer.work(now_.work); });
  if (!now_.unrecorded.is_empty()) write([&](format::writer& writer) { writer.unrecorded(now_.unrecorded); });
}

bool process_recording::complete() {
  if (!failure_.empty()) write_all();
  return failure_.empty();
}

void process_recording::discard() {
  if (cut_writer_ != nullptr && cut_writer_->is_at(path_)) remove();
  cut_writer_.reset();
  has_failed_ = true;
}

void process_recording::read_counts() {
  region_.read(now_);
  if (sampler_ == nullptr || region_.begun_ns() == 0) return;
  // A reused region began before the sampling, in an earlier image of the process.
  sampler_->read(static_cast<pid_t>(now_.program.process), region_.begun_ns(), first_sampled_image_, now_.cpu);
}

void process_recording::forget_past() {
  const std::uint64_t process = now_.program.process;
  if (const auto state = state_of(process)) {
    end_before_.user_us = state->user_us;
    end_before_.system_us = state->system_us;
  }
  const input_output_counts counts = input_output_of(process);
  end_before_.reads = counts.reads;
  end_before_.writes = counts.writes;
  begun_ns_ = format::monotonic_nanoseconds();
  lasting_waits_.reset();
  now_.lasting = {};
  now_.snapshots.clear();
  now_.residence = now_.peak_resident = {};
  now_.peak_ns = 0;
  region_.begin_peak();
  before_ = now_;
  before_.sites.clear(), before_.modules.clear(), before_.python_codes.clear(),
      before_.excerpts.clear();  // since() takes those of now
  before_.cpu.stacks.clear(), before_.cpu.modules.clear(), before_.cpu.python_codes.clear();
}

void process_recording::begin_next(const std::string& path) {
  forget_past();
  format::program_facts facts = now_.program;
  facts.started = static_cast<std::uint64_t>(std::time(nullptr));
  facts.is_late = true;
  begin(path, facts);
}

void process_recording::begin_late(const std::string& path, const format::program_facts& facts) {
  format::program_facts late_facts = facts;
  late_facts.is_late = true;
  begin(path, late_facts);
  read_counts();
  knows_all_blocks_ = false;
  forget_past();
}

void process_recording::watch_lasting_waits() {
  lasting_waits_.emplace(static_cast<pid_t>(now_.program.process), std::max(region_.images(), 1U) - 1);
}

void process_recording::end_lasting_waits(bool has_ended) {
  if (lasting_waits_ && !has_ended) {
    region_.read(now_);
    lasting_waits_->look(now_, true);
  }
  lasting_waits_.reset();
}

format::end_facts process_recording::of_file(const format::end_facts& end) const {
  if (begun_ns_ == 0) return end;
  const auto difference = [](std::uint64_t now, std::uint64_t before) { return now - std::min(now, before); };
  format::end_facts part = end;
  part.wall_us = (format::monotonic_nanoseconds() - begun_ns_) / 1000;
  part.user_us = difference(end.user_us, end_before_.user_us);
  part.system_us = difference(end.system_us, end_before_.system_us);
  part.reads = difference(end.reads, end_before_.reads);
  part.writes = difference(end.writes, end_before_.writes);
  part.instructions = part.branch_mispredictions = 0;  // known only for the whole run
  return part;
}

format::end_facts process_recording::so_far() const {
  format::end_facts end;
  end.is_running = true;
  const input_output_counts counts = input_output_of(now_.program.process);
  end.reads = counts.reads, end.writes = counts.writes;
  end = of_file(end);
  if (now_.snapshots.empty()) return end;
  end.wall_us = now_.snapshots.back().at_ns / 1000;
  end.user_us = now_.snapshots.back().user_us;
  end.system_us = now_.snapshots.back().system_us;
  return end;
}

void process_recording::add_snapshot(const std::optional<format::end_facts>& end) {
  if (region_.begun_ns() == 0) return;
  const std::uint64_t begun_ns = begun_ns_ != 0 ? begun_ns_ : region_.begun_ns();
  format::snapshot_facts snapshot = now_.snapshots.empty() ? format::snapshot_facts{} : now_.snapshots.back();
  const std::uint64_t at_ns = end ? end->wall_us * 1000 : format::monotonic_nanoseconds() - begun_ns;
  snapshot.at_ns = std::max(snapshot.at_ns, at_ns);
  if (end) {
    snapshot.user_us = end->user_us;
    snapshot.system_us = end->system_us;
    snapshot.peak_resident_bytes = std::max(snapshot.peak_resident_bytes, region_.peak_resident_bytes());
  } else if (const auto state = state_of(now_.program.process)) {
    snapshot.resident_bytes = state->resident_bytes;
    snapshot.peak_resident_bytes = std::max(snapshot.peak_resident_bytes, state->peak_resident_bytes);
    snapshot.user_us = state->user_us - std::min(state->user_us, end_before_.user_us);
    snapshot.system_us = state->system_us - std::min(state->system_us, end_before_.system_us);
  }
  now_.snapshots.push_back(snapshot);
}

void process_recording::add_residence() {
  const auto began = std::chrono::steady_clock::now();
  if (began < next_residence_ || now_.snapshots.empty() ||
      (region_.sources() & format::source_bit(format::heap_kind)) == 0)
    return;
  if (!region_.unrecorded().became.empty()) return;  // nothing is known of that program's memory
  const std::uint64_t bytes_in_use = region_.bytes_in_use();
  if (auto residence = residence_of(now_.program.process, region_.uses())) {
    residence->at_ns = now_.snapshots.back().at_ns;
    residence->knows_in_use = knows_all_blocks_;
    residence->in_use_bytes = knows_all_blocks_ ? bytes_in_use : 0;
    now_.residence = *residence;
  }
  const auto end_time = std::chrono::steady_clock::now();
  next_residence_ = end_time + residence_pause_factor * (end_time - began);
}

void process_recording::write_changes(const std::optional<format::end_facts>& end) {
  const auto began = std::chrono::steady_clock::now();
  add_snapshot(end);
  if (!end) add_residence();
  read_counts();
  const std::uint64_t begun_ns = begun_ns_ != 0 ? begun_ns_ : region_.begun_ns();
  if (const std::uint64_t peak_ns = region_.peak_ns(now_.clock); peak_ns > begun_ns) now_.peak_ns = peak_ns - begun_ns;
  if (lasting_waits_) lasting_waits_->look(now_);
  name_threads(now_);
  if (tries_again_ && !failure_.empty()) {
    write_all();
  } else {
    write_counts();
  }
  const auto end_time = std::chrono::steady_clock::now();
  next_snapshot_ = end_time + pause_after(now_, end_time - began);
}

void process_recording::write_counts() {
  write([&](format::writer& writer) {
    if (begun_ns_ == 0) {
      writer.changes(now_);
    } else {
      writer.changes(format::since(before_, now_));
    }
  });
  if (writer_ != nullptr && !now_.snapshots.empty()) written_ns_ = now_.snapshots.back().at_ns;
}

void process_recording::search_leaks() {
  if (region_.leaks().step.load(std::memory_order_acquire) != format::search_step::waiting) return;
  try {
    now_.leaks = command::search_leaks(static_cast<pid_t>(now_.program.process), region_);
    now_.has_leaks = true;
  } catch (const failure& reason) {
    print_error("tarn: lost blocks were not searched for: {}\n", reason.what());
  }
}

void process_recording::request_searches(bool is_for_leaks, bool is_for_contents) {
  constexpr std::int64_t first_peak = 65536;  // below it, what could be saved is hardly worth a change
  if (is_for_leaks) region_.leaks().step.store(format::search_step::requested);
  if (!is_for_contents) return;
  region_.contents().step.store(format::search_step::requested);
  region_.look_through_contents_from(first_peak);
}

void process_recording::explain_missing_searches(bool is_for_leaks, bool is_for_contents, bool is_of_launcher) {
  const auto explain = [&](const char* missing, const char* reason) {
    print_error("tarn: {}: {}\n", missing,
                is_of_launcher ? "the program starts others: name the one to search itself"
                : region_.unrecorded().is_restricted
                    ? "the program had restricted its system calls (seccomp) when it ended: record it without that"
                    : reason);
  };
  if (is_for_leaks && region_.leaks().step.load() <= format::search_step::requested)
    explain("lost blocks were not searched for",
            "the program did not end by exit(): let it return from main or call exit()");
  if (is_for_contents && region_.contents().thread.load() == 0)  // no thread has waited for it
    explain("the contents of blocks were not looked through", "the heap had less than 64 KiB in use at each free");
}

void process_recording::search_heap() {
  search_contents();
  search_leaks();
}

void process_recording::search_contents() {
  if (region_.contents().step.load(std::memory_order_acquire) != format::search_step::waiting) return;
  // So the last one sees at least eight ninths of the peak, and all of them together take nine times as long as it.
  constexpr std::uint64_t steps = 8;
  const std::uint64_t in_use = region_.bytes_in_use();
  region_.look_through_contents_from(static_cast<std::int64_t>(in_use + in_use / steps));
  try {
    format::contents_facts facts;
    facts.sites = command::search_contents(static_cast<pid_t>(now_.program.process), region_);
    facts.at_ns = format::monotonic_nanoseconds() - region_.begun_ns();
    facts.in_use_bytes = in_use;
    now_.contents = std::move(facts);
  } catch (const failure& reason) {
    region_.look_through_contents_from(std::numeric_limits<std::int64_t>::max());
    print_error("tarn: the contents of blocks were not looked through: {}\n", reason.what());
  }
}

void process_recording::write_unrecorded(const format::unrecorded_facts& facts) {
  if (facts.is_empty()) return;
  now_.unrecorded = facts;
  write([&](format::writer& writer) { writer.unrecorded(facts); });
}

void process_recording::move_to(const std::string& path) {
  std::filesystem::rename(path_, path);
  path_ = path;
}

void process_recording::remove() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

bool process_recording::save_if_replaced() {
  if (has_file_) return *has_file_;
  if (writer_ == nullptr || is_truncated()) return false;
  has_file_ = true;
  if (writer_->is_at(path_)) return true;
  const std::string copy = path_ + ".saved";
  std::string problem;
  try {
    writer_->copy_to(copy);
  } catch (const std::filesystem::filesystem_error& error) {
    problem = error.code().message();
  }
  print_error("tarn: {} was deleted, moved or replaced while it was written; {}\n", path_,
              problem.empty()
                  ? "the recording is in " + copy
                  : fmt::format("it is not the recording, which could not be copied to {}: {}", copy, problem));
  if (problem.empty()) path_ = copy;
  has_file_ = problem.empty();
  return *has_file_;
}

void process_recording::write_work(recorder_prices& prices) {
  now_.work.prices = prices.get().ns;
  now_.work.is_disturbed = prices.get().is_disturbed;
  now_.work.amounts = begun_ns_ == 0 ? analyse::amounts_of(now_) : analyse::amounts_of(format::since(before_, now_));
  if (begun_ns_ != 0) now_.work.amounts[format::start_work] = 0;  // the program had started before this file
  const std::uint64_t collector_us = prices.collector_us();
  now_.work.collector_us = collector_us - collector_before_us_;
  collector_before_us_ = collector_us;  // of the next file
  has_work_ = true;
  write([&](format::writer& writer) { writer.work(now_.work); });
}

format::recording process_recording::take_file() {
  return begun_ns_ == 0 ? std::move(now_) : format::since(before_, now_);
}

void process_recording::write_end(const format::end_facts& end) {
  now_.has_ended = true;
  now_.end = end;
  write([&](format::writer& writer) { writer.end(end); });
}

format::unrecorded_facts unrecorded_in(const region_file& region) {
  format::unrecorded_facts facts = region.unrecorded();
  if (facts.became.empty()) return facts;
  try {
    check_preloadable(facts.became, find_program(facts.became), "libtarn-record.so");
  } catch (const failure& reason) {
    facts.why = reason.what();
  }
  return facts;
}

}  // namespace tarn::command
