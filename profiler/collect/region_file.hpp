// Reads and creates, for `tarn record`, the region that a recorded program counts in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/collect/namespaces.hpp"
#include "profiler/collect/residence.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/format/region.hpp"

namespace tarn::command {

// Tells where a recorder takes commands (control.hpp): its process, the descriptor and the inode of its pipe.
// `recorder` is 0 where it takes none.
struct control_facts {
  std::uint32_t recorder = 0, descriptor = 0;
  std::uint64_t inode = 0;
  bool is_recording = false;
  std::uint32_t answers = 0;  // commands that have been carried out
};

// Pages of a memory file that this process and the recorded one share. The system frees them when both are gone.
class region_file {
 public:
  // Creates a region. `sources` are the source_bits of the sources to record. Throws a failure when the system
  // has no room for it.
  region_file(std::uint32_t sources, std::uint64_t interval, std::uint64_t bytes);
  // Creates it in a file that exists and is empty.
  region_file(int file, std::uint32_t sources, std::uint64_t interval, std::uint64_t bytes);
  // Continues with the region of a process that was recorded before. Throws a failure if `interval` was different.
  region_file(int file, std::uint32_t sources, std::uint64_t interval);
  // Opens a region of another process for reading. Throws a failure where it cannot be opened or belongs to
  // another version of Tarn.
  explicit region_file(const std::string& path);
  region_file(const region_file&) = delete;
  region_file& operator=(const region_file&) = delete;
  ~region_file();

  // Returns a path under which the recorded program can open the region while this process runs, even if it closes
  // or execs.
  const std::string& path() const { return path_; }

  // Brings `recording` up to the present counters; while the program runs, each number is right by itself.
  void read(format::recording& recording) const;

  // Puts the files of the regions for children into the first region. owner_of() returns the process that took the
  // one at `index`; number 0 means none yet.
  void offer(const std::vector<int>& files);
  namespace_process owner_of(std::size_t index) const {
    const std::uint64_t owner = header_->spare[index].owner.load();
    return {static_cast<std::uint32_t>(owner), static_cast<std::uint32_t>(owner >> 32)};
  }
  // Returns the descriptor of the region that `process`, of our namespace, took; -1 for none.
  int descriptor_of(std::uint32_t process) const;
  // Returns the number that the counting process has for itself. Its children of fork have the file, too.
  std::uint32_t process() const { return header_->process.load(); }
  // Returns the kernel's number of the first thread, which is also the process's; 0 while there is none.
  int first_thread() const;
  std::uint32_t sources() const { return header_->sources; }
  bool is_sampled() const { return header_->interval != 0; }
  std::uint32_t missed_count() const { return header_->missed.load(); }
  int file() const { return file_; }

  // Returns the command line of the program that counts here, as it was at its last exec; empty until there is one.
  std::vector<std::string> arguments() const;

  // Returns when the program began to count, by the monotonic clock; 0 if it has not.
  // Returns how many threads the C library has started in the process, which begins with one more.
  std::uint64_t started_threads() const { return header_->started_threads.load(std::memory_order_relaxed); }
  std::uint64_t begun_ns() const { return header_->begun_ns.load(std::memory_order_relaxed); }

  // Returns the recorder's work so far.
  std::array<std::uint64_t, format::work_counter_count> work() const;

  // Returns how the counting process ended, if it called exit() or _exit().
  std::optional<format::end_facts> read_end_facts() const;
  // Returns the most memory that the process had, if it called exit() or _exit(); otherwise 0.
  std::uint64_t peak_resident_bytes() const;

  // Returns the facts without the reason.
  format::unrecorded_facts unrecorded() const;

  // Ends the recording: the program's hooks count nothing from now on.
  void stop() { set_sources(0); }

  control_facts control() const;
  void offer_control(const control_facts& facts);
  // Says that a command has been carried out, and whether there is a recording now.
  void answer_control(bool is_recording);
  bool has_spares() const { return header_->spares != 0; }

  // Returns when about the process had the most bytes in use, by the monotonic clock; 0 if it never had any.
  std::uint64_t peak_ns(const format::clock_facts& clock) const;

  // Makes the recorder search for a new peak from now on. The present bytes and blocks of a cell count as those at that
  // peak until the cell changes after it.
  void begin_peak();

  // The steps of the search for lost blocks, and of that through contents.
  format::heap_search& leaks() { return header_->leaks; }
  format::heap_search& contents() { return header_->contents; }
  // Asks the program to wait before the first free when as many bytes are in use.
  void look_through_contents_from(std::int64_t bytes) {
    header_->contents_from.store(bytes, std::memory_order_relaxed);
  }

  // Returns the recorder's notes on the addresses of the present image.
  memory_uses uses() const;
  // Returns the requested bytes in use, as far as recorded.
  std::uint64_t bytes_in_use() const;

  unsigned images() const { return header_->images.load(); }
  // Returns the errno that kept the last image from recording; 0 if nothing did.
  int problem() const { return static_cast<int>(header_->problem.load()); }
  // Returns the errno that kept the last image from recording its system calls; 0 if nothing did.
  int call_problem() const { return static_cast<int>(header_->call_problem.load()); }

 private:
  void set_sources(std::uint32_t sources) { __atomic_store_n(&header_->sources, sources, __ATOMIC_RELAXED); }
  void read_modules(format::recording& recording) const;
  void read_python_codes(format::recording& recording) const;
  void read_sites(format::recording& recording) const;
  void complete_peak(const format::cell& source, std::uint32_t site, format::heap_counts& counts) const;
  void read_threads(format::recording& recording) const;
  void read_locks(format::recording& recording) const;
  void read_open_uses(format::recording& recording,
                      const std::map<format::lock_key, format::lock_counts>& before) const;
  void read_quiet_regions(format::recording& recording) const;
  void read_excerpts(format::recording& recording, const format::thread_record& record, std::uint32_t thread) const;
  void read_cells(format::recording& recording, const format::thread_record& record, std::uint32_t actor) const;
  template <class Cell, class Take>
  void for_each(const format::thread_record& record, format::kind kind, Take take) const;
  template <class Record>
  const Record* record_at(format::offset record_offset) const {
    return reinterpret_cast<const Record*>(reinterpret_cast<const char*>(header_) + record_offset);
  }

  std::uint64_t first_tick_, first_nanosecond_;
  int file_;
  format::region_header* header_;
  std::string path_;
};

}  // namespace tarn::command
