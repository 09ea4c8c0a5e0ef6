// The region that a recorded program counts in, seen from `tarn record`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/recording.hpp"
#include "format/region.hpp"

namespace tarn::command {

// Pages without a file, that this process and the recorded one share. Gone with the last of both.
class region_file {
 public:
  // Throws a usage failure when the system has no room for it.
  // `sources`: the source_bits of what is to be recorded.
  region_file(std::uint32_t sources, std::uint64_t interval);
  // One that another process made, to look at. Throws a usage failure where it cannot be opened, or is of another Tarn.
  explicit region_file(const std::string& path);
  region_file(const region_file&) = delete;
  region_file& operator=(const region_file&) = delete;
  ~region_file();

  // A path under which the recorded program can open it while this process runs, whatever it closes or execs.
  const std::string& path() const { return path_; }

  // Brings `to` up to what is counted by now; while the program runs, each number for itself is right.
  void read(format::recording& to) const;

  // Of the first region: the files of regions for children, and which process took the one at `place`; 0: none yet.
  void offer(const std::vector<int>& files);
  std::uint32_t taken_by(std::size_t place) const { return header_->spare[place].process.load(); }
  // The file of the region that `process` took; -1: none.
  int file_of(std::uint32_t process) const;
  // The kernel's number of the thread that came first: the process's. 0: none yet.
  int first_thread() const;
  std::uint32_t sources() const { return header_->sources; }
  bool is_sampled() const { return header_->interval != 0; }
  std::uint32_t missed() const { return header_->missed.load(); }
  int file() const { return file_; }

  // The command line of the program that counts here, as it was at its last exec; empty until there is one.
  std::vector<std::string> words() const;

  // When it began to count, of the monotonic clock; 0: not yet.
  std::uint64_t begun_ns() const { return header_->begun_ns.load(std::memory_order_relaxed); }

  // How the process ended that counts here, where it came to exit() or _exit().
  std::optional<format::end_facts> ending() const;

  unsigned images() const { return header_->images.load(); }
  // The errno that kept the last image from recording; 0 if nothing did.
  int problem() const { return static_cast<int>(header_->problem.load()); }
  // The same for what kept it from recording its system calls.
  int call_problem() const { return static_cast<int>(header_->call_problem.load()); }

 private:
  void read_modules(format::recording& to) const;
  void read_sites(format::recording& to) const;
  void read_threads(format::recording& to) const;
  void read_locks(format::recording& to) const;
  void read_quiet_regions(format::recording& to) const;
  void read_excerpts(format::recording& to, const format::thread_record& from, std::uint32_t thread) const;
  void read_cells(format::recording& to, const format::thread_record& from, std::uint32_t actor) const;
  template <class Cell, class Take>
  void for_each(const format::thread_record& from, format::kind kind, Take take) const;
  template <class Record>
  const Record* at(format::offset place) const {
    return reinterpret_cast<const Record*>(reinterpret_cast<const char*>(header_) + place);
  }

  std::uint64_t first_tick_, first_nanosecond_;
  int file_;
  format::region_header* header_;
  std::string path_;
};

}  // namespace tarn::command
