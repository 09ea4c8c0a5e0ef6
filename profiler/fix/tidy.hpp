// Asks clang-tidy and libtarn-tidy.so for an edit, and reads the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/helper_program.hpp"

namespace tarn::fix {

// A translation unit: the real path of its source, and the folder in which its compiler runs. Clang names files as the
// command line does, which may be from that folder.
struct unit {
  std::string file, folder;
  friend bool operator==(const unit&, const unit&) = default;
  friend auto operator<=>(const unit&, const unit&) = default;
};

// Returns the units in the text of compile_commands.json. Throws a failure where the text is none; `path` is for its
// message.
std::vector<unit> units_of(std::string_view text, const std::string& path);

// Returns clang-tidy's output with whole paths in place of those from `folder`.
std::string with_whole_paths(std::string_view output, const std::string& folder);

// Returns the edits of a check with other paths.
std::string with_paths(std::string_view edits, const std::function<std::string(const std::string&)>& new_path);

// The certainty of an edit; `failed`: clang-tidy cannot read a unit.
enum class certainty { silent, no_edit, review, proven, failed };
const char* name(certainty level);

// The answer about one site.
struct verdict {
  certainty level = certainty::silent;
  std::string text;
  std::string position = {};             // "FILE:LINE" of the answer
  std::vector<std::string> notes = {};   // "FILE:LINE: CONDITION": those that failed, with the lines that show it
  std::vector<std::string> places = {};  // the positions of all proven edits: a template may have several
  std::string edits = {};                // the folder that has a file of them for each unit
  std::string other_code = {};  // "FILE:LINE" of a function that is other code in a unit; empty if there is none
};

// Reads clang-tidy's output about one site in one unit. Of several edits the least certain one counts; a refusal counts
// if there is no edit, or if all answers must agree.
verdict verdict_of(std::string_view output, std::string_view check, bool must_agree = false);

// Returns the least certain of the answers of several units. A unit that has other code in the place is an objection.
verdict united_verdict(const std::vector<verdict>& unit_verdicts);

// Returns the units that include a file, from the output of clang-scan-deps.
std::vector<std::string> units_with(std::string_view rules, const std::string& file);

// A line of a file, and the units that have it.
struct question {
  std::string check, file;
  int line = 0;
  std::uint64_t bytes = 0;  // to reserve
  std::vector<unit> units;
  std::string unasked = {};  // why some units that include the file are not among them; empty if all are
  friend auto operator<=>(const question&, const question&) = default;
};

class tidy {
 public:
  // `build` is the folder of compile_commands.json. Throws a failure if clang-tidy cannot load the plugin.
  tidy(std::string program, std::string plugin, std::string build);

  const std::vector<unit>& units() const { return units_; }

  // Asks about many lines, with one run of clang-tidy for each unit, and as many at a time as there are processors.
  // `folder` gets the edits. `show` gets how many of the lines have their answer.
  void ask(const std::vector<question>& questions, const std::string& folder,
           const std::function<void(std::size_t)>& show, bool must_agree = false);

  // Returns the answer about a line that was asked about.
  const verdict& answer_about(const question& question) const { return verdicts_.at(question); }

  // Returns the units that include a file, or all if that is not known. Where there are too many, `problem` says so.
  std::vector<unit> units_including(const std::string& file, std::string& problem);

  // Makes a proven answer about a class in a header one to review, unless each unit that includes the header agrees.
  void ask_other_units(verdict& first_answer, const std::string& check);

 private:
  // A run of clang-tidy on one unit, with a file of sites.
  struct run {
    unit asked_unit;
    std::vector<std::string> checks;  // with the numbers of the sites
    std::string sites;
  };
  struct answer {
    std::string output;   // with whole paths
    std::string problem;  // why it ended early; empty if it did not
    bool has_crashed = false;
  };
  static verdict verdict_in(const answer& unit_answer, const std::string& check, bool must_agree);
  std::vector<answer> answers_of(const std::vector<run>& runs, const std::string& folder) const;

  std::vector<std::string> command_;
  std::vector<unit> units_;
  std::map<question, verdict> verdicts_;
  std::optional<command::helper_result> rules_;               // of all units, by clang-scan-deps
  std::map<std::string, std::vector<unit>> including_units_;  // by file
};

}  // namespace tarn::fix
