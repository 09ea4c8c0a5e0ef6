#include "analyse/analysis.hpp"

#include <algorithm>
#include <utility>

namespace tarn::analyse {
namespace {

constexpr double least_saved_share = 0.001;  // share of the processor time
constexpr auto read_only_words = "tarn::read_only<T>, if nothing writes to it once threads run";

std::string line_of(const site_view& view) {
  if (view.facts.sums[format::blocks] < least_allocations) return {};
  if (view.facts.is == category::start_up) return read_only_words;
  std::string line;
  for (const offer& each : view.offers) {
    if (each.predicted.by == remedy::drop_in && !line.empty()) break;
    line += (line.empty() ? "" : "; else ") + each.how.words;
    if (!each.how.code.empty()) line += ": " + each.how.code;
    if (each.predicted.by != remedy::hoist) break;
  }
  return line;
}

// Sites that change together, because the code to change is the same line, or the same type in the same function.
struct common_change {
  std::vector<std::uint32_t> chosen;  // their site numbers
  std::vector<const site*> sites;
  site sums;
  bool is_copied_text = false, is_filled = false, by_new = false;
  std::uint64_t grows_to = 0;  // the most bytes that one site grows to

  void add(const site& more, const site_view& shown, const std::vector<place>& frames) {
    sites.push_back(&more);
    add_site(sums, shown.facts);
    sums.grows = sums.grows || shown.facts.grows;
    grows_to = std::max(grows_to, growth_of(shown.facts).bytes);
    chosen.push_back(more.number);
    chosen.insert(chosen.end(), more.others.begin(), more.others.end());
    is_copied_text = shown.made.what == thing::text && shown.made.copies;
    is_filled = shown.made.what == thing::text || shown.made.what == thing::vector;
    by_new = std::any_of(frames.begin(), frames.end(),
                         [](const place& each) { return each.function.starts_with("operator new"); });
  }
  replay_job completed(replay_job job) const {
    job.is_copied_text = is_copied_text;
    job.is_filled = is_filled;
    job.by_new = by_new;
    const growth all = growth_of(sums);
    reserve(job, all.steps == 0 ? grows_to : all.bytes);
    return job;
  }
};
std::string key_of(const site_view& shown) {
  const place& where = *shown.where();
  std::string key = where.module + '\n' + where.function + '\n';
  key += where.function.empty() ? std::to_string(where.offset) : where.file;
  return key + '\n' + (shown.made.type.empty() ? std::to_string(where.line) : shown.made.type);
}

}  // namespace

analysis::analysis(format::recording of, const costs& prices, double measured_cpu_ns, const format::recording* whole,
                   const std::vector<std::string>& wrappers)
    : recording_(std::move(of)),
      prices_(prices),
      heap_(find(recording_, whole)),
      symbols_(recording_),
      deciders_(recording_, heap_.sites, symbols_, wrappers),
      predictor_(recording_, prices),
      whole_(predictor_.of(heap_, measured_cpu_ns)) {
  sort_by_cost(heap_.sites);
  places_ = grouped(recording_, heap_.sites, deciders_);
  sort_by_cost(places_);
  blocks_.resize(recording_.sites.size());
  for (const site& each : heap_.sites) blocks_[each.number] = each.sums[format::blocks];
}

void analysis::sort_by_cost(std::vector<site>& sites) const {
  // The sort moves small indexes and then permutes the sites in place, because a site is large.
  std::vector<std::pair<double, std::uint32_t>> order(sites.size());  // current ns, negated
  for (std::size_t at = 0; at < sites.size(); ++at)
    order[at] = {-predictor_.of(sites[at]).now_ns.middle(), static_cast<std::uint32_t>(at)};
  std::sort(order.begin(), order.end());
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    if (order[start].second == start) continue;
    site first = std::move(sites[start]);
    std::uint32_t at = start;
    for (std::uint32_t from = std::exchange(order[at].second, at); from != start;
         from = std::exchange(order[at].second, at)) {
      sites[at] = std::move(sites[from]);
      at = from;
    }
    sites[at] = std::move(first);
  }
}

