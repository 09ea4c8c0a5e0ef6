#include "fuzz/recording_input.hpp"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "profiler/advise/analysis.hpp"
#include "profiler/advise/difference.hpp"
#include "profiler/advise/limits.hpp"
#include "profiler/findings/time/cpu.hpp"
#include "profiler/findings/timeline.hpp"
#include "profiler/findings/waits/lock_order.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/format/checksum.hpp"
#include "profiler/format/interval.hpp"
#include "profiler/format/reader.hpp"
#include "profiler/format/writer.hpp"
#include "unit/analyse/recordings.hpp"

namespace tarn::fuzz {
namespace {

using namespace tarn::format;

constexpr std::size_t max_views = 20;

void check(bool is_true, const char* otherwise) {
  if (is_true) return;
  std::fprintf(stderr, "%s\n", otherwise);
  std::abort();
}

std::uint8_t take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto first = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return first;
}

void append_block(std::string& file, std::uint32_t kind, std::string_view content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), -5));
  block_header header{block_mark, kind, static_cast<std::uint32_t>(packed.size()),
                      static_cast<std::uint32_t>(content.size()), 0};
  header.checksum = checksum_of(header, packed);
  file.append(reinterpret_cast<const char*>(&header), sizeof header).append(packed);
}

// A cell of zeros has no meaning and is not written.
template <class Cells>
Cells without_zeros(Cells cells) {
  erase_if(cells, [](const auto& cell) { return cell.second == std::remove_cvref_t<decltype(cell.second)>{}; });
  return cells;
}

bool is_same(const recording& a, const recording& b) {
  return a.modules == b.modules && a.threads == b.threads && a.sites == b.sites &&
         without_zeros(a.cells) == without_zeros(b.cells) && without_zeros(a.calls) == without_zeros(b.calls) &&
         a.locks == b.locks && without_zeros(a.acquisitions) == without_zeros(b.acquisitions) &&
         without_zeros(a.waits) == without_zeros(b.waits) && without_zeros(a.orders) == without_zeros(b.orders) &&
         a.cpu.threads == b.cpu.threads && a.cpu.stacks == b.cpu.stacks && a.cpu.modules == b.cpu.modules &&
         without_zeros(a.cpu.cells) == without_zeros(b.cpu.cells) && a.has_ended == b.has_ended;
}

void write_again(const recording& original) {
  static const std::string path = "/dev/shm/tarn-fuzz-recording-" + std::to_string(::getpid());
  {
    writer output(path);
    output.program(original.program);
    output.changes(original);
    if (original.has_ended) output.end(original.end);
  }
  const recording reread = read(path);
  ::unlink(path.c_str());
  check(reread.damage.empty(), "what is written cannot be read");
  check(is_same(original, reread), "what is written is not what was read");
}

