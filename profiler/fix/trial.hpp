// Builds, checks and measures the commits of a series, each in a tree of its own.
#pragma once

#include <optional>
#include <string>

#include "profiler/fix/gain.hpp"
#include "profiler/fix/series.hpp"

namespace tarn::fix {

// The commands run by sh, in the folder of a tree that corresponds to the current one.
struct trial_commands {
  std::string build;         // empty: CMake, with the cache of the user's build folder
  std::string check, prove;  // empty: none
  std::size_t runs = 5;
};

class trial {
 public:
  // Builds, checks and runs the state before the series. Throws a failure if one of these fails.
  trial(const series& patches, const std::string& build, const std::string& scratch, trial_commands commands);

  struct outcome {
    std::string problem;  // why the commit is not kept; empty if it is
    std::optional<gain> measured;
  };
  // Judges the last commit of the series against the commit before it.
  outcome judge(double predicted_share);

 private:
  struct build_tree {
    std::string path, folder, build;
  };
  // Returns why a step fails in a tree; empty if it does not.
  std::string problem_in(const build_tree& tree) const;
  std::string build_in(const build_tree& tree) const;
  double run_in(const build_tree& tree, std::string& problem) const;

  const series& patches_;
  std::string root_, build_;
  trial_commands commands_;
  build_tree plain_, patched_;
};

}  // namespace tarn::fix
