#include "profiler/collect/residence.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/collect/thread_names.hpp"
#include "profiler/format/recorder_library.hpp"

namespace tarn::command {
namespace {

using format::memory_kind;
using format::residence_facts;

constexpr std::uint64_t page_bytes = 4096, mebibyte = std::uint64_t{1} << 20;

struct mapping {
  address_range range;
  std::string path;
  bool is_shared = false;
  std::uint64_t resident = 0, shared = 0, huge = 0, swapped = 0;
};

// Parses "7f0c4a000000-7f0c4a021000 rw-p 00000000 00:00 0   [heap]"; returns false for a line of another kind.
bool read_head(const std::string& line, mapping& result) {
  char* end = nullptr;
  const std::uint64_t start = std::strtoull(line.c_str(), &end, 16);
  if (end == line.c_str() || *end != '-') return false;
  const std::uint64_t behind = std::strtoull(end + 1, &end, 16);
  if (*end != ' ' || behind < start) return false;
  const std::string_view fields(end + 1);
  if (fields.size() < 4) return false;
  result = {};
  result.range = {start, behind};
  result.is_shared = fields[3] == 's';
  std::size_t position = 0;
  for (int field = 0; field < 4 && position != std::string_view::npos; ++field) {
    position = fields.find(' ', position);
    if (position != std::string_view::npos) position = fields.find_first_not_of(' ', position);
  }
  if (position != std::string_view::npos) result.path = fields.substr(position);
  return true;
}

void read_field(std::string_view line, mapping& result) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::uint64_t bytes = std::strtoull(line.data() + colon + 1, nullptr, 10) * 1024;
  if (name == "Rss") result.resident += bytes;
  if (name == "Shared_Clean" || name == "Shared_Dirty") result.shared += bytes;
  if (name == "AnonHugePages" || name == "ShmemPmdMapped" || name == "FilePmdMapped") result.huge += bytes;
  if (name == "Swap") result.swapped += bytes;
}

bool touches(const std::vector<address_range>& ranges, const address_range& stretch) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const address_range& range) {
    return range.start < stretch.end && stretch.start < range.end;
  });
}

// Returns the use of a mapping if its name shows it.
std::optional<memory_kind> kind_by_name(const mapping& mapping, const memory_uses& uses) {
  const std::string& path = mapping.path;
  if (path.starts_with("/memfd:tarn-record") || format::is_recorder_library(path)) return memory_kind::recorder;
  if (path == "[heap]" || path.starts_with("[anon:glibc: malloc")) return memory_kind::heap;
  if (path == "[stack]") return memory_kind::stacks;
  if (path.starts_with("/dev/shm/") || path.starts_with("/memfd:") || path.starts_with("/SYSV") ||
      path.starts_with("/dev/zero"))
    return memory_kind::shared_memory;
  if (path.starts_with('/')) return touches(uses.modules, mapping.range) ? memory_kind::program : memory_kind::files;
  if (path == "[vdso]" || path.starts_with("[vvar") || path == "[vsyscall]") return memory_kind::program;
  if (mapping.is_shared) return memory_kind::shared_memory;
  return std::nullopt;
}

// Divides an anonymous mapping into stretches with one use each.
class divided {
 public:
  divided(const address_range& bounds, const memory_uses& uses) : bounds_(bounds), uses_(uses) {
    for (const auto* const ranges : {&uses.recorder, &uses.modules}) {
      for (const address_range& range : *ranges) add_cuts(range);
    }
    for (const auto& [thread, range] : uses.stacks) add_cuts(range);
    // A mapping may have terabytes of which few are in use.
    const auto& heap = uses.heap_mebibytes;
    for (auto next = heap.lower_bound(bounds.start / mebibyte); next != heap.end() && *next * mebibyte < bounds.end;) {
      const std::uint64_t first = *next;
      std::uint64_t behind = first;
      for (; next != heap.end() && *next == behind; ++next) ++behind;
      add_cuts({first * mebibyte, behind * mebibyte});
    }
    cuts_.push_back(bounds.start);
    cuts_.push_back(bounds.end);
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  }

  template <class Take>
  void for_each(Take take) const {
    for (std::size_t index = 0; index + 1 < cuts_.size(); ++index) {
      const address_range stretch{cuts_[index], cuts_[index + 1]};
      take(stretch, kind_of(stretch));
    }
  }

 private:
  void add_cuts(const address_range& range) {
    for (const std::uint64_t cut : {range.start, range.end}) {
      if (bounds_.start < cut && cut < bounds_.end) cuts_.push_back(cut / page_bytes * page_bytes);
    }
  }
  memory_kind kind_of(const address_range& stretch) const {
    const address_range middle{stretch.start, stretch.start + 1};
    if (touches(uses_.recorder, middle)) return memory_kind::recorder;
    const auto is_here = [&](const auto& stack) {
      return stack.second.start < middle.end && middle.start < stack.second.end;
    };
    if (std::any_of(uses_.stacks.begin(), uses_.stacks.end(), is_here)) return memory_kind::stacks;
    if (touches(uses_.modules, middle)) return memory_kind::program;
    return uses_.heap_mebibytes.contains(stretch.start / mebibyte) ? memory_kind::heap : memory_kind::remainder;
  }

