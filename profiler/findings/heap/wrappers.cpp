#include "profiler/findings/heap/wrappers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "profiler/format/python_layout.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

constexpr std::size_t many_callers = 3;
constexpr int max_unnamed_frames = 2;

// Returns whether the name is one of the standard library, of a layer below it or of the inside of Tarn. Rust's names
// have no arguments, which tells its `core::` and `alloc::` from namespaces of C++.
bool is_library(std::string_view name) {
  constexpr std::array prefixes = {"std::", "__gnu_cxx::", "tarn::detail::", "tarn::asio::detail::"};
  const bool is_of_rust = name.starts_with("core::") || name.starts_with("alloc::");
  return (is_of_rust && without_arguments(std::string(name)) == name) ||
         std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return name.starts_with(prefix); });
}

// Returns whether the name is `operator new` or `operator delete`, the global one or one of a class.
bool is_operator_of_allocation(std::string_view name) {
  constexpr std::array operators = {"operator new", "operator delete"};
  return std::any_of(operators.begin(), operators.end(), [&](const char* function) {
    const std::size_t index = name.find(function);
    return index == 0 || (index != std::string_view::npos && name.substr(0, index).ends_with("::"));
  });
}

// Returns whether a free function allocates for its callers: xmalloc, g_strdup, PyMem_Malloc, AllocSetAlloc … One such
// as posix_memalign may return a number.
bool allocates_for_others(const code_location& location) {
  std::string name(qualified_name(location.function));
  name.resize(std::min(name.find('('), name.size()));
  if (name.find("::") != std::string::npos || name.find('<') != std::string::npos) return false;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  constexpr std::array parts = {"alloc", "strdup", "strndup", "memdup", "memalign"};
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return std::any_of(parts.begin(), parts.end(), has) && (!location.returns_no_block || has("memalign"));
}

// `locations` are the functions inlined at a frame, with the frame's own function last.
bool all_pass_on(const std::vector<code_location>& locations) {
  return std::all_of(locations.begin(), locations.end(), is_wrapper);
}
bool is_nameless(const std::vector<code_location>& locations) {
  return std::all_of(locations.begin(), locations.end(),
                     [](const code_location& location) { return location.function.empty(); });
}

}  // namespace

// The sources of Rust's standard library are in the folder where its compiler was built, or below the toolchain.
bool is_of_rusts_library(std::string_view file) {
  if (!file.ends_with(".rs")) return false;
  constexpr std::array crates = {"library/core/src/", "library/alloc/src/", "library/std/src/"};
  return std::any_of(crates.begin(), crates.end(), [&](std::string_view crate) {
    const std::size_t index = file.find(crate);
    return index != std::string_view::npos && (index == 0 || file[index - 1] == '/');
  });
}

bool is_runtime_module(const std::string& module) {
  return module.ends_with("/libc.so.6") || module.find("/libstdc++.so") != std::string::npos ||
         format::is_recorder_library(module);
}

bool is_of_another_language(const code_location& location) {
  return location.file.ends_with(".rs") || location.file.ends_with(".go") || location.module == jit_module ||
         location.module == python_module;
}

bool is_wrapper(const code_location& location) {
  const std::string_view name = qualified_name(location.function);
  return is_library(name) || is_operator_of_allocation(name) || is_runtime_module(location.module) ||
         location.file.starts_with("/usr/include/") || is_of_rusts_library(location.file) ||
         allocates_for_others(location);
}

bool grows_container(std::string_view function) {
  constexpr std::array parts = {"_M_realloc_insert", "_M_realloc_append", "_M_default_append", "_M_range_insert",
                                "_M_fill_insert",    "_M_mutate",         "_M_reallocate_map"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return function.find(part) != std::string_view::npos; });
}

bool is_outgrown(const std::vector<code_location>& functions) {
  for (const code_location& location : functions) {
    if (!is_wrapper(location)) return false;
    if (grows_container(location.function)) return true;
  }
  return false;
}

