#include "profiler/fix/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"
#include "profiler/fix/text.hpp"
#include "profiler/fix/tidy.hpp"
#include "profiler/fix/united.hpp"

namespace tarn::fix {
namespace {

namespace fs = std::filesystem;
using command::exit_code;
using command::fail;
using command::helper_result;
using command::run_helper;

// Runs a program that must succeed, and returns its output.
std::string output_of(const std::vector<std::string>& arguments) {
  helper_result result = run_helper(arguments, "", false);
  if (result.code == 127 && result.errors.empty()) fail(exit_code::missing, "there is no {}", arguments.front());
  if (result.code != 0)
    fail(exit_code::io_error, "{}: {}", arguments.front(),
         first_line(result.errors.empty() ? result.output : result.errors));
  return std::move(result.output);
}

std::string read_setting(const std::string& root, const char* name, const char* fallback) {
  const std::string value = first_line(run_helper({"git", "-C", root, "config", name}, "", false).output);
  return std::string(name) + "=" + (value.empty() ? fallback : value);
}

// Returns whether the project has a style for a file: a .clang-format beside it or above it.
bool has_style(const fs::path& root, fs::path folder) {
  for (;; folder = folder.parent_path()) {
    if (fs::exists(folder / ".clang-format") || fs::exists(folder / "_clang-format")) return true;
    if (folder == root || folder == folder.parent_path()) return false;
  }
}

}  // namespace

std::string clean_repository() {
  const helper_result root = run_helper({"git", "rev-parse", "--show-toplevel"}, "", false);
  if (root.code == 127) fail(exit_code::missing, "there is no git: install the Debian package git");
  if (root.code != 0)
    fail(exit_code::dirty_tree, "run tarn fix in the program's repository: {}", first_line(root.errors));
  const std::string path = first_line(root.output);
  const std::string changes = output_of({"git", "-C", path, "status", "--porcelain", "--untracked-files=no"});
  if (!changes.empty())
    fail(exit_code::dirty_tree, "{} has changes that are not committed, such as {}: commit or stash them", path,
         first_line(changes).substr(3));
  return path;
}

series::series(std::string root, std::string clone)
    : root_(std::move(root)),
      clone_(std::move(clone)),
      base_(first_line(output_of({"git", "-C", root_, "rev-parse", "HEAD"}))),
      git_{"git",
           "-C",
           clone_,
           "-c",
           read_setting(root_, "user.name", "tarn fix"),
           "-c",
           read_setting(root_, "user.email", "tarn-fix@localhost"),
           "-c",
           "core.hooksPath=/dev/null",
           "-c",
           "commit.gpgSign=false",
           "-c",
           "maintenance.auto=false"} {
  output_of({"git", "clone", "--quiet", "--shared", "--no-checkout", root_, clone_});
  git({"checkout", "--quiet", "--detach", base_});
}

std::string series::git(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = git_;
  command.insert(command.end(), arguments.begin(), arguments.end());
  return output_of(command);
}

std::string series::in_clone(const std::string& file) const {
  const std::string path = fs::weakly_canonical(file);
  if (!path.starts_with(root_ + "/")) return {};
  std::string copy = clone_ + path.substr(root_.size());
  return fs::is_regular_file(copy) ? copy : std::string();
}

series::edit series::prepare(const std::string& folder) const {
  // The edits name files of the user's tree: they are to change those of the clone.
  const std::string edits_folder = clone_ + "-edits";
  fs::remove_all(edits_folder);
  fs::create_directory(edits_folder);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::string unknown_file;
    const std::string edits = with_paths(content_of(entry.path()), [&](const std::string& path) {
      std::string copy = in_clone(path);
      if (copy.empty()) unknown_file = path;
      return copy;
    });
    if (!unknown_file.empty()) return {"", "", unknown_file + " is no file of the repository"};
    std::ofstream(fmt::format("{}/{}", edits_folder, entry.path().filename().string())) << edits;
  }
  const std::string tip = first_line(git({"rev-parse", "HEAD"}));
  git({"checkout", "--quiet", "--detach", base_});
  // Both this and clang-format sort all includes beside a new one, although their order may matter, unless they get a
  // style that forbids it.
  const helper_result applied = run_helper(
      {"clang-apply-replacements-16", "--format", "--style={DisableFormat: true, SortIncludes: Never}", edits_folder},
      "", false);
  if (applied.code == 127)
    fail(exit_code::missing, "there is no clang-apply-replacements-16: install the Debian package clang-tools-16");
  format_changes();
  edit result;
  result.diff = git({"diff"});
  if (result.diff.empty()) {
    result.problem = "the edits do not fit together: " + first_line(applied.errors);
    git({"checkout", "--quiet", "--detach", tip});
    return result;
  }
  git({"commit", "--quiet", "--all", "--message", "edit"});
  result.commit = first_line(git({"rev-parse", "HEAD"}));
  git({"checkout", "--quiet", "--detach", tip});
  return result;
}

