#include "profiler/fix/proposals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/predict/call_savings.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::fix {
namespace {

constexpr std::size_t max_sites = 200;  // as many as a report sums up
constexpr double min_saved_share = 0.001;

struct remedy_row {
  std::string_view remedy;  // as in the JSON of a report; make_shared, move and copy are known only here
  const char* check;
  const char* title;
  const char* silence;
};
constexpr std::array checks = {
    remedy_row{"hoist", "tarn-hoist", "Keep memory between the iterations of a loop",
               "this line fills no container that its function declares"},
    remedy_row{"reserve", "tarn-reserve", "Reserve before the loop", "no container grows in this line"},
    remedy_row{"recycle", "tarn-recycle", "Keep memory between the calls of a function",
               "this line fills no container that its function declares"},
    remedy_row{"pooled", "tarn-pooled", "Make objects on the heap of the thread", "this line makes no object by new"},
    remedy_row{"move", "tarn-move", "Move an object at its last use",
               "no local object is copied for the last time here"},
    remedy_row{"copy", "tarn-copy", "Read the original in place of a copy", "no copy is made here that is only read"},
    remedy_row{"buffered", "tarn-buffered", "Leave lines in the buffer of their stream",
               "no std::endl is in this line"},
    remedy_row{"make_shared", "tarn-make-shared", "Use std::make_shared", "no shared_ptr takes over a new object here"},
};

// Returns a proposal without its gain.
proposal proposal_at(const analyse::code_location& location, std::string_view remedy) {
  proposal result;
  result.location = location;
  result.remedy = remedy;
  const auto* const row =
      std::find_if(checks.begin(), checks.end(), [&](const remedy_row& next) { return next.remedy == remedy; });
  if (row == checks.end()) return result;
  result.check = row->check;
  result.title = row->title;
  result.silence = row->silence;
  return result;
}

bool makes_edits(const analyse::allocation_info& allocation) {
  using enum analyse::allocated_kind;
  return allocation.kind != exception_object && allocation.kind != coroutine_frame;
}

proposal proposal_of(const analyse::site_view& view, std::string_view remedy, const analyse::prediction& prediction) {
  proposal result = proposal_at(*view.location(), remedy);
  result.saved_ns = prediction.saved_ns;
  result.saves_more = prediction.saves_more;
  if (result.check.empty()) return result;
  if (!makes_edits(view.allocation)) {
    result.check.clear();
    result.silence = "no patch changes how errors are reported, or what a promise type is derived from";
    return result;
  }
  // The allocator of a container is a part of its type, which other code may name.
  using enum analyse::allocated_kind;
  const bool is_container = view.allocation.kind >= text && view.allocation.kind <= table;
  if (remedy == "pooled" && is_container) {
    // The line may be that of a class whose implicit copy allocates: it makes no object by new.
    result.check.clear();
    result.silence = "an allocator of its own makes " +
                     (view.allocation.type.empty() ? "a container" : view.allocation.type) +
                     " another type, which no patch does";
  }
  result.fills_callers_container = remedy == "hoist" || remedy == "recycle" || remedy == "move" || remedy == "copy";
  if (remedy == "reserve") result.bytes = view.grown.bytes;
  if (result.bytes != 0) result.size_text = analyse::reserved_size_text(view.grown, view.facts);
  return result;
}

// Returns the first remedy of the site that a check edits, with the others as alternatives; else its first one.
std::optional<proposal> best_of(const analyse::site_view& view, bool is_for_counts) {
  if (view.location() == nullptr || view.location()->file.empty()) return std::nullopt;
  const bool was_copied = view.allocation.was_copied || is_copy_constructor(view.location()->function);
  if (is_for_counts && view.facts.sums[format::blocks] >= analyse::min_allocations && !view.allocation.is_foreign) {
    // The allocation of the counts does not happen any more.
    analyse::prediction counts;
    counts.saved_ns = view.predicted.now_ns;
    counts.saves_more = true;  // the counts are beside the object, and the pointer is set up at once
    if (view.facts.category == analyse::heap_category::cross_thread) counts.saved_ns.low = 0;
    return proposal_of(view, "make_shared", counts);
  }
  std::vector<proposal> proposals;
  for (const analyse::offer& offer : view.offers) {
    const analyse::prediction& predicted = offer.predicted;
    if (predicted.remedy != analyse::remedy_kind::drop_in)
      proposals.push_back(proposal_of(view, analyse::name(predicted.remedy), predicted));
  }
  // The function may fill a container of its caller: the report has no remedy in the function then, but the check may
  // find one in the line of the call.
  const bool has_offers = !proposals.empty();
  for (const analyse::prediction& predicted : view.predicted.remedies) {
    if (has_offers && makes_edits(view.allocation) && predicted.saved_ns.middle() >= 0 && !view.allocation.is_foreign &&
        !analyse::is_applicable(predicted.remedy, view.allocation))
      proposals.push_back(proposal_of(view, analyse::name(predicted.remedy), predicted));
  }
  // A copy of a container: where its source is used for the last time, nothing needs to be allocated. That ends more
  // than what would keep the memory of some variable in the line.
  const bool may_be_copy = view.allocation.kind >= analyse::allocated_kind::text &&
                           view.allocation.kind <= analyse::allocated_kind::table && !view.allocation.has_grown &&
                           !view.allocation.is_foreign && view.facts.sums[format::blocks] >= analyse::min_allocations;
  if (may_be_copy) {
    analyse::prediction saved;
    saved.saved_ns = view.predicted.now_ns;
    saved.saves_more = true;  // the content is not copied, either
    if (view.facts.category == analyse::heap_category::cross_thread) saved.saved_ns.low = 0;
    const auto position = was_copied ? proposals.begin() : proposals.end();
    proposals.insert(position, {proposal_of(view, "copy", saved), proposal_of(view, "move", saved)});
  }
  if (proposals.empty()) return std::nullopt;
  std::stable_partition(proposals.begin(), proposals.end(), [](const proposal& next) { return !next.check.empty(); });
  proposal result = std::move(proposals.front());
  result.is_guess = !has_offers;
  for (proposal& next : std::span(proposals).subspan(1)) {
    if (!next.check.empty()) result.alternatives.push_back(std::move(next));
  }
  return result;
}

// Turns the blocks of the lines that call a function into shares.
std::vector<calling_line> callers_of(const std::map<std::pair<std::string, int>, calling_line>& lines, double blocks) {
  std::vector<calling_line> result;
  for (const auto& [key, line] : lines) {
    if (key.first.empty() || blocks <= 0) continue;
    result.push_back(line);
    result.back().share = std::min(1.0, line.share / blocks);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const calling_line& first, const calling_line& second) { return first.share > second.share; });
  return result;
}

