#include "profiler/launch/limits.hpp"

#include <algorithm>
#include <bit>

#include "profiler/base/failure.hpp"
#include "profiler/format/region.hpp"

namespace tarn::command {
namespace {

std::uint64_t limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

region_sizes sizes_within_limits(bool counts_all, bool follows_children) {
  using format::min_region_bytes;
  constexpr std::uint64_t part = 8;  // the region gets an eighth of the addresses, the program the rest
  constexpr std::uint64_t table_of_blocks = std::uint64_t{1} << 30;
  region_sizes sizes{format::usual_region_bytes, format::usual_region_bytes,
                     follows_children ? format::max_spare_regions : 0};
  if (const std::uint64_t addresses = limit_of(RLIMIT_AS); addresses != RLIM_INFINITY) {
    if (counts_all && addresses < 2 * table_of_blocks) {
      fail(
          exit_code::no_memory,
          "--full needs {} KiB of address space, and the limit is {} KiB (ulimit -v); without --full {} KiB are enough",
          table_of_blocks >> 10, addresses >> 10, part * min_region_bytes >> 10);
    }
    if (addresses < part * min_region_bytes) {
      fail(exit_code::no_memory,
           "the address space limit of {} KiB (ulimit -v) is too low to record; at least {} KiB are needed",
           addresses >> 10, part * min_region_bytes >> 10);
    }
    sizes.first = std::min(sizes.first, std::bit_floor(addresses / part));
    sizes.spare = std::min(sizes.first, std::max(min_region_bytes, std::bit_floor(addresses / (part * part))));
    sizes.spares = std::min<std::size_t>(sizes.spares, addresses / 4 / sizes.spare);
  }
  if (const std::uint64_t files = limit_of(RLIMIT_NOFILE); follows_children && files != RLIM_INFINITY) {
    constexpr std::uint64_t own_files = 32, files_of_child = 3, min_children = 8;
    if (files < own_files + min_children * files_of_child) {
      fail(exit_code::no_memory,
           "the limit of {} open files (ulimit -n) is too low to record child processes; at least {} are needed: raise "
           "it, or record the program itself, without --follow and without a shell or launcher",
           files, own_files + min_children * files_of_child);
    }
    sizes.spares = std::min<std::size_t>(sizes.spares, (files - own_files) / files_of_child);
  }
  const larger_files allowed;
  if (const std::uint64_t bytes = limit_of(RLIMIT_FSIZE); bytes != RLIM_INFINITY) {
    if (bytes < min_region_bytes) {
      fail(exit_code::no_memory,
           "the file size limit of {} KiB (ulimit -f) is too low to record; at least {} KiB are needed", bytes >> 10,
           min_region_bytes >> 10);
    }
    sizes.first = std::min(sizes.first, std::bit_floor(bytes));
    sizes.spare = std::min(sizes.spare, sizes.first);
  }
  return sizes;
}

larger_files::larger_files() : before_{} {
  ::getrlimit(RLIMIT_FSIZE, &before_);
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY}, highest{before_.rlim_max, before_.rlim_max};
  if (::setrlimit(RLIMIT_FSIZE, &unlimited) != 0) ::setrlimit(RLIMIT_FSIZE, &highest);
}
larger_files::~larger_files() { ::setrlimit(RLIMIT_FSIZE, &before_); }

}  // namespace tarn::command
