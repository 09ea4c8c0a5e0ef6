#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using nlohmann::json;

// Returns a text like "mutex A"; the letters tell locks of one type apart.
std::string lock_text(const format::recording& recording, std::uint32_t lock, std::size_t index) {
  return fmt::format("{} {}", analyse::name(recording.locks[lock].type),
                     index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1));
}

std::string threads_text(const format::recording& recording, const std::vector<std::uint32_t>& threads) {
  constexpr std::size_t max_shown = 4;
  std::string text = threads.size() == 1 ? "thread" : "threads";
  for (std::size_t index = 0; index < std::min(max_shown, threads.size()); ++index)
    text += fmt::format("{}{}", index == 0 ? " " : ", ", recording.threads[threads[index]].id);
  if (threads.size() > max_shown) text += fmt::format(" and {} more", threads.size() - max_shown);
  return text;
}

std::string count_are(std::size_t count) { return fmt::format("{} {}", count == 1 ? "is" : "are", count); }

void print_inversion(analyse::analysis& analysis, const analyse::inversion& inversion, std::size_t rank) {
  const format::recording& recording = analysis.recording();
  const std::size_t count = inversion.steps.size();
  const char* const verb = inversion.is_deadlock ? "were" : "are";
  const std::string threads = count == 2 ? "both" : fmt::format("all {}", count);
  fmt::print("\n{}. {} {}{}\n", rank,
             inversion.is_deadlock      ? fmt::format("a deadlock: {} still waited at the end;", threads)
             : inversion.has_one_thread ? "could deadlock, if a second thread did the same:"
                                        : "could deadlock:",
             count == 2 ? fmt::format("two locks {} taken in both orders", verb)
                        : fmt::format("{} locks {} taken in a circle", count, verb),
             inversion.similar_cycles > 1
                 ? fmt::format("; so {} more, at the same sites", count_are(inversion.similar_cycles - 1))
                 : "");
  for (std::size_t index = 0; index < count; ++index) {
    const analyse::order_step& step = inversion.steps[index];
    fmt::print("   {}, by {}: {} was acquired\n", count_text(step.times, "time"), threads_text(recording, step.threads),
               lock_text(recording, step.holds, index));
    print_stack(analysis, step.held_site);
    fmt::print("   and while it was held, {}\n", lock_text(recording, step.takes, (index + 1) % count));
    print_stack(analysis, step.taken_site);
  }
  fmt::print("   → one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock\n");
}

json json_of_lock(analyse::analysis& analysis, std::uint32_t lock) {
  const format::lock_facts& facts = analysis.recording().locks[lock];
  return {
      {"type", analyse::name(facts.type)}, {"address", facts.address}, {"stack", json_of_stack(analysis, facts.site)}};
}
json json_of_site(analyse::analysis& analysis, std::uint32_t site) {
  return {{"stack", json_of_stack(analysis, site)}};
}

std::string orders_text(std::ptrdiff_t count) { return count == 1 ? "an order" : fmt::format("{} orders", count); }

// The verdict says the rest.
void print_orders_summary(analyse::analysis& analysis) {
  const std::vector<analyse::inversion>& inversions = analysis.orders().inversions;
  const auto deadlocks =
      std::count_if(inversions.begin(), inversions.end(), [](const auto& inversion) { return inversion.is_deadlock; });
  if (deadlocks != 0) fmt::print("Locks were taken in {} that led to a deadlock.\n", orders_text(deadlocks));
}

void print_orders(analyse::analysis& analysis, std::size_t top) {
  const analyse::order_findings& findings = analysis.orders();
  for (std::size_t index = 0; index < std::min(top, findings.inversions.size()); ++index) {
    if (index == 0) fmt::print("\nOrders of locks\n");
    print_inversion(analysis, findings.inversions[index], index + 1);
  }
  if (findings.inversions.size() > top)
    fmt::print("\n{} that could deadlock; --top N\n", count_text(findings.inversions.size() - top, "more order"));
  if (findings.unattributed != 0)
    fmt::print("\n{} locks were taken in pairs for which the recorder had no room\n",
               count_text(findings.unattributed, "time"));
}

json json_of_orders(analyse::analysis& analysis, std::size_t top) {
  const analyse::order_findings& findings = analysis.orders();
  json inversions = json::array(), chains = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.inversions.size()); ++index) {
    const analyse::inversion& inversion = findings.inversions[index];
    json steps = json::array();
    for (const analyse::order_step& step : inversion.steps) {
      steps.push_back({{"lock", json_of_lock(analysis, step.holds)},
                       {"times", step.times},
                       {"threads", step.threads},
                       {"held_from", json_of_site(analysis, step.held_site)},
                       {"takes_at", json_of_site(analysis, step.taken_site)}});
    }
    inversions.push_back({{"steps", steps},
                          {"by_one_thread", inversion.has_one_thread},
                          {"is_deadlock", inversion.is_deadlock},
                          {"similar_cycles", inversion.similar_cycles}});
  }
  for (std::size_t index = 0; index < std::min(top, findings.chains.size()); ++index) {
    json links = json::array();
    for (const analyse::chain_link& link : findings.chains[index].links) {
      links.push_back({{"lock", json_of_lock(analysis, link.lock)},
                       {"thread", link.thread},
                       {"waits", link.waits},
                       {"waited_ns", link.nanoseconds},
                       {"waits_at", json_of_site(analysis, link.site)},
                       {"holder", link.holder},
                       {"held_from", json_of_site(analysis, link.holder_site)}});
    }
    chains.push_back({{"links", links}, {"waited_ns", findings.chains[index].nanoseconds}});
  }
  return {{"inversions", inversions}, {"chains", chains}, {"unattributed", findings.unattributed}};
}

}  // namespace

std::string possible_deadlock_text(analyse::analysis& analysis) {
  const std::vector<analyse::inversion>& inversions = analysis.orders().inversions;
  const auto serious = std::count_if(inversions.begin(), inversions.end(), [](const auto& inversion) {
    return !inversion.has_one_thread && !inversion.is_deadlock;
  });
  if (serious == 0) return {};
  return fmt::format("Locks are taken in {} that could deadlock. See Orders of locks.", orders_text(serious));
}

const section orders_section = {"lock_orders", print_orders_summary, print_orders, json_of_orders};

}  // namespace tarn::command
