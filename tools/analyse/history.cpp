#include "analyse/history.hpp"

#include <algorithm>

#include "format/reader.hpp"

namespace tarn::analyse {
namespace {

using format::recording;

// Returns for each moment the index of the interval that contains the changes before it.
std::vector<std::uint32_t> merge(const std::vector<format::moment_facts>& moments, std::size_t most,
                                 std::vector<history_interval>& into) {
  std::vector<std::uint32_t> places;
  const std::uint64_t whole = moments.back().at_ns;
  format::moment_facts before;  // the start of the interval
  for (const format::moment_facts& each : moments) {
    places.push_back(static_cast<std::uint32_t>(into.size()));
    // The ends are computed from the start of the run, so that a longer interval makes the next one shorter.
    const std::uint64_t due = (into.size() + 1) * (whole / most);
    if (each.at_ns < due) continue;  // never true for the last moment, whose time is the whole run
    const std::uint64_t spent = each.user_us + each.system_us, spent_before = before.user_us + before.system_us;
    into.push_back({before.at_ns, each.at_ns, each.resident_bytes, spent > spent_before ? spent - spent_before : 0});
    before = each;
    if (into.size() == most) {  // only a rounding rest remains
      into.back().to_ns = whole;
      places.resize(moments.size(), places.back());
      break;
    }
  }
  return places;
}

class builder final : public format::watcher {
 public:
  builder(const recording& of, history& to, std::vector<std::uint32_t> places)
      : of_(of), to_(to), places_(std::move(places)) {}

  void more(const format::cell_key_facts& key, const format::counts& by) override {
    if (!of_.cells.empty()) add<heap_course>(to_.heap, key, by);
  }
  void more(const format::lock_key& key, const format::lock_counts& by) override {
    if (!of_.lockings.empty()) add<lock_course>(to_.locks, key, by);
  }
  void more(const format::wait_key& key, const format::wait_counts& by) override {
    if (!of_.waits.empty()) add<wait_course>(to_.waits, key, by);
  }
  void more(const format::call_key& key, const format::call_counts& by) override {
    if (!of_.calls.empty()) add<call_course>(to_.calls, key, by);
  }
  void moment(const recording& so_far) override { moments_ = so_far.moments.size(); }

 private:
  template <const auto& Kept, class Key, class Counts>
  void add(course<Key, Kept.size()>& to, const Key& key, const Counts& by) {
    if (moments_ >= places_.size()) return;  // after the last moment
    const std::uint32_t interval = places_[moments_];
    point<Kept.size()> made{interval, {}};
    bool is_any = false;
    for (std::size_t at = 0; at < Kept.size(); ++at) is_any |= (made.more[at] = by[Kept[at]]) != 0;
    if (!is_any) return;
    auto& all = to[key];
    if (all.empty() || all.back().interval != interval) {
      all.push_back(made);
    } else {
      for (std::size_t at = 0; at < Kept.size(); ++at) all.back().more[at] += made.more[at];
    }
  }

  const recording& of_;
  history& to_;
  std::vector<std::uint32_t> places_;
  std::size_t moments_ = 0;
};

}  // namespace

std::size_t history::points() const {
  const auto count = [](const auto& all) {
    std::size_t sum = 0;
    for (const auto& [key, points] : all) sum += points.size();
    return sum;
  };
  return count(heap) + count(locks) + count(waits) + count(calls);
}

history history_of(const recording& of, std::string_view bytes, std::size_t most) {
  history made;
  if (of.moments.empty() || of.moments.back().at_ns == 0) return made;
  builder by(of, made, merge(of.moments, most, made.intervals));
  format::parse(bytes, &by);
  return made;
}

}  // namespace tarn::analyse
