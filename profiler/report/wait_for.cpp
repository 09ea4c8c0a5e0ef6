// The section on wait-for chains: who waits for a lock, who holds it, and what that thread does meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "profiler/advise/wait_for.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::lane_state;
using analyse::wait_for_chain;
using analyse::wait_for_link;
using nlohmann::json;

constexpr double min_chain_share = 0.01;  // of the run's time
constexpr double min_chain_ns = 1e6;
constexpr std::size_t max_shown_work = 3;

std::vector<wait_for_chain> chains_of(analyse::analysis& analysis) {
  const double min_ns = std::max(min_chain_share * analysis.whole().wall_ns, min_chain_ns);
  const analyse::resolve_function resolve = [&](std::uint32_t image, std::uint64_t frame) {
    return analysis.names().resolve(image, frame);
  };
  return find_wait_for(analysis.recording(), analysis.lanes(), resolve, static_cast<std::uint64_t>(min_ns));
}

// Returns "worker (938)", "4 threads (worker)".
std::string actors_text(const format::recording& recording, const std::set<std::uint32_t>& threads) {
  std::set<std::string> names;
  for (const std::uint32_t thread : threads) names.insert(recording.threads[thread].name);
  const std::string name = names.size() == 1 ? *names.begin() : "";
  if (threads.size() != 1)
    return count_text(threads.size(), "thread") + (name.empty() ? "" : fmt::format(" ({})", name));
  const std::uint32_t id = recording.threads[*threads.begin()].id;
  return name.empty() ? fmt::format("thread {}", id) : fmt::format("{} ({})", name, id);
}

// Returns "third (7310)", "one of 4 threads (worker)", or "one of them" where the waiting threads hold it in turn.
std::string holders_text(const format::recording& recording, const wait_for_link& link) {
  if (link.holders.size() == 1) return actors_text(recording, link.holders);
  return link.holders == link.threads ? "one of them" : "one of " + actors_text(recording, link.holders);
}

std::string location_of(analyse::analysis& analysis, std::uint32_t site) {
  constexpr std::size_t columns = 48;
  const std::vector<analyse::code_location> stack = analysis.stack(site);
  return stack.empty() ? "an unknown site" : location_text(stack[analyse::own_frame_index(stack)], columns);
}

std::string lock_text_at(analyse::analysis& analysis, const wait_for_link& link) {
  return fmt::format("the {} at {}", analyse::name(analysis.recording().locks[link.lock].type),
                     location_of(analysis, link.site));
}

std::string work_text(const analyse::held_work& work) {
  const std::string in_call = work.call.empty() ? "" : " in " + work.call;
  switch (work.state) {
    case lane_state::running: return "ran";
    case lane_state::runnable: return "waited for a processor";
    case lane_state::sleep: return "slept" + in_call;
    case lane_state::idle: return "waited for an event" + in_call;
    default: return "waited" + in_call;
  }
}

// Returns where the work was done; empty if that is not known.
std::string work_location(analyse::analysis& analysis, const analyse::held_work& work) {
  return work.site == 0 ? "" : " at " + location_of(analysis, work.site);
}

// Says the longest chain in one sentence.
void print_wait_for_summary(analyse::analysis& analysis) {
  const std::vector<wait_for_chain> chains = chains_of(analysis);
  if (chains.empty()) return;
  const format::recording& recording = analysis.recording();
  const wait_for_chain& chain = chains.front();
  const wait_for_link& first = chain.links.front();
  std::string text =
      fmt::format("Longest wait chain: {} waited {}", actors_text(recording, first.threads), duration_text(first.ns));
  if (first.waits != 1)
    text += fmt::format(" in {} (longest {})", count_text(first.waits, "wait"), duration_text(first.longest_ns));
  for (const wait_for_link& link : chain.links) {
    text += fmt::format("{} for {}, held by {}", &link == chain.links.data() ? "" : ", which waited",
                        lock_text_at(analysis, link), holders_text(recording, link));
  }
  if (!chain.work.empty())
    text += fmt::format(", which {}{}", work_text(chain.work.front()), work_location(analysis, chain.work.front()));
  fmt::print("{}.\n", wrap_text(text, 3));
}

void print_wait_for_chain(analyse::analysis& analysis, const wait_for_chain& chain, std::size_t rank) {
  const format::recording& recording = analysis.recording();
  for (const wait_for_link& link : chain.links) {
    if (&link == chain.links.data()) {
      fmt::print("\n{}. {}: {} waited, {}\n   for {}\n", rank, duration_text(link.ns),
                 actors_text(recording, link.threads), count_text(link.waits, "time"), lock_text_at(analysis, link));
    } else {
      fmt::print("   and meanwhile waited {} for {}\n", duration_text(link.ns), lock_text_at(analysis, link));
    }
    fmt::print("   held by {}, acquired at {}\n", holders_text(recording, link),
               location_of(analysis, link.holder_site));
    const std::vector<analyse::code_location> stack = analysis.stack(link.holder_site);
    if (const std::size_t caller = caller_index(stack); caller < stack.size())
      fmt::print("      by {}\n", location_text(stack[caller], text_width - 9));
  }
  for (std::size_t index = 0; index < std::min(chain.work.size(), max_shown_work); ++index) {
    const analyse::held_work& work = chain.work[index];
    fmt::print("   which meanwhile {}{}, about {}\n", work_text(work), work_location(analysis, work),
               duration_text(work.ns));
  }
  if (chain.work.empty()) fmt::print("   what the holder did meanwhile is not known\n");
}

void print_wait_for(analyse::analysis& analysis, std::size_t top) {
  const std::vector<wait_for_chain> chains = chains_of(analysis);
  for (std::size_t index = 0; index < std::min(top, chains.size()); ++index) {
    if (index == 0) fmt::print("\nWait-for chains\n");
    print_wait_for_chain(analysis, chains[index], index + 1);
  }
  if (chains.size() > top) fmt::print("\n{}; --top N\n", count_text(chains.size() - top, "more chain"));
}

json json_of_wait_for(analyse::analysis& analysis, std::size_t top) {
  json chains = json::array();
  for (const wait_for_chain& chain : chains_of(analysis)) {
    if (chains.size() == top) break;
    json links = json::array(), works = json::array();
    for (const wait_for_link& link : chain.links) {
      links.push_back({{"lock", analyse::name(analysis.recording().locks[link.lock].type)},
                       {"threads", link.threads},
                       {"holders", link.holders},
                       {"waits", link.waits},
                       {"waited_ns", link.ns},
                       {"held_ns", link.held_ns},
                       {"waits_at", {{"stack", json_of_stack(analysis, link.site)}}},
                       {"held_from", {{"stack", json_of_stack(analysis, link.holder_site)}}}});
    }
    for (const analyse::held_work& work : chain.work) {
      works.push_back({{"state", analyse::name(work.state)},
                       {"call", work.call},
                       {"ns", work.ns},
                       {"stack", json_of_stack(analysis, work.site)}});
    }
    chains.push_back({{"links", std::move(links)}, {"work", std::move(works)}});
  }
  return chains;
}

}  // namespace

const section wait_for_section = {"wait_for", print_wait_for_summary, print_wait_for, json_of_wait_for};

}  // namespace tarn::command
