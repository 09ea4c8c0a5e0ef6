#include "profiler/advise/analysis.hpp"

#include <algorithm>
#include <utility>

#include "profiler/advise/calls_inside.hpp"
#include "profiler/base/quantity_text.hpp"

namespace tarn::analyse {
namespace {

constexpr double min_saved_share = 0.001;  // share of the CPU time
constexpr std::size_t max_summed_sites = 200;
constexpr std::size_t max_whole_images = 4;  // whose use of the heap is replayed as a whole
constexpr auto read_only_words = "tarn::read_only<T>, if nothing writes to it once threads run";

std::string line_of(const site_view& view) {
  if (view.facts.sums[format::blocks] < min_allocations) return {};
  if (view.facts.category == heap_category::start_up) return read_only_words;
  std::string line;
  for (const offer& offer : view.offers) {
    if (offer.predicted.remedy == remedy_kind::drop_in && !line.empty()) break;
    line += (line.empty() ? "" : "; else ") + offer.suggestion.text;
    if (!offer.suggestion.code.empty()) line += ": " + offer.suggestion.code;
    if (offer.predicted.remedy != remedy_kind::hoist) break;
  }
  return line;
}

// Sites that change together, because the code to change is the same line, or the same type in the same function.
struct common_change {
  std::vector<std::uint32_t> site_numbers;
  std::vector<const site*> sites;
  site sums;
  bool is_copied_text = false, is_filled = false, uses_new = false;
  std::uint64_t grows_to = 0;  // the most bytes that one site grows to

