// A process that is recorded: the region that it counts in, and the file that this becomes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "format/writer.hpp"
#include "tarn/region_file.hpp"

namespace tarn::command {

class recorded {
 public:
  recorded(std::uint32_t sources, std::uint64_t interval) : region_(sources, interval) {}

  const region_file& region() const { return region_; }
  region_file& region() { return region_; }

  // Replaces the file. Throws std::system_error when it cannot be made.
  void begin(const std::string& path, const format::program_facts& facts);
  bool has_begun() const { return !path_.empty(); }

  // Appends what changed, and the end. A file that cannot be written is said once and left; the program goes on.
  void write_changes();
  void write_end(const format::end_facts& how);

  // What was written last.
  const format::recording& now() const { return now_; }
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return to_ == nullptr ? 0 : to_->bytes(); }
  bool is_whole() const { return to_ != nullptr; }

 private:
  template <class Step>
  void write(Step step);

  region_file region_;
  std::unique_ptr<format::writer> to_;
  std::string path_;
  format::recording now_;
};

}  // namespace tarn::command
