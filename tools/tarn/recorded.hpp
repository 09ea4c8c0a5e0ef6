// A process that is recorded: the region that it counts in, and the file that this becomes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
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

  // Appends what changed, as of a moment: now, or the end. A file that cannot be written is said once and left; the
  // program goes on.
  void write_changes(const std::optional<format::end_facts>& at_end = {});
  void write_end(const format::end_facts& how);

  // When to look again: a look at one that is young is due soon, at one that is large, or whose file grows, later.
  std::chrono::steady_clock::time_point next_look() const { return next_look_; }

  // What was written last.
  const format::recording& now() const { return now_; }
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return to_ == nullptr ? 0 : to_->bytes(); }
  bool is_whole() const { return to_ != nullptr; }

 private:
  template <class Step>
  void write(Step step);
  void note_moment(const std::optional<format::end_facts>& at_end);

  region_file region_;
  std::unique_ptr<format::writer> to_;
  std::string path_;
  format::recording now_;
  std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace tarn::command
