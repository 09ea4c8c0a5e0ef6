#include "tarn/report_orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "analyse/locks.hpp"
#include "analyse/orders.hpp"
#include "analyse/stacks.hpp"
#include "tarn/stack_words.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using nlohmann::json;

// Returns a text like "mutex A"; the letters tell locks of one type apart.
std::string lock_words(const format::recording& in, std::uint32_t lock, std::size_t place) {
  return fmt::format("{} {}", analyse::name(in.locks[lock].type),
                     place < 26 ? std::string(1, static_cast<char>('A' + place)) : std::to_string(place + 1));
}

std::string threads_words(const format::recording& in, const std::vector<std::uint32_t>& threads) {
  constexpr std::size_t shown = 4;
  std::string words = threads.size() == 1 ? "thread" : "threads";
  for (std::size_t at = 0; at < std::min(shown, threads.size()); ++at)
    words += fmt::format("{}{}", at == 0 ? " " : ", ", in.threads[threads[at]].id);
  if (threads.size() > shown) words += fmt::format(" and {} more", threads.size() - shown);
  return words;
}

void print_inversion(const format::recording& in, const analyse::inversion& of, std::size_t rank,
                     analyse::symbols& by) {
  const std::size_t count = of.steps.size();
  fmt::print("\n{}. {}: {}{}\n", rank,
             of.by_one_thread ? "could deadlock, if a second thread did the same" : "could deadlock",
             count == 2 ? "two locks are taken in both orders" : fmt::format("{} locks are taken in a circle", count),
             of.alike > 1 ? fmt::format("; so are {} more, at the same places", of.alike - 1) : "");
  for (std::size_t at = 0; at < count; ++at) {
    const analyse::order_step& step = of.steps[at];
    fmt::print("   {} times, by {}: {} is held, from\n", grouped(step.times), threads_words(in, step.threads),
               lock_words(in, step.holds, at));
    print_stack(analyse::stack_at(in, step.held_site, by));
    fmt::print("   and {} taken, at\n", lock_words(in, step.takes, (at + 1) % count));
    print_stack(analyse::stack_at(in, step.taken_site, by));
  }
  fmt::print("   → one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock\n");
}

void print_chain(const format::recording& in, const analyse::wait_chain& of, std::size_t rank, analyse::symbols& by) {
  fmt::print("\n{}. up to {:.3f} s waited for a holder that waited itself\n", rank,
             static_cast<double>(of.nanoseconds) / 1e9);
  for (std::size_t at = 0; at < of.links.size(); ++at) {
    const analyse::chain_link& link = of.links[at];
    fmt::print("   {}thread {} waited {:.3f} s for {}, at\n", at == 0 ? "" : "which meanwhile, ",
               in.threads[link.thread].id, static_cast<double>(link.nanoseconds) / 1e9, lock_words(in, link.lock, at));
    print_stack(analyse::stack_at(in, link.site, by));
    fmt::print("   while thread {} held it, from\n", in.threads[link.holder].id);
    print_stack(analyse::stack_at(in, link.holder_site, by));
  }
  fmt::print("   → do not wait for {} while {} is held\n", lock_words(in, of.links[1].lock, 1),
             lock_words(in, of.links[0].lock, 0));
}

json json_of_lock(const format::recording& in, std::uint32_t lock, analyse::symbols& by) {
  const format::lock_facts& facts = in.locks[lock];
  return {{"type", analyse::name(facts.type)},
          {"address", facts.address},
          {"stack", json_of_stack(analyse::stack_at(in, facts.site, by))}};
}
json json_of_place(const format::recording& in, std::uint32_t site, analyse::symbols& by) {
  return {{"stack", json_of_stack(analyse::stack_at(in, site, by))}};
}

}  // namespace

void print_orders_summary(const format::recording& in) {
  const std::vector<analyse::inversion> found = analyse::find_orders(in).inversions;
  const auto serious = std::count_if(found.begin(), found.end(), [](const auto& each) { return !each.by_one_thread; });
  if (serious != 0)
    fmt::print("Locks are taken in {} that could deadlock.\n",
               serious == 1 ? "an order" : fmt::format("{} orders", serious));
}

void print_orders(const format::recording& in, std::size_t top) {
  const analyse::order_findings found = analyse::find_orders(in);
  analyse::symbols by(in);
  for (std::size_t at = 0; at < std::min(top, found.inversions.size()); ++at) {
    if (at == 0) fmt::print("\nOrders of locks\n");
    print_inversion(in, found.inversions[at], at + 1, by);
  }
  if (found.inversions.size() > top)
    fmt::print("\n{} more orders that could deadlock; --top N\n", found.inversions.size() - top);
  if (found.beyond != 0)
    fmt::print("\n{} times locks were taken in pairs for which the recorder had no room\n", grouped(found.beyond));
  for (std::size_t at = 0; at < std::min(top, found.chains.size()); ++at) {
    if (at == 0) fmt::print("\nWait chains\n");
    print_chain(in, found.chains[at], at + 1, by);
  }
}

json json_of_orders(const format::recording& in, std::size_t top) {
  const analyse::order_findings found = analyse::find_orders(in);
  analyse::symbols by(in);
  json inversions = json::array(), chains = json::array();
  for (std::size_t at = 0; at < std::min(top, found.inversions.size()); ++at) {
    const analyse::inversion& of = found.inversions[at];
    json steps = json::array();
    for (const analyse::order_step& each : of.steps) {
      steps.push_back({{"lock", json_of_lock(in, each.holds, by)},
                       {"times", each.times},
                       {"threads", each.threads},
                       {"held_from", json_of_place(in, each.held_site, by)},
                       {"takes_at", json_of_place(in, each.taken_site, by)}});
    }
    inversions.push_back({{"steps", steps}, {"by_one_thread", of.by_one_thread}, {"alike", of.alike}});
  }
  for (std::size_t at = 0; at < std::min(top, found.chains.size()); ++at) {
    json links = json::array();
    for (const analyse::chain_link& each : found.chains[at].links) {
      links.push_back({{"lock", json_of_lock(in, each.lock, by)},
                       {"thread", each.thread},
                       {"waits", each.waits},
                       {"waited_ns", each.nanoseconds},
                       {"at", json_of_place(in, each.site, by)},
                       {"holder", each.holder},
                       {"held_from", json_of_place(in, each.holder_site, by)}});
    }
    chains.push_back({{"links", links}, {"waited_ns", found.chains[at].nanoseconds}});
  }
  return {{"inversions", inversions}, {"chains", chains}, {"beyond", found.beyond}};
}

}  // namespace tarn::command
