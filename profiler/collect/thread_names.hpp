#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns the kernel's numbers of the threads of a process that run, in rising order.
std::vector<std::uint32_t> running_threads(std::uint64_t process);

// Returns the kernel's name of a thread of a process, or nothing if there is none.
std::string thread_name(std::uint64_t process, std::uint32_t thread);

// Sets the names of the threads that still run to those of the kernel; the others keep theirs. Reads one folder, and
// one small file for each of those.
void name_threads(format::recording& recording);

}  // namespace tarn::command
