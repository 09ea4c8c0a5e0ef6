#include "exports/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyse/findings.hpp"
#include "analyse/locks.hpp"
#include "analyse/syscalls.hpp"

namespace tarn::exports {

std::string_view name(source of) {
  switch (of) {
    case source::heap: return "heap";
    case source::lock: return "lock";
    case source::call: return "call";
  }
  return "";
}

profile::profile(const format::recording& of) : recording_(of), symbols_(of) {
  add_stacks();
  add_heap();
  add_locks();
  add_calls();
  for (std::size_t each = 0; each < measure_count; ++each) {
    const bool is_used =
        std::any_of(samples_.begin(), samples_.end(), [&](const sample& one) { return one.counted[each] != 0; });
    if (is_used) used_.push_back(static_cast<measure>(each));
  }
  if (used_.empty()) used_.push_back(bytes);
}

void profile::add_stacks() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> known;  // by image and address
  const auto is_recorder = [](const location& at) { return at.lines->front().module.ends_with("/libtarn-record.so"); };
  stacks_.reserve(recording_.sites.size());
  for (const format::site_facts& site : recording_.sites) {
    std::vector<std::uint32_t>& stack = stacks_.emplace_back();
    for (const std::uint64_t frame : site.frames) {
      const auto [found, is_new] =
          known.try_emplace({site.image, frame}, static_cast<std::uint32_t>(locations_.size()));
      if (is_new) {
        location& made = locations_.emplace_back();
        made.lines = &symbols_.of(site.image, frame);
        made.address = frame - 1;
        const auto module = std::find_if(recording_.modules.begin(), recording_.modules.end(), [&](const auto& each) {
          return each.image == site.image && made.address >= each.start && made.address < each.end;
        });
        made.module = module == recording_.modules.end()
                          ? no_module
                          : static_cast<std::size_t>(module - recording_.modules.begin());
      }
      if (!is_recorder(locations_[found->second])) stack.push_back(found->second);
    }
  }
}

void profile::add(const sample& one) {
  if (std::any_of(one.counted.begin(), one.counted.end(), [](std::uint64_t each) { return each != 0; })) {
    samples_.push_back(one);
  }
}

void profile::add_heap() {
  std::map<std::uint32_t, std::string_view> categories;  // by site
  for (const analyse::site& each : analyse::find(recording_).sites) categories[each.number] = analyse::name(each.is);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frees;  // by site and owner
  for (const auto& [key, value] : recording_.cells) frees[{key.site, key.owner}] += value[format::frees];
  for (const auto& [key, value] : recording_.cells) {
    sample one = {key.site, key.owner, key.actor, source::heap, categories[key.site], {}, {}};
    values& to = one.counted;
    to[allocations] = value[format::blocks];
    to[bytes] = value[format::bytes];
    to[key.owner == key.actor ? freed_by_same_thread : freed_by_other_thread] = value[format::frees];
    to[reallocs] = value[format::reallocs];
    to[copied_bytes] = value[format::copied];
    if (key.owner == key.actor) {
      const std::uint64_t gone = frees[{key.site, key.owner}];
      to[in_use] = value[format::blocks] > gone ? value[format::blocks] - gone : 0;
      for (std::size_t at = 0; at < format::short_lived_buckets; ++at)
        to[short_lived] += value[format::life_buckets + at];
    }
    add(one);
  }
}

void profile::add_locks() {
  std::map<std::pair<format::lock_type, std::uint32_t>, std::string_view> categories;  // by type and first site
  for (const analyse::lock_group& each : analyse::find_locks(recording_).groups) {
    categories[{each.type, each.first_site}] = analyse::name(each.is);
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, format::lock_type, std::uint32_t>, values> sums;
  for (const auto& [key, value] : recording_.lockings) {
    const format::lock_facts& lock = recording_.locks[key.lock];
    values& to = sums[{key.site, key.thread, lock.type, lock.site}];
    to[lock_acquisitions] += value[format::acquisitions];
    to[lock_contended] += value[format::contended];
    to[lock_wait] += format::nanoseconds(recording_.clock, value[format::wait_ticks]);
    to[lock_held] += format::nanoseconds(recording_.clock, value[format::held_ticks]);
  }
  for (const auto& [key, value] : sums) {
    const auto& [site, thread, type, first] = key;
    add({site, thread, thread, source::lock, categories[{type, first}], analyse::name(type), value});
  }
}

void profile::add_calls() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::string_view, std::string_view>> names;
  for (const analyse::call_site& each : analyse::find_calls(recording_).sites) {
    names[{each.site, each.number}] = {analyse::name(each.is), kept(each.name)};
  }
  for (const auto& [key, value] : recording_.calls) {
    const auto& [category, call] = names[{key.site, key.number}];
    sample one = {key.site, key.thread, key.thread, source::call, category, call, {}};
    one.counted[calls] = value[format::calls];
    one.counted[call_errors] = value[format::errors];
    one.counted[call_bytes] = value[format::given];
    one.counted[call_time] = format::nanoseconds(recording_.clock, value[format::call_ticks]);
    add(one);
  }
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string frame_name(const analyse::place& of) {
  if (!of.function.empty()) return of.function;
  if (of.module.empty()) return "[unknown]";
  return fmt::format("{}+{:#x}", file_name(of.module), of.offset);
}

std::string thread_name(const format::recording& in, std::uint32_t thread) {
  const format::thread_facts& facts = in.threads[thread];
  std::string words =
      facts.name.empty() ? fmt::format("thread {}", facts.id) : fmt::format("{} ({})", facts.name, facts.id);
  if (in.images > 1) words += fmt::format(", image {}", facts.image + 1);
  return words;
}

std::string leaf_name(const sample& of) {
  return of.what.empty() ? fmt::format("[{}]", of.category) : fmt::format("[{}: {}]", of.what, of.category);
}

std::string program_name(const format::recording& in) {
  std::string words;
  for (const std::string& word : in.program.words) words += (words.empty() ? "" : " ") + word;
  return words.empty() ? "a program" : words;
}

}  // namespace tarn::exports