// A line is one site, however many functions of the library allocate for it; but `list.push_back(text)` is two, because
// reserve ends the growth of the list and no copy of the text.
struct line_of_code {
  bool allocates_counts = false;
  std::set<std::string> files;
  std::map<std::pair<std::string, int>, calling_line> callers;

  // Adds the functions of a stack from the line on.
  void add(const std::vector<analyse::code_location>& stack, const analyse::code_location& line, std::uint64_t blocks) {
    const auto own_frame = std::find_if(stack.begin(), stack.end(), [&](const analyse::code_location& frame) {
      return frame.file == line.file && frame.line == line.line && frame.function == line.function;
    });
    if (own_frame == stack.end()) return;
    for (auto frame = own_frame; frame != stack.end(); ++frame) files.insert(frame->file);
    const auto next_frame = std::find_if_not(own_frame + 1, stack.end(), analyse::is_runtime_code);
    if (next_frame == stack.end()) return;
    calling_line& caller = callers[{next_frame->file, next_frame->line}];
    caller.location = *next_frame;
    caller.share += static_cast<double>(blocks);
    caller.is_behind_library |= next_frame != own_frame + 1;
  }
};

// Returns the lines that write little at a time. Whether a line of text is what they write, the check knows.
std::vector<proposal> writing_lines(analyse::analysis& analysis) {
  std::map<std::pair<std::string, int>, proposal> lines;
  for (const auto& [key, value] : analysis.recording().calls) {
    const analyse::call_site* site = analysis.calls().site_of(key.site, key.number);
    if (site == nullptr || site->category != analyse::call_category::small || !analyse::is_writing(site->name) ||
        site->remedy.empty()) {
      continue;
    }
    const analyse::call_saving saving = analyse::saving_of(*site, analysis.recording(), analysis.costs());
    const std::vector<analyse::code_location> stack = analysis.stack(key.site);
    if (!saving.not_predicted.empty() || stack.empty()) continue;
    const analyse::code_location& location = stack[analyse::own_frame_index(stack)];
    if (location.file.empty()) continue;
    const auto [line, is_new] = lines.try_emplace({location.file, location.line});
    if (is_new) line->second = proposal_at(location, "buffered");
    line->second.is_guess = true;
    const double share = static_cast<double>(value[format::call_counter::calls]) /
                         static_cast<double>(site->sums[format::call_counter::calls]);
    line->second.saved_ns.low += share * saving.ns.low;
    line->second.saved_ns.high += share * saving.ns.high;
    for (const analyse::code_location& frame : stack) line->second.files.insert(frame.file);
  }
  std::vector<proposal> result;
  for (auto& [position, line] : lines) result.push_back(std::move(line));
  return result;
}

}  // namespace

