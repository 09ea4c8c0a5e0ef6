#include "profiler/report/lock_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "profiler/findings/lock_order.hpp"
#include "profiler/findings/locks.hpp"
#include "profiler/findings/stacks.hpp"
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
  constexpr std::size_t shown = 4;
  std::string words = threads.size() == 1 ? "thread" : "threads";
  for (std::size_t index = 0; index < std::min(shown, threads.size()); ++index)
    words += fmt::format("{}{}", index == 0 ? " " : ", ", recording.threads[threads[index]].id);
  if (threads.size() > shown) words += fmt::format(" and {} more", threads.size() - shown);
  return words;
}

void print_inversion(const format::recording& recording, const analyse::inversion& inversion, std::size_t rank,
                     analyse::symbols& symbols) {
  const std::size_t count = inversion.steps.size();
  fmt::print("\n{}. {}: {}{}\n", rank,
             inversion.by_one_thread ? "could deadlock, if a second thread did the same" : "could deadlock",
             count == 2 ? "two locks are taken in both orders" : fmt::format("{} locks are taken in a circle", count),
             inversion.similar_cycles > 1
                 ? fmt::format("; so are {} more, at the same places", inversion.similar_cycles - 1)
                 : "");
  for (std::size_t index = 0; index < count; ++index) {
    const analyse::order_step& step = inversion.steps[index];
    fmt::print("   {} times, by {}: {} is held, from\n", grouped(step.times), threads_text(recording, step.threads),
               lock_text(recording, step.holds, index));
    print_stack(analyse::stack_at(recording, step.held_site, symbols));
    fmt::print("   and {} taken, at\n", lock_text(recording, step.takes, (index + 1) % count));
    print_stack(analyse::stack_at(recording, step.taken_site, symbols));
  }
  fmt::print("   → one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock\n");
}

void print_chain(const format::recording& recording, const analyse::wait_chain& chain, std::size_t rank,
                 analyse::symbols& symbols) {
  fmt::print("\n{}. up to {:.3f} s waited for a holder that waited itself\n", rank,
             static_cast<double>(chain.nanoseconds) / 1e9);
  for (std::size_t index = 0; index < chain.links.size(); ++index) {
    const analyse::chain_link& link = chain.links[index];
    fmt::print("   {}thread {} waited {:.3f} s for {}, at\n", index == 0 ? "" : "which meanwhile, ",
               recording.threads[link.thread].id, static_cast<double>(link.nanoseconds) / 1e9,
               lock_text(recording, link.lock, index));
    print_stack(analyse::stack_at(recording, link.site, symbols));
    fmt::print("   while thread {} held it, from\n", recording.threads[link.holder].id);
    print_stack(analyse::stack_at(recording, link.holder_site, symbols));
  }
  fmt::print("   → do not wait for {} while {} is held\n", lock_text(recording, chain.links[1].lock, 1),
             lock_text(recording, chain.links[0].lock, 0));
}

json json_of_lock(const format::recording& recording, std::uint32_t lock, analyse::symbols& symbols) {
  const format::lock_facts& facts = recording.locks[lock];
  return {{"type", analyse::name(facts.type)},
          {"address", facts.address},
          {"stack", json_of_stack(analyse::stack_at(recording, facts.site, symbols))}};
}
json json_of_place(const format::recording& recording, std::uint32_t site, analyse::symbols& symbols) {
  return {{"stack", json_of_stack(analyse::stack_at(recording, site, symbols))}};
}

}  // namespace

void print_orders_summary(const format::recording& recording) {
  const std::vector<analyse::inversion> inversions = analyse::find_orders(recording).inversions;
  const auto serious = std::count_if(inversions.begin(), inversions.end(),
                                     [](const auto& inversion) { return !inversion.by_one_thread; });
  if (serious != 0)
    fmt::print("Locks are taken in {} that could deadlock.\n",
               serious == 1 ? "an order" : fmt::format("{} orders", serious));
}

void print_orders(const format::recording& recording, std::size_t top) {
  const analyse::order_findings findings = analyse::find_orders(recording);
  analyse::symbols symbols(recording);
  for (std::size_t index = 0; index < std::min(top, findings.inversions.size()); ++index) {
    if (index == 0) fmt::print("\nOrders of locks\n");
    print_inversion(recording, findings.inversions[index], index + 1, symbols);
  }
  if (findings.inversions.size() > top)
    fmt::print("\n{} more orders that could deadlock; --top N\n", findings.inversions.size() - top);
  if (findings.unattributed != 0)
    fmt::print("\n{} times locks were taken in pairs for which the recorder had no room\n",
               grouped(findings.unattributed));
  for (std::size_t index = 0; index < std::min(top, findings.chains.size()); ++index) {
    if (index == 0) fmt::print("\nWait chains\n");
    print_chain(recording, findings.chains[index], index + 1, symbols);
  }
}

json json_of_orders(const format::recording& recording, std::size_t top) {
  const analyse::order_findings findings = analyse::find_orders(recording);
  analyse::symbols symbols(recording);
  json inversions = json::array(), chains = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.inversions.size()); ++index) {
    const analyse::inversion& inversion = findings.inversions[index];
    json steps = json::array();
    for (const analyse::order_step& step : inversion.steps) {
      steps.push_back({{"lock", json_of_lock(recording, step.holds, symbols)},
                       {"times", step.times},
                       {"threads", step.threads},
                       {"held_from", json_of_place(recording, step.held_site, symbols)},
                       {"takes_at", json_of_place(recording, step.taken_site, symbols)}});
    }
    inversions.push_back(
        {{"steps", steps}, {"by_one_thread", inversion.by_one_thread}, {"alike", inversion.similar_cycles}});
  }
  for (std::size_t index = 0; index < std::min(top, findings.chains.size()); ++index) {
    json links = json::array();
    for (const analyse::chain_link& link : findings.chains[index].links) {
      links.push_back({{"lock", json_of_lock(recording, link.lock, symbols)},
                       {"thread", link.thread},
                       {"waits", link.waits},
                       {"waited_ns", link.nanoseconds},
                       {"at", json_of_place(recording, link.site, symbols)},
                       {"holder", link.holder},
                       {"held_from", json_of_place(recording, link.holder_site, symbols)}});
    }
    chains.push_back({{"links", links}, {"waited_ns", findings.chains[index].nanoseconds}});
  }
  return {{"inversions", inversions}, {"chains", chains}, {"beyond", findings.unattributed}};
}

}  // namespace tarn::command
