#include "profiler/findings/heap/escapes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "profiler/format/region.hpp"

namespace tarn::analyse {
namespace {

// Returns whether the function `functions[index]`, inlined or not, of the allocation's frame is one of the free's
// frame.
bool is_in_both(const std::vector<code_location>& allocation, std::size_t index,
                const std::vector<code_location>& release) {
  const std::size_t outer = allocation.size() - index;
  return release.size() >= outer && std::equal(allocation.rbegin(), allocation.rbegin() + static_cast<long>(outer),
                                               release.rbegin(), [](const code_location& a, const code_location& b) {
                                                 return a.function == b.function && a.module == b.module;
                                               });
}

// Returns the functions on the innermost frames of a free, up to the first frame that does more than to free or grow.
std::vector<code_location> innermost_functions(const format::site_facts& release, symbols& symbols) {
  std::vector<code_location> functions;
  for (const std::uint64_t frame : release.frames) {
    const std::vector<code_location>& locations = symbols.resolve(release.image, frame);
    functions.insert(functions.end(), locations.begin(), locations.end());
    if (!std::all_of(locations.begin(), locations.end(), is_wrapper)) break;
  }
  return functions;
}

// Returns whether the deciding function had ended before the free; nothing if that cannot be known.
std::optional<bool> has_escaped(const format::site_facts& allocation, const format::site_facts& release,
                                std::size_t frame, symbols& symbols) {
  const auto& [image, inner] = allocation;
  if (image != release.image || inner.empty() || release.frames.empty()) return {};
  // The outermost frames of a stack of this length may be missing.
  if (std::max(inner.size(), release.frames.size()) >= format::max_frames) return {};
  // The container lives on, so that this free does not tell where it ends.
  if (is_outgrown(innermost_functions(release, symbols))) return {};
  const auto common = std::mismatch(inner.rbegin(), inner.rend(), release.frames.rbegin(), release.frames.rend());
  const auto first_outer = static_cast<std::size_t>(std::distance(common.first, inner.rend()));  // or divergent
  if (frame >= first_outer) return false;
  if (frame + 1 < first_outer || common.second == release.frames.rend()) return true;
  const std::vector<code_location>& functions = symbols.resolve(image, inner[frame]);
  const auto deciding = std::find_if_not(functions.begin(), functions.end(), is_wrapper);
  if (deciding == functions.end() || deciding->function.empty()) return {};
  return !is_in_both(functions, static_cast<std::size_t>(deciding - functions.begin()),
                     symbols.resolve(image, *common.second));
}

}  // namespace

escapes::escapes(const format::recording& recording, const deciding_frames& deciding_frames, symbols& symbols)
    : frees_(recording.sites.size()) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<bool>> verdicts;  // by the sites of both
  for (const format::excerpt_facts& excerpt : recording.excerpts) {
    std::unordered_map<std::uint64_t, std::uint32_t> live;  // the site of each block, by address
    for (const format::excerpt_event& event : excerpt.events) {
      if (event.kind == format::excerpt_kind::allocate) {
        live[event.address] = event.site;
        continue;
      }
      const auto block = live.find(event.address);
      if (block == live.end()) continue;
      const std::uint32_t site = block->second;
      live.erase(block);
      if (event.kind != format::excerpt_kind::release || event.site == 0 || site == 0) continue;
      const auto [escaped, is_new] = verdicts.try_emplace({site, event.site});
      if (is_new) {
        escaped->second =
            has_escaped(recording.sites[site], recording.sites[event.site], deciding_frames.frame_of(site), symbols);
      }
      frees_[site].count += escaped->second.has_value();
      frees_[site].escaped += escaped->second.value_or(false);
    }
  }
}

escape_verdict escapes::verdict_of(const site& site) const {
  constexpr double min_share = 0.01;  // of a buffer that grows, only the last block may escape
  frees sum = frees_[site.number];
  for (const std::uint32_t number : site.merged_sites) {
    sum.count += frees_[number].count;
    sum.escaped += frees_[number].escaped;
  }
  if (sum.count == 0) return escape_verdict::unknown;
  const bool is_confined = static_cast<double>(sum.escaped) < min_share * static_cast<double>(sum.count);
  return is_confined ? escape_verdict::confined : escape_verdict::escapes;
}

}  // namespace tarn::analyse
