// Runs an experiment: a process for each form, x and round. The forms take turns, so that a slow phase of the machine
// affects all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiler/lab/result.hpp"

namespace tarn::lab {

// An invalid argument of the caller, in one line.
class problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The folders of the programs and of the drop-in.
struct run_folders {
  std::string programs, libraries;
};

using settings = std::map<std::string, std::vector<std::uint64_t>>;

struct request {
  bool is_quick = false;
  std::optional<std::uint64_t> rounds;
  settings set;  // by key
};

inline constexpr std::uint64_t max_rounds = 101;

// Parses the arguments [EXPERIMENT.]KEY=N[,N…] into a map by experiment. Throws `problem`: no experiment has such a
// key, not a number, out of bounds.
std::map<std::string, settings> read_settings(const std::vector<const experiment*>& experiments,
                                              const std::vector<std::string>& assignments);

// Runs it. Missing or failing parts never throw; the result names them. `say` receives a line for each step.
result run(const experiment& definition, const request& options, const run_folders& folders,
           const std::function<void(const std::string&)>& say);

// Returns the path of a library that the loader knows, or nothing.
std::string find_shared_library(const std::string& file_name);

}  // namespace tarn::lab