deciding_frames::deciding_frames(const format::recording& recording, const std::vector<site>& sites, symbols& symbols,
                                 const std::vector<std::string>& wrappers)
    : frames_(recording.sites.size()) {
  std::vector<std::uint32_t> open;  // sites whose function may still be skipped
  const auto locations_at = [&](const format::site_facts& site,
                                std::size_t frame) -> const std::vector<code_location>& {
    return symbols.resolve(site.image, site.frames[frame]);
  };
  // Skips functions that allocate for others, and functions without a name that call one of these.
  const auto advance = [&](const format::site_facts& site, std::uint32_t index) {
    while (index < site.frames.size()) {
      const bool is_last = index + 1 == site.frames.size();
      const std::vector<code_location>& locations = locations_at(site, index);
      if (!all_pass_on(locations) &&
          (is_last || !is_nameless(locations) || !allocates_for_others(locations_at(site, index + 1).back())))
        break;
      ++index;
    }
    return index;
  };
  const auto is_chosen_wrapper = [&](const format::site_facts& site, std::uint32_t frame) {
    const std::vector<code_location>& locations = locations_at(site, frame);
    return std::any_of(locations.begin(), locations.end(), [&](const code_location& location) {
      const std::string function = without_arguments(location.function);
      return std::any_of(wrappers.begin(), wrappers.end(),
                         [&](const std::string& wrapper) { return is_called(function, wrapper); });
    });
  };
  // Returns the index of the innermost Python function, if the code that it calls is the interpreter's or has no debug
  // information; otherwise 0.
  const auto first_of_python = [&](const format::site_facts& site) {
    const auto python_frame = std::find_if(site.frames.begin(), site.frames.end(), format::is_python_address);
    const auto first =
        static_cast<std::uint32_t>(python_frame == site.frames.end() ? 0 : python_frame - site.frames.begin());
    for (std::uint32_t index = 0; index < first; ++index) {
      const std::vector<code_location>& locations = locations_at(site, index);
      const bool is_passed = std::all_of(locations.begin(), locations.end(), [](const code_location& location) {
        return location.is_interpreter || location.file.empty() || is_wrapper(location);
      });
      if (!is_passed) return std::uint32_t{0};
    }
    return first;
  };
  // Starts after the innermost functions in `wrappers`, so that all that they call is skipped.
  const auto start_of = [&](const format::site_facts& site) {
    std::uint32_t index = first_of_python(site);
    if (index != 0) return index;
    const auto end = static_cast<std::uint32_t>(wrappers.empty() ? 0 : site.frames.size());
    while (index < end && !is_chosen_wrapper(site, index)) ++index;
    if (index == end) return std::uint32_t{0};
    while (index < end && is_chosen_wrapper(site, index)) ++index;
    return index;
  };
  for (const site& site : sites) {
    const format::site_facts& facts = recording.sites[site.number];
    const std::uint32_t index = advance(facts, start_of(facts));
    if (index == facts.frames.size()) continue;  // all frames are the library's, so the innermost one stays
    frames_[site.number] = index;
    open.push_back(site.number);
  }
  // A function without a name that allocates for many callers is taken for an allocator of the program's. Each round
  // moves the sites of such a function one frame outwards, past further functions that allocate for others. A site
  // stays where it is as soon as its function has a name, has few callers, or is the outermost one.
  for (int round = 0; round < max_unnamed_frames; ++round) {
    std::erase_if(open, [&](std::uint32_t number) {
      const format::site_facts& facts = recording.sites[number];
      return frames_[number] + 1 >= facts.frames.size() || !is_nameless(locations_at(facts, frames_[number]));
    });
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::uint64_t>> callers;
    for (const std::uint32_t number : open) {
      const format::site_facts& facts = recording.sites[number];
      callers[{facts.image, facts.frames[frames_[number]]}].insert(facts.frames[frames_[number] + 1]);
    }
    std::erase_if(open, [&](std::uint32_t number) {
      const format::site_facts& facts = recording.sites[number];
      return callers[{facts.image, facts.frames[frames_[number]]}].size() < many_callers;
    });
    for (const std::uint32_t number : open) {
      const format::site_facts& facts = recording.sites[number];
      const std::uint32_t next = advance(facts, frames_[number] + 1);
      if (next < facts.frames.size()) frames_[number] = next;
    }
  }
}

std::vector<site> group_sites(const format::recording& recording, const std::vector<site>& sites,
                              const deciding_frames& deciding_frames) {
  using key = std::tuple<std::uint32_t, heap_category, bool, std::vector<std::uint64_t>>;
  std::map<key, std::size_t> group_indexes;
  std::vector<site> groups;
  for (const site& site : sites) {
    const format::site_facts& facts = recording.sites[site.number];
    const std::size_t inner = std::min(facts.frames.size(), deciding_frames.frame_of(site.number) + 1);
    const auto [group, is_new] = group_indexes.try_emplace(
        key{facts.image, site.category, is_short_lived(site),
            std::vector<std::uint64_t>(facts.frames.begin(),
                                       facts.frames.begin() + static_cast<std::ptrdiff_t>(inner))},
        groups.size());
    if (is_new) {
      groups.push_back(site);
    } else {
      add_site(groups[group->second], site);
    }
  }
  return groups;
}

}  // namespace tarn::analyse
