#include "analyse/wrappers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyse/names.hpp"

namespace tarn::analyse {
namespace {

constexpr std::size_t many_callers = 3;
constexpr int most_nameless = 2;

// Returns whether the name is one of the standard library or of a layer below it.
bool is_library(std::string_view name) {
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("operator new");
}

// Returns whether a free function allocates for its callers: xmalloc, g_strdup, PyMem_Malloc, AllocSetAlloc …
bool allocates_for_others(std::string_view function) {
  std::string name(qualified(function));
  name.resize(std::min(name.find('('), name.size()));
  if (name.find("::") != std::string::npos || name.find('<') != std::string::npos) return false;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char each) { return std::tolower(each); });
  constexpr std::array words = {"alloc", "strdup", "strndup", "memdup", "memalign"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

// `places` are the functions inlined at a frame, with the frame's own function last.
bool all_pass_on(const std::vector<place>& places) { return std::all_of(places.begin(), places.end(), passes_on); }
bool is_nameless(const std::vector<place>& places) {
  return std::all_of(places.begin(), places.end(), [](const place& each) { return each.function.empty(); });
}

}  // namespace

// The sources of Rust's standard library are in the folder where its compiler was built, or below the toolchain.
bool is_of_rusts_library(std::string_view file) {
  if (!file.ends_with(".rs")) return false;
  constexpr std::array crates = {"library/core/src/", "library/alloc/src/", "library/std/src/"};
  return std::any_of(crates.begin(), crates.end(), [&](std::string_view each) {
    const std::size_t at = file.find(each);
    return at != std::string_view::npos && (at == 0 || file[at - 1] == '/');
  });
}

bool is_of_the_language(const std::string& module) {
  return module.ends_with("/libc.so.6") || module.find("/libstdc++.so") != std::string::npos ||
         module.ends_with("/libtarn-record.so");
}

bool is_of_another_language(const place& at) {
  return at.file.ends_with(".rs") || at.file.ends_with(".go") || at.module == made_code_module;
}

bool passes_on(const place& at) {
  return is_library(qualified(at.function)) || is_of_the_language(at.module) || at.file.starts_with("/usr/include/") ||
         is_of_rusts_library(at.file) || allocates_for_others(at.function);
}

deciders::deciders(const format::recording& in, const std::vector<site>& sites, symbols& by,
                   const std::vector<std::string>& wrappers)
    : frames_(in.sites.size()) {
  std::vector<std::uint32_t> open;  // sites whose function may still be skipped
  const auto places_at = [&](const format::site_facts& of, std::size_t frame) -> const std::vector<place>& {
    return by.of(of.image, of.frames[frame]);
  };
  // Skips functions that allocate for others, and functions without a name that call one of these.
  const auto advance = [&](const format::site_facts& of, std::uint32_t at) {
    while (at < of.frames.size()) {
      const bool is_last = at + 1 == of.frames.size();
      const std::vector<place>& here = places_at(of, at);
      if (!all_pass_on(here) &&
          (is_last || !is_nameless(here) || !allocates_for_others(places_at(of, at + 1).back().function)))
        break;
      ++at;
    }
    return at;
  };
  const auto is_wrapper = [&](const format::site_facts& of, std::uint32_t frame) {
    const std::vector<place>& places = places_at(of, frame);
    return std::any_of(places.begin(), places.end(), [&](const place& each) {
      const std::string function = without_arguments(each.function);
      return std::any_of(wrappers.begin(), wrappers.end(),
                         [&](const std::string& wanted) { return is_called(function, wanted); });
    });
  };
  // Starts after the innermost functions in `wrappers`, so that all that they call is skipped.
  const auto start_of = [&](const format::site_facts& of) {
    std::uint32_t at = 0;
    const auto end = static_cast<std::uint32_t>(wrappers.empty() ? 0 : of.frames.size());
    while (at < end && !is_wrapper(of, at)) ++at;
    if (at == end) return std::uint32_t{0};
    while (at < end && is_wrapper(of, at)) ++at;
    return at;
  };
  for (const site& each : sites) {
    const format::site_facts& facts = in.sites[each.number];
    const std::uint32_t at = advance(facts, start_of(facts));
    if (at == facts.frames.size()) continue;  // all frames are the library's: the innermost is as good as any
    frames_[each.number] = at;
    open.push_back(each.number);
  }
  for (int round = 0; round < most_nameless; ++round) {
    std::erase_if(open, [&](std::uint32_t number) {
      const format::site_facts& facts = in.sites[number];
      return frames_[number] + 1 >= facts.frames.size() || !is_nameless(places_at(facts, frames_[number]));
    });
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::uint64_t>> callers;
    for (const std::uint32_t number : open) {
      const format::site_facts& facts = in.sites[number];
      callers[{facts.image, facts.frames[frames_[number]]}].insert(facts.frames[frames_[number] + 1]);
    }
    std::erase_if(open, [&](std::uint32_t number) {
      const format::site_facts& facts = in.sites[number];
      return callers[{facts.image, facts.frames[frames_[number]]}].size() < many_callers;
    });
    for (const std::uint32_t number : open) {
      const format::site_facts& facts = in.sites[number];
      const std::uint32_t next = advance(facts, frames_[number] + 1);
      if (next < facts.frames.size()) frames_[number] = next;
    }
  }
}

std::vector<site> grouped(const format::recording& in, const std::vector<site>& sites, const deciders& by) {
  using key = std::tuple<std::uint32_t, category, bool, std::vector<std::uint64_t>>;
  std::map<key, std::size_t> places;
  std::vector<site> all;
  for (const site& each : sites) {
    const format::site_facts& facts = in.sites[each.number];
    const std::size_t inner = std::min(facts.frames.size(), by.frame_of(each.number) + 1);
    const auto [found, is_new] =
        places.try_emplace(key{facts.image, each.is, is_short_lived(each),
                               std::vector<std::uint64_t>(facts.frames.begin(),
                                                          facts.frames.begin() + static_cast<std::ptrdiff_t>(inner))},
                           all.size());
    if (is_new) {
      all.push_back(each);
    } else {
      add_site(all[found->second], each);
    }
  }
  return all;
}

}  // namespace tarn::analyse
