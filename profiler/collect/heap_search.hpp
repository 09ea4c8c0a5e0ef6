// Searches the heap of a process that waits for that (format::heap_search): for blocks that no pointer reaches, and for
// what blocks contain.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "profiler/collect/region_file.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::command {

// Both stop all threads of the process except the one that waits, search its memory, and resume the threads. They throw
// a failure if the process may not be traced, or ends meanwhile.
std::map<std::uint32_t, format::leak_facts> search_leaks(pid_t process, region_file& region);
std::map<std::uint32_t, format::site_contents> search_contents(pid_t process, region_file& region);

}  // namespace tarn::command
