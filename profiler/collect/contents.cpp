#include "profiler/collect/contents.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "profiler/format/region.hpp"

namespace tarn::command {
namespace {

struct content {
  std::uint32_t site;
  std::uint64_t hash, bytes;  // two of 64 bits and one size count as equal
  auto operator<=>(const content&) const = default;
};

// Sums up the blocks of equal contents, which are neighbours in `contents`.
void add_equal(std::vector<content>& contents, std::map<std::uint32_t, format::site_contents>& sites) {
  std::sort(contents.begin(), contents.end());
  for (auto first = contents.begin(); first != contents.end();) {
    const auto next =
        std::find_if(first, contents.end(), [&](const content& candidate) { return candidate != *first; });
    if (const auto others = static_cast<std::uint64_t>(next - first) - 1; others != 0) {
      format::site_contents& site = sites[first->site];
      site.equal_blocks += others;
      site.equal_bytes += others * first->bytes;
      ++site.repeated;
    }
    first = next;
  }
}

}  // namespace

std::map<std::uint32_t, format::site_contents> contents_of(const std::vector<heap_block>& blocks,
                                                           const memory_reader& read) {
  std::map<std::uint32_t, format::site_contents> sites;
  std::vector<content> contents;
  std::vector<unsigned char> bytes;
  for (const heap_block& block : blocks) {
    format::site_contents& site = sites[block.site];
    ++site.blocks;
    site.bytes += block.bytes;
    if (block.bytes == 0 || block.bytes > format::max_filled_bytes) continue;
    bytes.resize(block.bytes);
    if (!read(block.address, bytes.data(), block.bytes)) continue;
    const auto end = std::find_if(bytes.rbegin(), bytes.rend(), [](unsigned char byte) {
                       return byte != format::unwritten_byte;
                     }).base();
    const auto unwritten = static_cast<std::uint64_t>(bytes.end() - end);
    site.unwritten_blocks += unwritten != 0 ? 1 : 0;
    site.unwritten_bytes += unwritten;
    site.max_unwritten = std::max(site.max_unwritten, unwritten);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (end != bytes.begin()) contents.push_back({block.site, std::hash<std::string_view>()(text), block.bytes});
  }
  add_equal(contents, sites);
  std::erase_if(sites, [](const auto& entry) { return entry.second.unwritten_bytes + entry.second.equal_bytes == 0; });
  return sites;
}

}  // namespace tarn::command