void analyse_all(const recording& examined) {
  static const analyse::cost_model prices = analyse::simple_costs();
  analyse::analysis analysis(examined, prices);
  std::vector<analyse::site_view> views;
  for (const analyse::site& site : analysis.grouped_sites()) {
    if (views.size() == max_views) break;
    views.push_back(analysis.view(site));
    check(views.back().frame_index == 0 || views.back().frame_index < views.back().stack.size(),
          "a place outside of its stack");
  }
  std::uint64_t samples = 0, waited_ns = 0;
  for (const auto& [key, counts] : examined.cpu.cells) {
    samples += counts[cpu_samples];
    waited_ns += counts[waiting_ns];
  }
  check(analysis.cpu().samples == samples, "samples of the processor that got lost");
  for (const analyse::lane& lane : analysis.lanes().lanes) check(lane.lifetime_ns() != 0, "a lane without time");
  std::uint64_t placed_ns = analysis.time().unplaced_ns;
  for (const analyse::wait_site& sum : analysis.time().waits) placed_ns += sum.waited_ns;
  check(placed_ns == waited_ns, "waits that got lost");
  std::uint64_t blocks_of_sites = 0, blocks_of_groups = 0;
  for (const analyse::site& site : analysis.heap().sites) blocks_of_sites += site.sums[blocks];
  for (const analyse::site& site : analysis.grouped_sites()) blocks_of_groups += site.sums[blocks];
  check(blocks_of_sites == blocks_of_groups, "sites that were put together and do not add up");
  const std::vector<analyse::location_sums> locations = analyse::sums_by_location(views);
  check(analyse::compare(locations, locations).changes.empty(), "a recording that differs from itself");
  const auto checks =
      analyse::check_limits({analyse::limit_of("allocations <= 0"), analyse::limit_of("heap share <= 1 %"),
                             analyse::limit_of("peak <= 1 MiB"), analyse::limit_of("never freed <= 0")},
                            {.locations = locations, .by_category = {}}, {1, 1, 1}, 1);
  check(checks.size() == 4, "a limit that was not checked");
  analyse::symbols symbols(examined);
  for (const analyse::lock_group& group : analyse::find_locks(examined).groups) {
    check(!group.sites.empty(), "a lock that nobody took");
    analyse::stack_at(examined, group.first_site, symbols);
  }
  for (const analyse::inversion& inversion : analyse::find_orders(examined).inversions) {
    for (std::size_t index = 0; index < inversion.steps.size(); ++index)
      check(inversion.steps[index].takes == inversion.steps[(index + 1) % inversion.steps.size()].holds,
            "a circle that is none");
  }
  for (const analyse::call_site& call : analyse::find_calls(examined).sites)
    analyse::stack_at(examined, call.site, symbols);
}

}  // namespace

std::string file_from(std::string_view input) {
  const bool as_it_is = take_byte(input) == 0;
  if (as_it_is) return std::string(input);
  const file_header first{recording_magic, recording_version, 0};
  std::string file(reinterpret_cast<const char*>(&first), sizeof first);
  while (!input.empty()) {
    const std::uint32_t kind = take_byte(input);
    const std::size_t size = take_byte(input) | std::size_t{take_byte(input)} << 8;
    append_block(file, kind, input.substr(0, size));
    input.remove_prefix(std::min(size, input.size()));
  }
  return file;
}

std::string input_from(std::string_view file) {
  std::string input = "\1";
  file.remove_prefix(sizeof(file_header));
  while (!file.empty()) {
    block_header header;
    std::memcpy(&header, file.data(), sizeof header);
    std::string content(header.unpacked, '\0');
    ZSTD_decompress(content.data(), content.size(), file.data() + sizeof header, header.packed);
    const auto add = [&input](std::uint64_t kind, std::string_view part) {
      input += {static_cast<char>(kind), static_cast<char>(part.size()), static_cast<char>(part.size() >> 8)};
      input += part;
    };
    if (header.kind != static_cast<std::uint32_t>(block_kind::snapshot)) {
      add(header.kind, content);
    } else {  // changes of the blocks inside reach further
      for (decoder changes(content); !changes.at_end();) {
        const std::uint64_t kind = changes.number();
        add(kind, changes.text());
      }
    }
    file.remove_prefix(sizeof header + header.packed);
  }
  return input;
}

void examine(std::string_view file) {
  recording examined;
  try {
    examined = parse(file);
  } catch (const unreadable&) {
    return;
  }
  analyse_all(examined);
  if (!examined.snapshots.empty()) {
    const interval half = to_snapshots(examined, {0, examined.snapshots.back().at_ns / 2});
    const recording part = part_of(examined, file, half);
    const recording joined = analyse::with_cpu_sites(examined);
    const analyse::history course = analyse::history_of(joined, file, 10);
    check(course.intervals.empty() || course.intervals.back().to_ns == examined.snapshots.back().at_ns,
          "a course that ends elsewhere");
    analyse::timeline_of(examined, course, analyse::find(examined), analyse::find_locks(examined),
                         analyse::find_calls(examined));
    check(part.threads.size() == examined.threads.size() && part.sites.size() == examined.sites.size(),
          "a part without names");
    analyse_all(part);
  }
  if (examined.damage.empty()) write_again(examined);
}

}  // namespace tarn::fuzz
