#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/format/code.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::format {

// Throws std::system_error where a writer of this path would. The file stays as it is; a device or a pipe is not tried.
void require_writable(const std::string& path);

// Appends blocks to a file. Only one thread at a time may use a writer. Each function throws std::system_error if the
// file cannot be written; everything written before stays readable.
class writer {
 public:
  // Replaces the file if it exists. Throws std::system_error also where another process writes to it.
  explicit writer(const std::string& path);
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
  ~writer();

  void program(const program_facts& facts);
  // Writes the new and changed entries of `now` since the last call, and the last moment of `now` if it is a new one.
  void changes(const recording& now);
  void end(const end_facts& facts);
  void unrecorded(const unrecorded_facts& facts);
  void work(const work_facts& facts);

  std::uint64_t bytes() const { return bytes_; }
  // Returns whether `path` leads to the file; false where it was deleted or replaced. A device or a pipe always counts.
  bool is_at(const std::string& path) const;
  // Returns whether the file is shorter than what was written to it: somebody else truncated it.
  bool is_truncated() const;
  // Copies what is written to a new file, also from a file that was deleted. Throws std::filesystem::filesystem_error,
  // also where the path exists.
  void copy_to(const std::string& path) const;

 private:
  void put(block_kind kind, std::string_view content);
  // Adds a part to the current snapshot; end_look() closes the snapshot.
  void put_part(block_kind kind, std::string_view content);
  void end_snapshot();
  void write(const void* bytes, std::size_t size);
  void modules(const recording& now);
  void python_codes(block_kind kind, const std::vector<python_code_facts>& now, std::vector<python_code_facts>& before);
  void threads(const recording& now);
  void names(const recording& now);
  void predecessors(const recording& now);
  void limits(const recording& now);
  void modules(block_kind kind, const std::vector<module_facts>& now, std::vector<module_facts>& before,
               encoder output);
  void sites(block_kind kind, const std::vector<site_facts>& now, std::vector<site_facts>& before);
  void cpu(const cpu_recording& now);
  void locks(const recording& now);
  void quiet_regions(const recording& now);
  void clock(const recording& now);
  void peak(const recording& now);
  void residence(const recording& now);
  void leaks(const recording& now);
  void contents(const recording& now);
  void open_uses(const recording& now);
  void open_calls(const recording& now);
  void lasting(const lasting_waits& now);
  void timestamp(const recording& now);
  void excerpts(const recording& now);
  template <class Key, class Counts>
  void cells(block_kind kind, const cell_table<Key, Counts>& now, cell_table<Key, Counts>& before);

  int file_;
  std::uint64_t bytes_ = 0;
  recording written_;
  encoder snapshot_;
  std::vector<std::string> names_;           // names of threads that were already written
  std::vector<std::uint64_t> predecessors_;  // likewise
};

}  // namespace tarn::format
