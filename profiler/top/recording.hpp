// The view of `tarn top` for a recorded program.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "profiler/collect/attach.hpp"
#include "profiler/collect/region_file.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"
#include "profiler/top/source.hpp"

namespace tarn::command {

class top_recording : public top_source {
 public:
  // Throws a failure if the region cannot be read.
  explicit top_recording(const recorded_process& process);
  // Returns its command line.
  std::string title() const;

  void look(double seconds) override;
  std::span<const char* const> views() const override;
  std::span<const analyse::live_column> columns(std::size_t view) const override;
  std::string last_title(std::size_t view) const override;
  std::size_t first_view() const override;
  std::vector<analyse::live_row> rows(std::size_t view, bool shows_totals) override;
  std::string text_of(std::size_t view, const analyse::live_row& row) override;
  std::vector<std::string> sums(bool shows_totals, const char* per) const override;
  std::size_t threads_seen() const override { return now_.threads.size(); }

 private:
  const std::string& name_of(const analyse::live_row& row);

  region_file region_;
  format::recording now_, before_;
  double seconds_ = 1;
  std::unique_ptr<analyse::symbols> symbols_;  // for now_, until a module is added
  std::size_t modules_ = 0;
  std::map<std::uint32_t, std::string> names_;  // names of sites
};

}  // namespace tarn::command
