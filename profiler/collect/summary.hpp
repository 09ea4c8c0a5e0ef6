// Says what a recording has, when it ends.
#pragma once

#include <cstdint>

#include "profiler/collect/process_recording.hpp"

namespace tarn::command {

// Prints what was recorded, what was not, and the cost, once the last file of the recording is written.
void print_summary(std::uint32_t sources, process_recording& recording);

}  // namespace tarn::command