  address_range bounds_;
  const memory_uses& uses_;
  std::vector<std::uint64_t> cuts_;
};

// Adds the resident bytes of an anonymous mapping to the uses of its stretches: by their resident pages, or by their
// sizes if these are not known. The pages of the remainder are what is left of the mapping's, and are not read.
void add_anonymous(const mapping& mapping, const memory_uses& uses, const page_reader& pages, residence_facts& sum) {
  const divided stretches(mapping.range, uses);
  std::array<double, format::memory_kinds> weights{};
  stretches.for_each([&](const address_range& stretch, memory_kind kind) {
    weights[static_cast<std::size_t>(kind)] += static_cast<double>(stretch.end - stretch.start);
  });
  if (std::count_if(weights.begin(), weights.end(), [](double weight) { return weight != 0; }) > 1) {
    std::array<double, format::memory_kinds> resident_bytes{};
    bool knows_pages = true;
    double remainder = static_cast<double>(mapping.resident);
    stretches.for_each([&](const address_range& stretch, memory_kind kind) {
      if (kind == memory_kind::remainder || !knows_pages) return;
      const std::vector<bool> resident = pages(stretch.start, stretch.end);
      knows_pages = !resident.empty();
      const auto bytes = static_cast<double>(std::count(resident.begin(), resident.end(), true)) * page_bytes;
      resident_bytes[static_cast<std::size_t>(kind)] += bytes;
      remainder -= bytes;
    });
    if (weights[static_cast<std::size_t>(memory_kind::remainder)] != 0)
      resident_bytes[static_cast<std::size_t>(memory_kind::remainder)] = std::max(remainder, 0.0);
    const bool has_pages = std::any_of(resident_bytes.begin(), resident_bytes.end(), [](double n) { return n != 0; });
    if (knows_pages && has_pages) weights = resident_bytes;
  }
  double whole = 0;
  for (const double weight : weights) whole += weight;
  std::uint64_t left = mapping.resident;
  std::size_t largest = 0;
  for (std::size_t kind = 0; kind < weights.size(); ++kind) {
    if (weights[kind] > weights[largest]) largest = kind;
    const auto bytes = static_cast<std::uint64_t>(static_cast<double>(mapping.resident) * weights[kind] / whole);
    sum.bytes[kind] += std::min(bytes, left);
    left -= std::min(bytes, left);
  }
  sum.bytes[largest] += left;  // the remainder of rounding
}

std::vector<bool> resident_pages(int file, std::uint64_t start, std::uint64_t end) {
  std::vector<bool> pages;
  std::vector<std::uint64_t> entries(8192);  // not on the stack, which may be small
  for (std::uint64_t page = start / page_bytes; page < end / page_bytes;) {
    const std::uint64_t entry_count = std::min<std::uint64_t>(entries.size(), end / page_bytes - page);
    const ssize_t read_bytes =
        ::pread(file, entries.data(), entry_count * sizeof entries[0], static_cast<off_t>(page * sizeof entries[0]));
    if (read_bytes < static_cast<ssize_t>(sizeof entries[0])) break;
    const std::size_t count = static_cast<std::size_t>(read_bytes) / sizeof entries[0];
    for (std::size_t index = 0; index < count; ++index) pages.push_back((entries[index] >> 63) != 0);
    page += count;
  }
  return pages;
}

}  // namespace

std::optional<residence_facts> residence_in(std::istream& smaps, const memory_uses& uses, const page_reader& pages) {
  residence_facts sum;
  bool is_any = false;
  mapping current;
  const auto add = [&] {
    if (!is_any) return;
    sum.shared_bytes += current.shared;
    sum.huge_page_bytes += current.huge;
    sum.swapped_bytes += current.swapped;
    if (current.resident == 0) return;
    if (const auto kind = kind_by_name(current, uses)) {
      sum.bytes[static_cast<std::size_t>(*kind)] += current.resident;
    } else {
      add_anonymous(current, uses, pages, sum);
    }
  };
  mapping next;
  for (std::string line; std::getline(smaps, line);) {
    if (read_head(line, next)) {
      add();
      current = std::move(next);
      is_any = true;
    } else {
      read_field(line, current);
    }
  }
  add();
  if (!is_any) return std::nullopt;
  return sum;
}

std::optional<residence_facts> residence_of(std::uint64_t process, memory_uses uses) {
  std::ifstream smaps(fmt::format("/proc/{}/smaps", process));
  if (!smaps) return std::nullopt;
  const std::vector<std::uint32_t> running = running_threads(process);
  std::erase_if(uses.stacks,
                [&](const auto& stack) { return !std::binary_search(running.begin(), running.end(), stack.first); });
  const int file = ::open(fmt::format("/proc/{}/pagemap", process).c_str(), O_RDONLY | O_CLOEXEC);
  const auto result = residence_in(
      smaps, uses, [&](std::uint64_t start, std::uint64_t end) { return resident_pages(file, start, end); });
  if (file >= 0) ::close(file);
  return result;
}

}  // namespace tarn::command
