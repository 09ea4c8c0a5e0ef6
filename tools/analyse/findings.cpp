#include "analyse/findings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "analyse/names.hpp"
#include "analyse/share.hpp"

namespace tarn::analyse {
namespace {

using format::counter;

// If the allocating thread does at least this share of a site's frees, those by other threads are exceptions, such as
// at the end of a program.
constexpr double nearly_all = 0.99;

// `threaded` is true if the site's program had a second thread.
category categorise(const site& of, bool threaded) {
  const std::uint64_t blocks = of.sums[counter::blocks];
  const std::uint64_t lived_on = of.sums[counter::early] - of.sums[counter::early_gone];
  if (threaded && is_share(lived_on, blocks, 0.5) && of.sums[counter::early_busy] == 0) return category::start_up;
  const std::uint64_t frees = of.freed_by_same_thread + of.freed_by_other_thread;
  if (!is_share(frees, blocks, 0.5)) return category::kept;
  return is_share(of.freed_by_same_thread, frees, nearly_all) ? category::transient : category::shared;
}

void add_cell(site& to, const format::cell_key_facts& key, const format::counts& value) {
  for (std::size_t at = 0; at < format::counter_count; ++at) to.sums[at] += value[at];
  // Cells are sorted by site and then by owner. The allocating thread is its own owner.
  if (value[counter::blocks] != 0) to.allocating.push_back(key.owner);
  if (key.owner == key.actor) {
    to.freed_by_same_thread += value[counter::frees];
    for (std::size_t at = 0; at < format::short_lived_buckets; ++at)
      to.short_lived += value[counter::life_buckets + at];
  } else {
    to.freed_by_other_thread += value[counter::frees];
    if (value[counter::frees] != 0) to.pairs.push_back({key.owner, key.actor, value[counter::frees]});
  }
}

// Returns a factor for each thread that scales its samples to its totals. The totals are exact even if few of its
// blocks are sampled.
std::vector<double> corrections_of(const format::recording& in) {
  std::vector<double> factors(in.threads.size(), 1.0);
  if (in.program.mode != "sampled") return factors;
  std::vector<std::uint64_t> estimated(in.threads.size());
  for (const auto& [key, value] : in.cells) {
    if (key.owner < estimated.size()) estimated[key.owner] += value[counter::blocks];
  }
  for (std::size_t at = 0; at < factors.size(); ++at) {
    const std::uint64_t exact = in.threads[at].allocations;
    if (estimated[at] != 0 && exact != 0) factors[at] = static_cast<double>(exact) / static_cast<double>(estimated[at]);
  }
  return factors;
}

std::uint64_t product(std::uint64_t value, double factor) {
  return static_cast<std::uint64_t>(static_cast<double>(value) * factor + 0.5);
}

format::counts corrected(const format::counts& value, double factor) {
  format::counts made{};
  for (std::size_t at = 0; at < value.size(); ++at)
    made[at] = product(value[at], at == counter::spread ? factor * factor : factor);  // `spread` is a variance
  // Buckets are rounded by their running sums, so that they add up to the rounded total.
  for (const auto& [first, count] : {std::pair{std::size_t{counter::size_buckets}, format::size_bucket_count},
                                     std::pair{std::size_t{counter::life_buckets}, format::life_bucket_count},
                                     std::pair{std::size_t{counter::time_buckets}, format::time_bucket_count}}) {
    std::uint64_t sum = 0;
    for (std::size_t at = first; at < first + count; ++at) {
      made[at] = product(sum + value[at], factor) - product(sum, factor);
      sum += value[at];
    }
  }
  return made;
}

double error_of(const site& of) {
  const std::uint64_t blocks = of.sums[counter::blocks];
  if (blocks == 0) return 0;
  return 1.96 * std::sqrt(static_cast<double>(of.sums[counter::spread])) / static_cast<double>(blocks);
}

bool more_blocks(const pair& a, const pair& b) { return a.blocks > b.blocks; }

// Returns whether a function belongs to the allocation machinery and does not show why memory is allocated.
bool allocates(const place& at) {
  if (at.module.ends_with("/libtarn-record.so")) return true;
  constexpr std::array<std::string_view, 8> starts = {"operator new",
                                                      "std::allocator",
                                                      "std::__new_allocator",
                                                      "__gnu_cxx::new_allocator",
                                                      "std::_Vector_base",
                                                      "std::__detail::_Hashtable_alloc",
                                                      "std::__allocate_guarded",
                                                      "std::make_unique"};
  const std::string_view name = qualified(at.function);
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view each) { return name.starts_with(each); });
}

}  // namespace

const char* name(category of) {
  switch (of) {
    case category::transient: return "transient";
    case category::shared: return "shared";
    case category::start_up: return "start-up";
    case category::kept: return "kept";
  }
  return "";
}

