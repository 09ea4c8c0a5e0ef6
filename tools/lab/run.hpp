// Runs an experiment: a process for each form, x and round, the forms in turn, so that a change of the machine's mood
// meets them all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/result.hpp"

namespace tarn::lab {

// What is wrong with the caller's words, in one line.
class problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Folders: of the programs, of the drop-in.
struct places {
  std::string programs, libraries;
};

using settings = std::map<std::string, std::vector<std::uint64_t>>;

struct request {
  bool is_quick = false;
  std::optional<std::uint64_t> rounds;
  settings set;  // by key
};

inline constexpr std::uint64_t most_rounds = 101;

// What `words` ([EXPERIMENT.]KEY=N[,N…]) say to each of the chosen experiments, which is a map by its name. Throws
// `problem`: no experiment has such a key, no number, out of bounds.
std::map<std::string, settings> read_settings(const std::vector<const experiment*>& chosen,
                                              const std::vector<std::string>& words);

// Runs it. Never throws for what is missing or fails: the result says so. `say` is given a line for each step.
result run(const experiment& of, const request& wanted, const places& at,
           const std::function<void(const std::string&)>& say);

// The path of a library that the loader knows; empty where it knows none.
std::string find_shared_library(const std::string& file_name);

}  // namespace tarn::lab