std::vector<caller> analysis::callers_of(const site& of) {
  std::vector<caller> found;
  if (of.others.empty()) return found;
  const auto add = [&](std::uint32_t number) {
    const format::site_facts& facts = recording_.sites[number];
    // The caller is the next frame with a name, or the next frame if none has one.
    const place* next = nullptr;
    for (std::size_t at = deciders_.frame_of(number) + 1; at < facts.frames.size(); ++at) {
      const place& each = symbols_.of(facts.image, facts.frames[at]).front();
      if (next == nullptr || !each.function.empty()) next = &each;
      if (!each.function.empty()) break;
    }
    if (next == nullptr) return;
    const auto same = std::find_if(found.begin(), found.end(), [&](const caller& other) {
      return other.at.function == next->function && other.at.module == next->module && other.at.line == next->line &&
             (!next->function.empty() || other.at.offset == next->offset);
    });
    if (same == found.end()) {
      found.push_back({*next, blocks_[number]});
    } else {
      same->blocks += blocks_[number];
    }
  };
  add(of.number);
  for (const std::uint32_t number : of.others) add(number);
  std::stable_sort(found.begin(), found.end(), [](const caller& a, const caller& b) { return a.blocks > b.blocks; });
  return found;
}

site_view analysis::view(const site& of) {
  site_view made;
  made.facts = of;
  std::vector<place> frames = frames_of(recording_, of, symbols_);
  const format::site_facts& stack = recording_.sites[of.number];
  std::size_t passed = 0;
  for (std::size_t at = 0; at < deciders_.frame_of(of.number); ++at)
    passed += symbols_.of(stack.image, stack.frames[at]).size();
  made.made = made_at(frames, passed);
  read_source(made.made, frames, recording_.program.started);
  made.facts.grows = made.made.grows;
  const auto found = replayed_.find({of.number, of.others.size()});
  growth grown = growth_of(made.facts);
  if (found != replayed_.end() && found->second.grown.steps != 0) grown = found->second.grown;
  made.predicted = predictor_.of(made.facts, grown);
  if (found != replayed_.end()) correct(made.predicted, made.facts, found->second.by, surprises_in(recording_));
  for (prediction& each : made.predicted.remedies) each.at_least = spares_more(each.by, made.made);
  const std::size_t all = frames.size(), own = made.made.place;
  made.stack = stack_of(std::move(frames));
  // The index has to skip the frames that stack_of removed; it is 0 if those include the deciding frame.
  const std::size_t taken = all - made.stack.size();
  made.place_at = own >= taken ? own - taken : 0;
  made.callers = callers_of(of);
  if (of.sums[format::blocks] >= least_allocations && of.is != category::kept) {
    for (const prediction& each : made.predicted.remedies) {
      if (each.saved_ns.middle() < 0) continue;  // 0 if there are no prices
      if (made.made.is_foreign && each.by != remedy::drop_in) continue;
      made.offers.push_back({each, advise(each.by, made.made, made.facts, grown)});
    }
  }
  const auto saves = [&](const offer& each) { return share(each.predicted.saved_ns).high >= least_saved_share; };
  made.is_worth_it = (made.offers.empty() && of.is == category::start_up) || !knows_processor_time() ||
                     std::any_of(made.offers.begin(), made.offers.end(), saves);
  made.remedy = line_of(made);
  return made;
}

void analysis::replay(const std::vector<site>& sites, std::size_t most, const player& by) {
  if (recording_.excerpts.empty()) return;
  std::map<std::string, common_change> changes;
  for (std::size_t at = 0; at < std::min(most, sites.size()); ++at) {
    const site& each = sites[at];
    if (each.sums[format::blocks] < least_allocations || each.is != category::transient) continue;
    if (predictor_.is_on_drop_in(each)) continue;
    const site_view shown = view(each);
    if (shown.where() != nullptr) changes[key_of(shown)].add(each, shown, frames_of(recording_, each, symbols_));
  }
  std::vector<replay_job> jobs;
  std::vector<const common_change*> whose;
  for (auto& [key, each] : changes) {
    std::sort(each.chosen.begin(), each.chosen.end());
    replay_job job = job_of(recording_, each.chosen);
    if (job.plans.empty()) continue;
    jobs.push_back(each.completed(std::move(job)));
    whose.push_back(&each);
  }
  if (jobs.empty()) return;
  const std::vector<replayed> all = by(jobs);
  for (std::size_t at = 0; at < std::min(all.size(), whose.size()); ++at) {
    const together found = {all[at], growth_of(whose[at]->sums)};
    for (const site* const each : whose[at]->sites) replayed_[{each->number, each->others.size()}] = found;
  }
}

range analysis::ms_per_second(const range& ns) const {
  return whole_.wall_ns > 0 ? ns * (1e3 / whole_.wall_ns) : range{};
}

range analysis::share(const range& ns) const {
  if (whole_.cpu_ns.high <= 0) return {};
  // The kernel samples the processor time, so that a short program may show less time than its heap took.
  const auto at_most_all = [](double part) { return std::min(part, 1.0); };
  return {at_most_all(ns.low / whole_.cpu_ns.high), at_most_all(ns.high / std::max(whole_.cpu_ns.low, 1.0))};
}

}  // namespace tarn::analyse