  void add(const site& site, const site_view& view, const std::vector<code_location>& frames) {
    sites.push_back(&site);
    sums.number = site.number;
    add_site(sums, view.facts);
    sums.has_grown = sums.has_grown || view.facts.has_grown;
    sums.element_bytes = view.facts.element_bytes;
    grows_to = std::max(grows_to, view.grown.bytes);
    site_numbers.push_back(site.number);
    site_numbers.insert(site_numbers.end(), site.merged_sites.begin(), site.merged_sites.end());
    is_copied_text = view.allocation.kind == allocated_kind::text && view.allocation.was_copied;
    is_filled = view.allocation.kind == allocated_kind::text || view.allocation.kind == allocated_kind::vector;
    uses_new = std::any_of(frames.begin(), frames.end(),
                           [](const code_location& location) { return location.function.starts_with("operator new"); });
  }
  replay_job complete_job(replay_job job, const growth& buffers) const {
    job.is_copied_text = is_copied_text;
    job.is_filled = is_filled;
    job.uses_new = uses_new;
    reserve(job, buffers.steps == 0 ? grows_to : buffers.bytes);
    return job;
  }
};
void set_growth(site& site, const allocation_info& allocation) {
  site.has_grown = allocation.has_grown;
  site.element_bytes = static_cast<std::uint32_t>(allocation.element_bytes);
}

std::string key_of(const site_view& view) {
  const code_location& location = *view.location();
  std::string key = location.module + '\n' + location.function + '\n';
  key += location.function.empty() ? std::to_string(location.offset) : location.file;
  return key + '\n' + (view.allocation.type.empty() ? std::to_string(location.line) : view.allocation.type);
}

}  // namespace

analysis::analysis(format::recording recording, cost_model costs, analysis_options options)
    : recording_(with_lasting_stacks(with_cpu_sites(reconcile_calls(std::move(recording))))),
      bytes_(std::move(options.bytes)),
      wrappers_(std::move(options.wrappers)),
      costs_(std::move(costs)),
      measured_cpu_ns_(options.measured_cpu_ns),
      heap_(find(recording_, options.whole)),
      symbols_(recording_, std::move(options.deciding)),
      predictor_(recording_, costs_),
      whole_(predictor_.program_costs_of(heap_, options.measured_cpu_ns)) {
  sort_by_cost(heap_.sites);
  separates_stacks_ = options.separates_stacks;
  blocks_.resize(recording_.sites.size());
  for (const site& site : heap_.sites) blocks_[site.number] = site.sums[format::blocks];
}

void analysis::set_costs(cost_model costs) {
  costs_ = std::move(costs);  // the predictor reads them here
  whole_ = predictor_.program_costs_of(heap_, measured_cpu_ns_);
  sort_sites();
}

void analysis::sort_sites() {
  const range separate_ns = sort_by_cost(heap_.sites);
  const range grouped_ns = grouped_sites_ ? sort_by_cost(*grouped_sites_) : separate_ns;
  whole_.set_heap(separates_stacks_ ? separate_ns : grouped_ns);
  memory_.reset();  // it points to sites
}

const deciding_frames& analysis::find_deciding_frames() {
  if (!deciding_frames_) deciding_frames_.emplace(recording_, heap_.sites, symbols_, wrappers_);
  return *deciding_frames_;
}

// Sets what view() sets, so that all sites together include the copying of containers that grow.
void analysis::mark_growth(std::vector<site>& sites) {
  for (site& site : sites) {
    const format::site_facts& facts = recording_.sites[site.number];
    const std::size_t deciding_frame = find_deciding_frames().frame_of(site.number);
    std::vector<code_location> frames;  // without the callers, whose names may cost time
    std::size_t skipped = 0;
    for (std::size_t index = 0; index < facts.frames.size(); ++index) {
      const std::vector<code_location>& locations = symbols_.resolve(facts.image, facts.frames[index]);
      frames.insert(frames.end(), locations.begin(), locations.end());
      if (index < deciding_frame) skipped = frames.size();
      if (index >= deciding_frame && !std::all_of(locations.begin(), locations.end(), is_wrapper)) break;
    }
    set_growth(site, allocation_at(frames, skipped));
  }
}

const std::vector<site>& analysis::grouped_sites() {
  if (grouped_sites_) return *grouped_sites_;
  mark_growth(grouped_sites_.emplace(group_sites(recording_, heap_.sites, find_deciding_frames())));
  const range grouped_ns = sort_by_cost(*grouped_sites_);
  if (!separates_stacks_) whole_.set_heap(grouped_ns);
  return *grouped_sites_;
}

const std::vector<site>& analysis::sites() {
  if (!separates_stacks_) return grouped_sites();
  if (!std::exchange(has_marked_stacks_, true)) {
    mark_growth(heap_.sites);
    whole_.set_heap(sort_by_cost(heap_.sites));
  }
  return heap_.sites;
}

const memory_findings& analysis::memory() {
  constexpr std::size_t intervals = 96;
  if (!memory_) memory_ = find_memory(recording_, grouped_sites(), course(intervals));
  return *memory_;
}

const cpu_findings& analysis::cpu() {
  if (!cpu_) cpu_ = find_cpu(recording_, symbols_);
  return *cpu_;
}

const time_findings& analysis::time() {
  if (!time_) time_ = find_time(recording_, symbols_);
  return *time_;
}

const lane_findings& analysis::lanes() {
  constexpr std::size_t intervals = 128;
  if (!lanes_ && recording_.cpu.cells.empty()) lanes_.emplace();
  if (!lanes_) lanes_ = find_lanes(recording_, symbols_, course(intervals));
  return *lanes_;
}

const lock_findings& analysis::locks() {
  if (!locks_) {
    add_calls_inside(locks_.emplace(find_locks(recording_)), recording_,
                     [this](std::uint32_t image, std::uint64_t frame) { return symbols_.resolve(image, frame); });
  }
  return *locks_;
}

const call_findings& analysis::calls() {
  if (!calls_) advise_threads(calls_.emplace(find_calls(recording_)), recording_, symbols_);
  return *calls_;
}

history analysis::course(std::size_t limit) const {
  return bytes_.empty() ? history() : history_of(recording_, bytes_, limit);
}

range analysis::now_ns_of(const site& site) const {
  site_prediction predicted = predictor_.predict(site);
  const auto replayed = replayed_.find({site.number, site.merged_sites.size()});
  if (replayed != replayed_.end()) correct(predicted, site, replayed->second.result, misprediction_rate_of(recording_));
  return predicted.now_ns;
}

range analysis::sort_by_cost(std::vector<site>& sites) const {
  // The sort moves small indexes and then permutes the sites in place, because a site is large.
  std::vector<std::pair<double, std::uint32_t>> order(sites.size());  // current ns, negated
  range sum_ns;
  for (std::size_t index = 0; index < sites.size(); ++index) {
    const range now_ns = now_ns_of(sites[index]);
    sum_ns += now_ns;
    order[index] = {-now_ns.middle(), static_cast<std::uint32_t>(index)};
  }
  std::sort(order.begin(), order.end());
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    if (order[start].second == start) continue;
    site first = std::move(sites[start]);
    std::uint32_t index = start;
    for (std::uint32_t source = std::exchange(order[index].second, index); source != start;
         source = std::exchange(order[index].second, index)) {
      sites[index] = std::move(sites[source]);
      index = source;
    }
    sites[index] = std::move(first);
  }
  return sum_ns;
}

