// A short run under conditions that a process cannot take back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace soak {

/// Returns entries of the environment for an episode: options of the drop-in.
std::vector<std::string> episode_options(std::uint64_t seed);
/// Runs an episode, and returns its exit code.
int run_episode(std::uint64_t seed);

}  // namespace soak
