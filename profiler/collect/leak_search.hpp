// Looks for blocks that no pointer reaches, in a process that exits and waits for that (format::leak_search).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "profiler/collect/region_file.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::command {

// Stops all threads of the process except the one in exit(), searches its memory, and resumes the threads. Throws a
// failure if the process may not be traced, or ends meanwhile.
std::map<std::uint32_t, format::leak_facts> search_leaks(pid_t process, region_file& region);

}  // namespace tarn::command