bool allocates_counts_alone(const std::string& function) {
  // Debug information has no scope where the class of the object has internal linkage.
  constexpr std::string_view prefix = "__shared_count<";
  const std::string name = analyse::without_arguments(function);
  const std::size_t start = name.rfind(prefix);
  return start != std::string::npos && analyse::argument_of(name.substr(start), prefix).ends_with('*');
}

bool is_copy_constructor(const std::string& function) {
  const std::string name = analyse::without_arguments(function);
  const std::size_t colons = name.rfind("::");
  if (colons == std::string::npos) return false;
  const std::string scope = name.substr(0, colons);
  return function == fmt::format("{}({} const&)", name, scope) &&
         (scope == name.substr(colons + 2) || scope.ends_with("::" + name.substr(colons + 2)));
}

bool saves_more_than(const proposal& first, const proposal& second) {
  const auto key = [](const proposal& next) {
    return std::tuple(-next.saved_ns.middle(), std::string_view(next.location.file), next.location.line,
                      std::string_view(next.remedy));
  };
  return key(first) < key(second);
}

std::vector<proposal> proposals_of(
    analyse::analysis& analysis,
    const std::function<void(analyse::analysis&, const std::vector<analyse::site>&)>& replay) {
  std::map<std::uint32_t, std::uint64_t> blocks;
  for (const analyse::site& site : analysis.heap().sites) blocks[site.number] = site.sums[format::blocks];
  std::vector<analyse::site> sites;
  std::vector<line_of_code> lines;
  std::map<std::tuple<std::string, int, bool, std::string>, std::size_t> indexes;
  for (const analyse::site& site : analysis.grouped_sites()) {
    if (sites.size() == max_sites) break;
    const std::vector<analyse::code_location> frames = analyse::frames_of(analysis.recording(), site, analysis.names());
    const analyse::site_view view = analysis.view(site);
    if (view.location() == nullptr) continue;
    const bool allocates_counts = std::any_of(frames.begin(), frames.end(), [](const analyse::code_location& frame) {
      return allocates_counts_alone(frame.function);
    });
    const std::string grown_type = view.allocation.has_grown ? view.allocation.type : std::string();
    const auto [entry, is_new] =
        indexes.try_emplace({view.location()->file, view.location()->line, allocates_counts, grown_type}, sites.size());
    if (is_new) {
      sites.push_back(site);
      lines.push_back({allocates_counts, {}, {}});
    } else {
      analyse::add_site(sites[entry->second], site);
    }
    std::vector<std::uint32_t> numbers = site.merged_sites;
    numbers.push_back(site.number);
    for (const std::uint32_t number : numbers)
      lines[entry->second].add(analysis.stack(number), *view.location(), blocks[number]);
  }
  replay(analysis, sites);
  std::vector<proposal> proposals;
  const auto is_worth_it = [&](const proposal& next) {
    const analyse::range share = analysis.share(next.saved_ns);
    const double expected = next.saves_more ? share.high : share.middle();
    return analysis.knows_cpu_time() ? expected >= min_saved_share : next.saved_ns.middle() > 0;
  };
  for (proposal& line : writing_lines(analysis)) {
    if (is_worth_it(line)) proposals.push_back(std::move(line));
  }
  for (std::size_t index = 0; index < sites.size(); ++index) {
    std::optional<proposal> next = best_of(analysis.view(sites[index]), lines[index].allocates_counts);
    if (!next || !is_worth_it(*next)) continue;
    next->files = std::move(lines[index].files);
    next->callers = callers_of(lines[index].callers, static_cast<double>(sites[index].sums[format::blocks]));
    proposals.push_back(std::move(*next));
  }
  std::sort(proposals.begin(), proposals.end(), saves_more_than);
  return proposals;
}

}  // namespace tarn::fix
