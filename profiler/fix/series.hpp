// Turns edits into a series of commits, in a clone of the repository beside it: the user's tree is never touched.
#pragma once

#include <string>
#include <vector>

#include "profiler/base/helper_program.hpp"
#include "profiler/base/temporary_folder.hpp"

namespace tarn::fix {

// A folder of its own, removed with all that is in it, also when a signal ends the programs that work there.
class scratch_folder {
 public:
  const std::string& path() const { return folder_.path(); }

 private:
  command::interruptible_helpers interruptible_;
  command::temporary_folder folder_{"tarn-fix"};
};

// Returns the root of the repository around the current folder. Throws a failure if there is none, or if it has
// changes that are not committed.
std::string clean_repository();

class series {
 public:
  // Clones the repository `root` into the folder `clone`. It shares the objects.
  series(std::string root, std::string clone);

  struct edit {
    std::string diff;     // as of git; empty if there is none
    std::string commit;   // on the committed state of the repository
    std::string problem;  // why there is no edit; empty if there is one
  };
  // Applies the edits in the files *.yaml of `folder` to the committed state, in the project's style.
  edit prepare(const std::string& folder) const;
  // Adds an edit to the series. Returns why that is impossible; empty if it is not.
  std::string add(const edit& added, const std::string& message);

  // Removes the last commit from the series, or gives it another message.
  void drop();
  void amend(const std::string& message) const;
  // Commits the series to the current branch of the repository.
  void apply() const;

  // Checks a commit of the clone out in a further clone, which is made at first.
  void check_out(const std::string& commit, const std::string& tree) const;
  const std::string& root() const { return root_; }

  // Writes a file for each commit of the series into `folder`.
  void write_patches(const std::string& folder) const;

  // Returns the path in the clone of a file; empty for a file outside of the repository, or one that git does not know.
  std::string in_clone(const std::string& file) const;

 private:
  // Formats the changed lines of the clone's files that have a style.
  void format_changes() const;

  // Writes the files of an edit with the changes of all edits, where git finds a conflict. Returns false if there is
  // one.
  bool unite(const std::string& commit) const;
  std::string git(const std::vector<std::string>& arguments) const;

  std::string root_, clone_, base_;
  std::vector<std::string> git_;    // the command with its settings
  std::vector<std::string> added_;  // the commits of the edits, on the committed state
};

}  // namespace tarn::fix
