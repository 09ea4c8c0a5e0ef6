#pragma once

#include <cstdint>
#include <string>

#include "format/recording.hpp"

namespace tarn::command {

// What the kernel has for a thread of a process; empty where there is none.
std::string thread_name(std::uint64_t process, std::uint32_t thread);

// Gives the threads that still run the names that the kernel has for them; the others keep theirs. One small file is
// read for each.
void name_threads(format::recording& of);

}  // namespace tarn::command