std::vector<caller> analysis::callers_of(const site& site) {
  std::vector<caller> callers;
  if (site.merged_sites.empty()) return callers;
  const auto add = [&](std::uint32_t number) {
    const format::site_facts& facts = recording_.sites[number];
    // The caller is the next frame with a name, or the next frame if none has one.
    const code_location* next = nullptr;
    for (std::size_t index = find_deciding_frames().frame_of(number) + 1; index < facts.frames.size(); ++index) {
      const code_location& location = symbols_.resolve(facts.image, facts.frames[index]).front();
      if (next == nullptr || !location.function.empty()) next = &location;
      if (!location.function.empty()) break;
    }
    if (next == nullptr) return;
    const auto match = std::find_if(callers.begin(), callers.end(), [&](const caller& caller) {
      return caller.location.function == next->function && caller.location.module == next->module &&
             caller.location.line == next->line && (!next->function.empty() || caller.location.offset == next->offset);
    });
    if (match == callers.end()) {
      callers.push_back({*next, blocks_[number]});
    } else {
      match->blocks += blocks_[number];
    }
  };
  add(site.number);
  for (const std::uint32_t number : site.merged_sites) add(number);
  std::stable_sort(callers.begin(), callers.end(),
                   [](const caller& a, const caller& b) { return a.blocks > b.blocks; });
  return callers;
}

std::size_t analysis::skipped_frames(const site& site) {
  const format::site_facts& stack = recording_.sites[site.number];
  std::size_t skipped = 0;
  for (std::size_t index = 0; index < find_deciding_frames().frame_of(site.number); ++index)
    skipped += symbols_.resolve(stack.image, stack.frames[index]).size();
  return skipped;
}

const std::set<std::string>& analysis::escaping_containers() {
  if (escaping_containers_) return *escaping_containers_;
  escaping_containers_.emplace();
  for (const site& site : grouped_sites()) {
    if (escapes_->verdict_of(site) != escape_verdict::escapes) continue;
    const std::vector<code_location> frames = frames_of(recording_, site, symbols_);
    const allocation_info allocation = allocation_at(frames, skipped_frames(site));
    if (allocation.has_grown) escaping_containers_->insert(container_key(allocation, frames));
  }
  escaping_containers_->erase(std::string());
  return *escaping_containers_;
}

const std::set<std::string>& analysis::growing_containers() {
  if (growing_containers_) return *growing_containers_;
  growing_containers_.emplace();
  for (const site& site : grouped_sites()) {
    const std::vector<code_location> frames = frames_of(recording_, site, symbols_);
    const allocation_info allocation = allocation_at(frames, skipped_frames(site));
    if (allocation.has_grown) growing_containers_->insert(container_key(allocation, frames));
  }
  growing_containers_->erase(std::string());
  return *growing_containers_;
}