bool is_short_lived(const site& of) { return is_share(of.short_lived, of.freed_by_same_thread, 0.9); }

void add_site(site& to, const site& more) {
  for (std::size_t at = 0; at < format::counter_count; ++at) to.sums[at] += more.sums[at];
  to.freed_by_same_thread += more.freed_by_same_thread;
  to.freed_by_other_thread += more.freed_by_other_thread;
  to.live += more.live;
  to.short_lived += more.short_lived;
  to.error = error_of(to);
  std::vector<std::uint32_t> threads;
  std::set_union(to.allocating.begin(), to.allocating.end(), more.allocating.begin(), more.allocating.end(),
                 std::back_inserter(threads));
  to.allocating = std::move(threads);
  to.threads = static_cast<std::uint32_t>(to.allocating.size());
  for (const pair& each : more.pairs) {
    const auto same = std::find_if(to.pairs.begin(), to.pairs.end(), [&](const pair& other) {
      return other.allocates == each.allocates && other.frees == each.frees;
    });
    if (same == to.pairs.end()) {
      to.pairs.push_back(each);
    } else {
      same->blocks += each.blocks;
    }
  }
  std::sort(to.pairs.begin(), to.pairs.end(), more_blocks);
  to.others.push_back(more.number);
}

heap_findings find(const format::recording& in, const format::recording* whole) {
  if (whole != nullptr) {
    heap_findings part = find(in);
    std::vector<category> categories(in.sites.size(), category::kept);
    for (const site& each : find(*whole).sites) categories[each.number] = each.is;
    for (site& each : part.sites) each.is = categories[each.number];
    return part;
  }

  heap_findings all;
  std::vector<std::uint32_t> threads(in.images + 1U);  // by image; the last entry counts threads of invalid images
  const auto image = [&](std::uint32_t said) { return std::min(said, in.images); };
  for (const format::thread_facts& each : in.threads) ++threads[image(each.image)];
  // Cells are sorted by site. For a million sites the vector takes half a gigabyte, so it must not be reallocated.
  std::size_t count = 0;
  std::uint32_t before = ~0U;
  for (const auto& [key, value] : in.cells) count += std::exchange(before, key.site) != key.site ? 1 : 0;
  all.sites.reserve(count);
  const std::vector<double> factors = corrections_of(in);
  for (const auto& [key, value] : in.cells) {
    if (all.sites.empty() || all.sites.back().number != key.site) all.sites.emplace_back().number = key.site;
    const double factor = key.owner < factors.size() ? factors[key.owner] : 1;
    add_cell(all.sites.back(), key, factor == 1 ? value : corrected(value, factor));
  }
  for (site& each : all.sites) {
    const std::uint64_t blocks = each.sums[counter::blocks], frees = each.sums[counter::frees];
    each.live = blocks > frees ? blocks - frees : 0;  // a snapshot of a running program may already contain the free
    each.is = categorise(each, threads[image(in.sites[each.number].image)] > 1);
    each.threads = static_cast<std::uint32_t>(each.allocating.size());
    each.error = error_of(each);
    std::sort(each.pairs.begin(), each.pairs.end(), more_blocks);
    all.allocations += blocks;
    all.frees += frees;
    all.bytes += each.sums[counter::bytes];
    all.live += each.live;
  }
  const bool is_sampled = in.program.mode == "sampled";
  if (is_sampled) all.allocations = all.frees = all.bytes = 0;  // the totals of all sites together are known exactly
  for (const format::thread_facts& each : in.threads) {
    if (is_sampled) {
      all.allocations += each.allocations;
      all.frees += each.frees;
      all.bytes += each.bytes;
    }
    all.unknown += each.unknown;
    all.forgotten += each.forgotten;
  }
  if (is_sampled) all.live = all.allocations > all.frees ? all.allocations - all.frees : 0;
  std::sort(all.sites.begin(), all.sites.end(), [](const site& a, const site& b) {
    return std::pair(b.sums[counter::blocks], a.number) < std::pair(a.sums[counter::blocks], b.number);
  });
  return all;
}

std::vector<place> frames_of(const format::recording& in, const site& of, symbols& by) {
  std::vector<place> frames;
  const format::site_facts& facts = in.sites[of.number];
  for (const std::uint64_t frame : facts.frames) {
    const std::vector<place>& places = by.of(facts.image, frame);
    frames.insert(frames.end(), places.begin(), places.end());
  }
  return frames;
}

std::vector<place> stack_of(std::vector<place> frames) {
  const auto first = std::find_if_not(frames.begin(), frames.end(), allocates);
  if (first != frames.end()) frames.erase(frames.begin(), first);
  return frames;
}

}  // namespace tarn::analyse
