// Reads how much memory the system can still give to this process.
#pragma once

#include <cstddef>
#include <string_view>

namespace tarn::platform {

/// Returns the bytes that available_memory() finds in the files below `root`: /proc/meminfo, /proc/self/cgroup, and the
/// limits of the control groups that it names, of both versions. SIZE_MAX: they say nothing.
std::size_t available_memory_below(std::string_view root) noexcept;

}  // namespace tarn::platform
