// Asks clang-tidy and libtarn-tidy.so for an edit, and reads the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::fix {

// Returns the real paths of the units in the text of compile_commands.json. Throws a failure where the text is none;
// `path` is for its message.
std::vector<std::string> units_of(std::string_view text, const std::string& path);

// The certainty of an edit; `failed`: a unit does not compile with clang-tidy.
enum class certainty { silent, no_edit, review, proven, failed };
const char* name(certainty level);

// The answer about one site.
struct verdict {
  certainty level = certainty::silent;
  std::string text;
  std::string position = {};       // "FILE:LINE" of the answer
  std::vector<std::string> notes;  // "FILE:LINE: CONDITION": the conditions that failed, with the lines that show it
};

// Reads clang-tidy's output about one site. Of several edits the least certain one counts. Unless the site stands for
// all units, those that refuse count only if there is no edit.
verdict verdict_of(std::string_view output, std::string_view check, bool is_for_all_units = false);

// Returns the units that include a file, from the output of clang-scan-deps.
std::vector<std::string> units_with(std::string_view rules, const std::string& file);

class tidy {
 public:
  // `build` is the folder of compile_commands.json. Throws a failure if clang-tidy cannot load the plugin.
  tidy(std::string program, std::string plugin, std::string build);

  // Judges a line of `file`. `folder` gets the site for the check, and edits.yaml if there are edits.
  verdict judge(const std::string& check, const std::string& file, int line, std::uint64_t bytes,
                const std::vector<std::string>& units, const std::string& folder, bool is_for_all_units = false) const;

  // Makes a proven answer about a class in a header one to review, unless each unit that includes the header agrees.
  void ask_other_units(verdict& answer, const std::string& check, const std::string& folder) const;

 private:
  std::vector<std::string> command_;
};

}  // namespace tarn::fix
