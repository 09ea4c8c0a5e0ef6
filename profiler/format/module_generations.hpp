// Gives modules that had the same addresses one after the other their generations (generations.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::format {

// Returns the generation of a module.
std::uint64_t generation_of(const module_facts& module);
// Changes it.
void set_generation(module_facts& module, std::uint64_t generation);
// Returns true if the two had addresses in common in the process, in the same generation or not.
bool share_addresses(const module_facts& first, const module_facts& second);

// Adds a module with addresses of the process, that has taken the place of those which share them, to `modules`, unless
// it was there before. Returns its generation.
std::uint64_t add_in_turn(std::vector<module_facts>& modules, module_facts module);

}  // namespace tarn::format