site_view analysis::view(const site& site) {
  site_view view;
  view.facts = site;
  std::vector<code_location> frames = frames_of(recording_, site, symbols_);
  view.allocation = allocation_at(frames, skipped_frames(site));
  read_source(view.allocation, frames, recording_.program.started);
  if (!escapes_) escapes_.emplace(recording_, find_deciding_frames(), symbols_);
  view.allocation.escape = escapes_->verdict_of(site);
  if (view.allocation.escape == escape_verdict::unknown && view.allocation.has_grown &&
      escaping_containers().contains(container_key(view.allocation, frames)))
    view.allocation.escape = escape_verdict::escapes;
  // A copy in a function that also lets such a container grow is probably the one that grows, so it is changed.
  if (view.allocation.was_copied && growing_containers().contains(container_key(view.allocation, frames)))
    view.allocation.was_copied = false;
  set_growth(view.facts, view.allocation);
  const auto replayed = replayed_.find({site.number, site.merged_sites.size()});
  view.grown = predictor_.growth_of(view.facts);
  if (replayed != replayed_.end() && replayed->second.buffers.steps != 0) view.grown = replayed->second.buffers;
  view.predicted = predictor_.predict(view.facts, view.grown);
  if (replayed != replayed_.end())
    correct(view.predicted, view.facts, replayed->second.result, misprediction_rate_of(recording_));
  for (prediction& prediction : view.predicted.remedies) {
    prediction.saves_more = saves_unmodelled_work(prediction.remedy, view.allocation);
    // A remedy cannot save more than the site costs.
    range& saved_ns = prediction.saved_ns;
    saved_ns = {std::min(saved_ns.low, view.predicted.now_ns.low), std::min(saved_ns.high, view.predicted.now_ns.high)};
  }
  const std::size_t depth = frames.size(), own_frame = view.allocation.frame;
  view.stack = stack_of(std::move(frames));
  // The index has to skip the frames that stack_of removed; it is 0 if those include the deciding frame.
  const std::size_t removed_frames = depth - view.stack.size();
  view.frame_index = own_frame >= removed_frames ? own_frame - removed_frames : 0;
  view.callers = callers_of(site);
  if (site.sums[format::blocks] >= min_allocations && site.category != heap_category::kept) {
    for (const prediction& prediction : view.predicted.remedies) {
      if (prediction.saved_ns.middle() < 0) continue;                         // 0 if there are no prices
      const bool has_code = site.number != 0 && !view.allocation.is_foreign;  // site 0 is beyond the recorder's limit
      if (!has_code && prediction.remedy != remedy_kind::drop_in) continue;
      if (!is_applicable(prediction.remedy, view.allocation)) continue;
      view.offers.push_back({prediction, advise(prediction.remedy, view.allocation, view.facts, view.grown)});
    }
  }
  const auto saves = [&](const offer& offer) {
    const range saved = share(offer.predicted.saved_ns);
    return (offer.predicted.saves_more ? saved.high : saved.middle()) >= min_saved_share;
  };
  view.is_worth_it = (view.offers.empty() && site.category == heap_category::start_up) || !knows_cpu_time() ||
                     std::any_of(view.offers.begin(), view.offers.end(), saves);
  view.remedy = line_of(view);
  if (const std::uint64_t blocks = blocks_until_growth_is_known(view.facts); blocks != 0 && !view.offers.empty()) {
    view.unjudged_remedy = "too few samples to judge a reserve: it takes " + command::rough_count(blocks) +
                           " more allocations here, or --full";
  }
  return view;
}

bool analysis::drop_in_is_worth_it() const {
  const range& saved_ns = whole_.drop_in_saves_ns;
  if (whole_.is_too_short) return false;
  return knows_cpu_time() ? share(saved_ns).middle() >= min_saved_share : saved_ns.middle() > 0;
}

first_remedies analysis::all_first_remedies() {
  first_remedies sum;
  std::size_t looked_at = 0;
  for (const site& site : grouped_sites()) {
    if (++looked_at > max_summed_sites) break;
    if (knows_cpu_time() && share(now_ns_of(site)).high < min_saved_share) break;
    const site_view details = view(site);
    if (!details.is_worth_it || details.remedy.empty()) continue;
    if (details.offers.empty()) {
      ++sum.unpredicted;
      continue;
    }
    const prediction& first = details.offers.front().predicted;
    sum.saved_ns += first.saved_ns;
    sum.is_at_least = sum.is_at_least || first.saves_more;
    ++sum.count;
  }
  return sum;
}

