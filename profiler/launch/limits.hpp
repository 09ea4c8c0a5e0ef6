// Adapts the sizes of a recording's regions to the limits of the process (ulimit).
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>

namespace tarn::command {

// The sizes of a recording's regions: the first one's bytes, the bytes of each region for a child, and how many of
// those there are.
struct region_sizes {
  std::uint64_t first = 0, spare = 0;
  std::size_t spares = 0;
};

// `counts_all` means that every block is counted, `follows_children` that children are recorded. Throws a failure that
// names the limit that is too low.
region_sizes sizes_within_limits(bool counts_all, bool follows_children);

// Raises the file size limit to its hard limit during its lifetime. The region is a file in memory, and the limit
// (ulimit -f) is meant for files on disks.
class larger_files {
 public:
  larger_files();
  larger_files(const larger_files&) = delete;
  larger_files& operator=(const larger_files&) = delete;
  ~larger_files();

 private:
  rlimit before_;
};

}  // namespace tarn::command
