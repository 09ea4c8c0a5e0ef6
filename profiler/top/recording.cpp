#include "profiler/top/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "profiler/collect/thread_names.hpp"
#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/report/values.hpp"
#include "profiler/symbols/names.hpp"
#include "profiler/top/numbers.hpp"

namespace tarn::command {
namespace {

using analyse::live_row;
using analyse::live_view;

// The width of the longest category with a gap. Those of system calls are short, and leave more room for the place.
int category_width(live_view view) { return view == live_view::calls ? 10 : 14; }

live_view view_at(std::size_t view) { return analyse::live_views[view]; }

}  // namespace

top_recording::top_recording(const recorded_process& process) : region_(process.region) {
  now_.program.process = static_cast<std::uint64_t>(process.process);
  now_.program.mode = region_.is_sampled() ? "sampled" : "full";
}

std::string top_recording::title() const {
  std::string title;
  for (const std::string& argument : region_.arguments())
    title += title.empty() ? analyse::file_name(argument) : " " + argument;
  return title;
}

void top_recording::look(double seconds) {
  before_ = now_;
  region_.read(now_);
  name_threads(now_);
  seconds_ = symbols_ == nullptr ? std::numeric_limits<double>::infinity() : std::max(seconds, 1e-3);
  if (symbols_ == nullptr || modules_ != now_.modules.size()) {
    symbols_ = std::make_unique<analyse::symbols>(now_);
    modules_ = now_.modules.size();
  }
}

std::span<const char* const> top_recording::views() const {
  static const auto names = [] {
    std::array<const char*, analyse::live_views.size()> list{};
    std::transform(analyse::live_views.begin(), analyse::live_views.end(), list.begin(),
                   [](live_view view) { return analyse::name(view); });
    return list;
  }();
  return names;
}

std::span<const analyse::live_column> top_recording::columns(std::size_t view) const {
  return analyse::columns_of(view_at(view));
}

std::size_t top_recording::first_view() const {
  return static_cast<std::size_t>(std::find(analyse::live_views.begin(), analyse::live_views.end(), live_view::sites) -
                                  analyse::live_views.begin());
}

std::string top_recording::last_title(std::size_t view) const {
  return view_at(view) == live_view::threads ? "thread"
                                             : fmt::format("{:<{}}where", "category", category_width(view_at(view)));
}

std::vector<live_row> top_recording::rows(std::size_t view, bool shows_totals) {
  return analyse::live_rows(view_at(view), shows_totals ? format::recording() : before_, now_,
                            shows_totals ? 1 : seconds_);
}

const std::string& top_recording::name_of(const live_row& row) {
  std::string& name = names_[row.site];
  if (!name.empty()) return name;
  const std::vector<analyse::code_location> stack = analyse::stack_at(now_, row.site, *symbols_);
  name = stack.empty() ? "sites beyond the recorder's limit"
                       : printable(location_text(stack[analyse::own_frame_index(stack)], 200));
  return name;
}

std::string top_recording::text_of(std::size_t view, const live_row& row) {
  if (view_at(view) == live_view::threads) return printable(row.subject);
  return fmt::format("{:<{}}{}{}{}", row.category, category_width(view_at(view)), row.subject,
                     row.subject.empty() ? "" : " ", name_of(row));
}

std::vector<std::string> top_recording::sums(bool shows_totals, const char* per) const {
  const analyse::live_totals sums =
      analyse::totals_of(shows_totals ? format::recording() : before_, now_, shows_totals ? 1 : seconds_);
  std::string shares;
  double total = 0;
  for (const double category : sums.by_category) total += category;
  for (std::size_t index = 0; index < sums.by_category.size(); ++index) {
    if (sums.by_category[index] * 200 < total || total <= 0) continue;
    shares += fmt::format("{} {:.0f} % {}", shares.empty() ? ";" : ",", 100 * sums.by_category[index] / total,
                          analyse::name(static_cast<analyse::heap_category>(index)));
  }
  // 1,000 ms in a second is all the time of one thread.
  const auto time_text = [&](double ms) {
    return shows_totals ? fmt::format("{:.1f} s", ms / 1000) : fmt::format("{:.0f} % of one thread", ms / 10);
  };
  return {fmt::format("lock waits {}   system calls {}{}, {}", time_text(sums.wait_ms), short_number(sums.calls), per,
                      time_text(sums.call_ms)),
          fmt::format("heap {} allocations{}, {}{}; {:.0f} % remote frees; {} in use{}", short_number(sums.allocations),
                      per, bytes_text(sums.bytes), per,
                      std::min(100 * sums.remote_frees / std::max(sums.frees, 1e-9), 100.0),  // an estimate of samples
                      count_text(sums.in_use, "block"), shares)};
}

}  // namespace tarn::command