void analysis::replay(const std::vector<site>& sites, std::size_t limit, const replayer& replay_all) {
  if (recording_.excerpts.empty()) return;
  std::map<std::string, common_change> changes;
  for (std::size_t index = 0; index < std::min(limit, sites.size()); ++index) {
    const site& site = sites[index];
    if (site.sums[format::blocks] < min_allocations || site.category != heap_category::same_thread) continue;
    if (predictor_.is_on_drop_in(site)) continue;
    const site_view details = view(site);
    if (details.location() != nullptr)
      changes[key_of(details)].add(site, details, frames_of(recording_, site, symbols_));
  }
  std::vector<replay_job> jobs;
  std::vector<const common_change*> replayed_changes;
  for (auto& [key, change] : changes) {
    std::sort(change.site_numbers.begin(), change.site_numbers.end());
    replay_job job = job_of(recording_, change.site_numbers);
    if (job.plans.empty()) continue;
    jobs.push_back(change.complete_job(std::move(job), predictor_.growth_of(change.sums)));
    replayed_changes.push_back(&change);
  }
  const std::size_t changed = jobs.size();
  const std::vector<std::uint32_t> images = add_whole_jobs(jobs);
  if (jobs.empty()) return;
  const std::vector<replayed> results = replay_all(jobs);
  const bool is_complete = results.size() == jobs.size();
  for (std::size_t index = 0; index < std::min(results.size(), replayed_changes.size()); ++index) {
    // A pair of calls has a cost above 0. Where the replay shows none, the cost model's estimate stands.
    if (!is_above_noise(results[index].now, misprediction_rate_of(recording_))) continue;
    const combined_replay result = {results[index], predictor_.growth_of(replayed_changes[index]->sums)};
    for (const site* const site : replayed_changes[index]->sites)
      replayed_[{site->number, site->merged_sites.size()}] = result;
  }
  sort_sites();
  if (is_complete) correct_drop_in(images, std::span(results).subspan(changed));
}

std::vector<std::uint32_t> analysis::add_whole_jobs(std::vector<replay_job>& jobs) const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> sites;  // by image
  for (const site& site : heap_.sites) {
    if (is_replayed_whole(site)) sites[recording_.sites[site.number].image].push_back(site.number);
  }
  std::vector<std::uint32_t> images;
  for (auto& [image, numbers] : sites) {
    if (images.size() == max_whole_images) break;
    std::sort(numbers.begin(), numbers.end());
    replay_job job = whole_job_of(recording_, numbers);
    if (job.plans.empty()) continue;
    jobs.push_back(std::move(job));
    images.push_back(image);
  }
  return images;
}

void analysis::correct_drop_in(const std::vector<std::uint32_t>& images, std::span<const replayed> results) {
  std::vector<double> blocks(images.size());
  range saved_ns;
  for (const site& site : heap_.sites) {
    const auto image = std::find(images.begin(), images.end(), recording_.sites[site.number].image);
    if (is_replayed_whole(site) && image != images.end()) {
      blocks[static_cast<std::size_t>(image - images.begin())] += as_double(site.sums[format::blocks]);
      continue;
    }
    for (const prediction& prediction : predictor_.predict(site).remedies) {
      if (prediction.remedy == remedy_kind::drop_in) saved_ns += prediction.saved_ns;
    }
  }
  for (std::size_t index = 0; index < images.size(); ++index)
    saved_ns += cost_of(results[index].drop_in, blocks[index], 0, misprediction_rate_of(recording_));
  // The excerpts may show a part of the run in which the heap cost more than on average.
  whole_.drop_in_saves_ns = {std::min(saved_ns.low, whole_.heap_ns.low), std::min(saved_ns.high, whole_.heap_ns.high)};
}

range analysis::share(const range& ns) const {
  // The heap takes at most all the time. Where its range reaches further, every range is narrowed in the same way,
  // so that sites still add up to the heap.
  const range heap = ratio(whole_.heap_ns), part = ratio(ns);
  const double certain = std::max(heap.low, 1.0);
  const double possible = heap.high > 1 ? std::max(1 - heap.low, 0.0) / std::max(heap.high - heap.low, 1e-9) : 1;
  const double base = std::max(part.low, 0.0);
  const double high = part.high <= 0 ? part.high / certain : base / certain + (part.high - base) * possible;
  return {std::min(part.low / certain, 1.0), std::min(high, 1.0)};
}

range analysis::ratio(const range& ns) const {
  if (whole_.cpu_ns.high <= 0) return {};
  // Divides each end by the CPU time that makes the range wider; an end below 0 is a cost. The kernel
  // samples the CPU time, so that a short program may show less time than its heap took.
  const double smallest = std::max(whole_.cpu_ns.low, 1.0), largest = whole_.cpu_ns.high;
  return {ns.low / (ns.low < 0 ? smallest : largest), ns.high / (ns.high < 0 ? largest : smallest)};
}

}  // namespace tarn::analyse
