// Shows the heaps in `tarn top` for a program on Tarn's heaps that is not recorded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/collect/process_heaps.hpp"
#include "profiler/top/source.hpp"

namespace tarn::command {

class top_heaps : public top_source {
 public:
  top_heaps(pid_t process, const process_heaps& heaps) : process_(process), heaps_(heaps) {}
  // Returns its command line.
  std::string title() const;

  void look(double seconds) override;
  std::span<const char* const> views() const override;
  std::span<const analyse::live_column> columns(std::size_t view) const override;
  std::string last_title(std::size_t) const override { return "heap of"; }
  std::vector<analyse::live_row> rows(std::size_t view, bool shows_totals) override;
  std::string text_of(std::size_t view, const analyse::live_row& row) override;
  std::vector<std::string> sums(bool shows_totals, const char* per) const override;
  std::size_t threads_seen() const override { return now_.size(); }

 private:
  std::string owner_text(const heap_facts& facts);

  pid_t process_;
  process_heaps heaps_;
  std::vector<heap_facts> now_;
  std::uint64_t waiting_bytes_ = 0;                  // frees that only the sum of now_ has as done
  std::map<std::uint64_t, heap_statistics> before_;  // by address
  double seconds_ = 0;                               // 0: there was one snapshot only
  std::map<std::uint32_t, std::string> names_;       // names of threads, as last seen
};

}  // namespace tarn::command