void series::format_changes() const {
  std::istringstream names(git({"diff", "--name-only", "-z"}));
  for (std::string name; std::getline(names, name, '\0');) {
    const std::string path = fmt::format("{}/{}", clone_, name);
    if (!has_style(clone_, fs::path(path).parent_path())) continue;
    std::vector<std::string> command = {"clang-format-16", "-i",
                                        "--style={BasedOnStyle: InheritParentConfig, SortIncludes: Never}"};
    std::istringstream diff(git({"diff", "--unified=0", "--", name}));
    for (std::string line; std::getline(diff, line);) {
      std::size_t first = 0, count = 1;
      if (std::sscanf(line.c_str(), "@@ -%*[0-9,] +%zu,%zu", &first, &count) >= 1 && count != 0)
        command.push_back(fmt::format("--lines={}:{}", first, first + count - 1));
    }
    command.push_back(path);
    const helper_result formatted = run_helper(command, "", false);
    if (formatted.code != 0)
      fail(exit_code::missing, "cannot run clang-format-16 of the Debian package clang-format-16: {}",
           first_line(formatted.errors));
  }
}

bool series::unite(const std::string& commit) const {
  std::istringstream names(git({"diff", "--name-only", base_, commit}));
  for (std::string name; std::getline(names, name);) {
    std::vector<std::string> diffs;
    for (const std::string& earlier : added_) diffs.push_back(git({"diff", "--unified=0", base_, earlier, "--", name}));
    diffs.push_back(git({"diff", "--unified=0", base_, commit, "--", name}));
    const std::optional<std::string> text = united_changes(git({"show", base_ + ":" + name}), diffs);
    if (!text) return false;
    std::ofstream(clone_ + "/" + name) << *text;
  }
  return true;
}

std::string series::add(const edit& added, const std::string& message) {
  std::vector<std::string> pick = git_;
  pick.insert(pick.end(), {"cherry-pick", "--no-commit", added.commit});
  if (run_helper(pick, "", false).code != 0) {
    git({"reset", "--quiet", "--hard"});
    if (!unite(added.commit)) {
      git({"reset", "--quiet", "--hard"});
      return "the edit overlaps an earlier one: run tarn fix again when that is in";
    }
  }
  git({"commit", "--quiet", "--all", "--message", message});
  added_.push_back(added.commit);
  return {};
}

void series::drop() {
  git({"reset", "--quiet", "--hard", "HEAD~"});
  added_.pop_back();
}

void series::amend(const std::string& message) const { git({"commit", "--quiet", "--amend", "--message", message}); }

void series::apply() const {
  if (first_line(git({"rev-parse", "HEAD"})) == base_) return;
  output_of({"git", "-C", root_, "fetch", "--quiet", clone_, "HEAD"});
  output_of({"git", "-C", root_, "merge", "--quiet", "--ff-only", "FETCH_HEAD"});
}

void series::check_out(const std::string& commit, const std::string& tree) const {
  // It reads the objects of this clone, so that it has new commits, too.
  const auto clone = [](const std::string& source, const std::string& target, const std::string& version) {
    if (!fs::exists(target + "/.git"))
      output_of({"git", "clone", "--quiet", "--shared", "--no-checkout", source, target});
    output_of({"git", "-C", target, "checkout", "--quiet", "--force", "--detach", version});
  };
  clone(clone_, tree, first_line(git({"rev-parse", commit})));
  // The submodules are those of the user's tree, which has no changes.
  std::istringstream submodules(
      output_of({"git", "-C", root_, "submodule", "--quiet", "foreach", "--recursive", "echo $sha1 $displaypath"}));
  std::string version;
  for (std::string path; submodules >> version && std::getline(submodules >> std::ws, path);)
    clone(fmt::format("{}/{}", root_, path), fmt::format("{}/{}", tree, path), version);
}

void series::write_patches(const std::string& folder) const {
  git({"format-patch", "--quiet", "--output-directory", fs::absolute(folder).string(), base_ + "..HEAD"});
}

}  // namespace tarn::fix
