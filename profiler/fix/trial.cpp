#include "profiler/fix/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/base/cpu_time.hpp"
#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"

namespace tarn::fix {
namespace {

namespace fs = std::filesystem;
using command::cpu_seconds_of;
using command::exit_code;
using command::fail;

// Returns the line of a program's output that tells why it failed: the first error, else the last line.
std::string telling_line(const command::helper_result& result) {
  const std::string text = result.errors + result.output;
  std::string last_line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find("rror:") != std::string::npos) return line;
    if (!line.empty()) last_line = std::move(line);
  }
  return last_line.empty() ? fmt::format("exit code {}", result.code) : last_line;
}

// Runs a command in a folder. Returns why it failed; empty if it did not.
std::string problem_of(const std::string& folder, const std::string& command, const char* claim) {
  const command::helper_result result = command::run_helper({"env", "-C", folder, "sh", "-c", command}, "", false);
  return result.code == 0 ? std::string() : fmt::format("{} ({}): {}", claim, command, telling_line(result));
}

// Replaces a path in a text, where it is a whole path or begins one.
void replace_path(std::string& text, const std::string& path, const std::string& replacement) {
  if (path.empty()) return;
  for (std::size_t start = 0; (start = text.find(path, start)) != std::string::npos;) {
    const std::size_t end = start + path.size();
    const bool is_longer = end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                                 std::string_view("_-.+").find(text[end]) != std::string_view::npos);
    if (!is_longer) text.replace(start, path.size(), replacement);
    start += is_longer ? path.size() : replacement.size();
  }
}

// Returns the value of an entry of CMakeCache.txt.
std::string cached_path(const std::string& cache, const std::string& name) {
  const std::size_t start = cache.find("\n" + name + "=");
  if (start == std::string::npos) return {};
  const std::size_t begin = start + name.size() + 2;
  return cache.substr(begin, cache.find('\n', begin) - begin);
}

}  // namespace

trial::trial(const series& patches, const std::string& build, const std::string& scratch, trial_commands commands)
    : patches_(patches), build_(fs::canonical(build)), commands_(std::move(commands)) {
  if (commands_.build.empty() && !fs::exists(build_ + "/CMakeCache.txt"))
    fail(exit_code::usage, "{} has no CMakeCache.txt: name the command that builds by --build", build);
  const std::string& root = patches_.root();
  const fs::path subfolder = fs::relative(fs::current_path(), root);
  // Their paths have the same length, because the length of a path may change a program's time.
  for (const auto& [tree, name] : {std::pair(&plain_, "one"), std::pair(&patched_, "two")}) {
    tree->path = scratch + "/" + name;
    tree->folder = (tree->path / subfolder).lexically_normal();
    const bool is_inside = build_.starts_with(root + "/");
    tree->build = is_inside ? tree->path + build_.substr(root.size()) : tree->path + "-build";
  }
  patches_.check_out("HEAD", plain_.path);
  std::string problem = problem_in(plain_);
  if (problem.empty() && !commands_.prove.empty()) run_in(plain_, problem);
  if (!problem.empty()) fail(exit_code::plain_fails, "without a patch, {}", problem);
}

std::string trial::build_in(const build_tree& tree) const {
  fs::create_directories(tree.folder);
  if (!commands_.build.empty()) return problem_of(tree.folder, commands_.build, "the build fails");
  if (!fs::exists(tree.build + "/CMakeCache.txt")) {
    std::ifstream file(build_ + "/CMakeCache.txt");
    std::string cache{std::istreambuf_iterator<char>(file), {}};
    const std::string old_build = cached_path(cache, "CMAKE_CACHEFILE_DIR:INTERNAL");
    const std::string old_source = cached_path(cache, "CMAKE_HOME_DIRECTORY:INTERNAL");
    const std::string source = tree.path / fs::relative(old_source, patches_.root());
    replace_path(cache, old_build, tree.build);
    replace_path(cache, old_source, source);
    replace_path(cache, patches_.root(), tree.path);
    fs::create_directories(tree.build);
    std::ofstream(tree.build + "/CMakeCache.txt") << cache;
    const command::helper_result configured = command::run_helper({"cmake", "-S", source, "-B", tree.build}, "", false);
    if (configured.code != 0) return "cmake cannot configure: " + telling_line(configured);
  }
  // Without a number, make would start all compilers at once.
  std::vector<std::string> command = {"cmake", "--build", tree.build};
  if (std::getenv("CMAKE_BUILD_PARALLEL_LEVEL") == nullptr)
    command.push_back(fmt::format("--parallel={}", std::max(1U, std::thread::hardware_concurrency())));
  const command::helper_result built = command::run_helper(command, "", false);
  return built.code == 0 ? std::string() : "the build fails: " + telling_line(built);
}

std::string trial::problem_in(const build_tree& tree) const {
  std::string problem = build_in(tree);
  if (problem.empty() && !commands_.check.empty())
    problem = problem_of(tree.folder, commands_.check, "the check fails");
  return problem;
}

double trial::run_in(const build_tree& tree, std::string& problem) const {
  const double before = cpu_seconds_of(RUSAGE_CHILDREN);
  if (problem.empty()) problem = problem_of(tree.folder, commands_.prove, "the prove command fails");
  return cpu_seconds_of(RUSAGE_CHILDREN) - before;
}

trial::outcome trial::judge(double predicted_share) {
  outcome result;
  patches_.check_out("HEAD", patched_.path);
  result.problem = problem_in(patched_);
  if (result.problem.empty() && !commands_.prove.empty()) {
    std::vector<double> plain, patched;
    run_in(patched_, result.problem);  // a first run, as the plain tree has had one
    const auto measure = [&] {
      for (std::size_t run = 0; run < commands_.runs && result.problem.empty(); ++run) {
        plain.push_back(run_in(plain_, result.problem));
        patched.push_back(run_in(patched_, result.problem));
      }
      if (result.problem.empty()) result.measured = gain_of(plain, patched, predicted_share);
    };
    measure();
    // Chance may have made it, or other work may have slowed runs of both trees down, so that their times overlap.
    if (result.measured && result.measured->outcome == effect::likely_gain) measure();
    if (result.problem.empty()) {
      switch (result.measured->outcome) {
        case effect::gain: break;
        case effect::loss: result.problem = "slower: "; break;
        case effect::likely_gain:
          result.problem = "probably faster, but the test does not show it, see --runs: ";
          break;
        case effect::no_gain: result.problem = "no gain beyond noise: "; break;
        case effect::unclear: result.problem = "the machine is too noisy to tell: "; break;
      }
      if (!result.problem.empty()) result.problem += result.measured->text;
    }
  }
  if (result.problem.empty()) std::swap(plain_, patched_);
  return result;
}

}  // namespace tarn::fix
