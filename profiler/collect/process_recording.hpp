// Holds a recorded process: the region that it counts in, and the file that its recording becomes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "profiler/collect/lasting_wait_watch.hpp"
#include "profiler/collect/recorder_prices.hpp"
#include "profiler/collect/region_file.hpp"
#include "profiler/cpu/sampler.hpp"
#include "profiler/format/writer.hpp"

namespace tarn::command {

class process_recording {
 public:
  process_recording(std::uint32_t sources, std::uint64_t interval, std::uint64_t region_bytes)
      : region_(sources, interval, region_bytes) {}

  // These are for a process that runs already, with the region in its file (region_file.hpp).
  process_recording(int file, std::uint32_t sources, std::uint64_t interval, std::uint64_t region_bytes)
      : region_(file, sources, interval, region_bytes) {}
  process_recording(int file, std::uint32_t sources, std::uint64_t interval) : region_(file, sources, interval) {}

  const region_file& region() const { return region_; }
  region_file& region() { return region_; }

  // Takes the samples of this process from there, too. `first_image` is the image that runs when the sampling begins.
  void use_sampler(const cpu::sampler& sampler, std::uint32_t first_image = 0) {
    sampler_ = &sampler;
    first_sampled_image_ = first_image;
  }

  // Replaces the file. Throws std::system_error when it cannot be made.
  void begin(const std::string& path, const format::program_facts& facts);
  // Begins a further file, for the events from now on; replaces a file of that name. Throws std::system_error when it
  // cannot be made.
  void begin_next(const std::string& path);
  // Replaces the file of a process that runs already. Its earlier events and CPU time do not count.
  void begin_late(const std::string& path, const format::program_facts& facts);
  // Looks, from now on with each snapshot, for what the threads wait for that have waited since before.
  void watch_lasting_waits();
  // Looks a last time, unless the process has ended. Call it before threads are interrupted, as that ends their waits.
  void end_lasting_waits(bool has_ended);
  bool has_begun() const { return !path_.empty(); }

  // Lets write_changes() try again where the file could not be written, and print nothing of that: write_failure()
  // tells it. A file is then written anew from its beginning, as the counts are still there.
  void try_again() { tries_again_ = true; }
  // Returns why the current file is not written, with its path; empty if it is written.
  const std::string& write_failure() const { return failure_; }
  // Writes the current file anew, if it is not written so far. Returns whether it has everything.
  bool complete();
  // Gives up the current file, which cannot be written, and removes what there is of it.
  void discard();

  // Appends the changes since the last call, up to now or to the end of the process. If the file cannot be written, it
  // says so once and stops writing, except after try_again(); the program continues.
  void write_changes(const std::optional<format::end_facts>& end = {});
  void write_end(const format::end_facts& end);
  // Returns the part of a program's end that belongs to the current file, and the state of a program that still runs.
  format::end_facts of_file(const format::end_facts& end) const;
  format::end_facts so_far() const;
  // Asks the process to wait for searches: for lost blocks when it exits, and through the contents of blocks at new
  // peaks.
  void request_searches(bool is_for_leaks, bool is_for_contents);
  // Makes the searches for which the process waits.
  void search_heap();
  // Prints why there was no search that was asked for, once the process has ended.
  void explain_missing_searches(bool is_for_leaks, bool is_for_contents, bool is_of_launcher);
  void write_unrecorded(const format::unrecorded_facts& facts);
  // Writes the cost of recording so far, at these prices. Call it once for each file, at its end.
  void write_work(recorder_prices& prices);

  // Moves the file to `path`, replacing the file there. Throws std::system_error.
  void move_to(const std::string& path);
  void remove();

  // Returns the time of the next snapshot. It is soon for a young recording, and later for a large one or one whose
  // file grows.
  std::chrono::steady_clock::time_point next_snapshot() const { return next_snapshot_; }

  // Returns the last counts that were read, from the begin of the process on.
  const format::recording& now() const { return now_; }
  // Returns the recording that the current file has. Call it at the end: the counts may no longer be here afterwards.
  format::recording take_file();
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return writer_ == nullptr ? 0 : writer_->bytes(); }
  // Returns how many threads the process had while it was recorded; 0 if the file began later than the process.
  std::uint64_t all_threads() const { return begun_ns_ == 0 ? region_.started_threads() + 1 : 0; }
  bool is_whole() const { return writer_ != nullptr; }
  // Returns true after a file could not be written to its end, and was not tried again or was given up.
  bool has_failed() const { return has_failed_; }
  // Copies the file to one beside it if its path leads elsewhere now, because somebody deleted, moved or replaced it,
  // and prints a line that says so, once for each file. Returns false if there is no recording at path() then. Call it
  // when nothing more is written to the file.
  bool save_if_replaced();

 private:
  void search_leaks();
  void search_contents();
  void forget_past();
  bool is_truncated();
  // Makes the file. Throws std::system_error when it cannot be made.
  void open();
  // Writes everything that the file should have by now into a new one.
  void write_all();
  void write_counts();
  void read_counts();
  template <class Step>
  void write(Step step);
  void add_snapshot(const std::optional<format::end_facts>& end);
  void add_residence();

  region_file region_;
  const cpu::sampler* sampler_ = nullptr;
  std::uint32_t first_sampled_image_ = 0;
  std::unique_ptr<format::writer> writer_;
  std::unique_ptr<format::writer> cut_writer_;  // of a file that could not be written to its end
  bool tries_again_ = false;
  std::string failure_;           // why the file is not written
  bool has_failed_ = false;       // a file could not be written to its end, and is not tried again
  bool has_work_ = false;         // the cost of recording belongs to the file
  std::uint64_t written_ns_ = 0;  // the time of the last snapshot that is in the file
  std::string path_;
  std::optional<bool> has_file_;  // what save_if_replaced() found
  format::recording now_;
  std::optional<lasting_wait_watch> lasting_waits_;
  format::recording before_;  // the counters before the current file; empty for the first one
  format::end_facts end_before_;
  std::uint64_t collector_before_us_ = 0;  // of the files before
  bool knows_all_blocks_ = true;           // it was recorded from the process's beginning
  std::uint64_t begun_ns_ = 0;  // when a further file began, by the monotonic clock; 0: the program's begin counts
  std::chrono::steady_clock::time_point next_snapshot_{}, next_residence_{};
};

// Returns the present counts of unrecorded processes in the region, with the reason.
format::unrecorded_facts unrecorded_in(const region_file& region);

}  // namespace tarn::command
