// Describes the program that is recorded, and by which sources.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/cpu/sampler.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns the facts without the number of the process.
format::program_facts facts_of(const std::vector<std::string>& arguments, std::uint32_t sources,
                               std::uint64_t interval);
// Begins to sample the processor, for the next program or (not 0) for a process that runs, and adds that to the
// sources. Returns null where the kernel refuses it, and says so; throws a failure where nothing else is recorded.
std::unique_ptr<cpu::sampler> add_cpu_source(format::program_facts& facts, pid_t process);
// Takes the samples that have come, if that is due. `sampler` may be null.
void take_samples(cpu::sampler* sampler);

}  // namespace tarn::command
