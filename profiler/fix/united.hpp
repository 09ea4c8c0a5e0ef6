// Unites edits of one file that git cannot merge, because their lines are neighbours.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tarn::fix {

// Makes the changes of several diffs of one text, which have no lines of context (`git diff --unified=0`). Insertions
// in one place are all made, an equal one once. Returns nothing if two diffs change the same line, if one changes lines
// around an insertion of another, if two insertions in one place have a line in common that is no #include, or if a
// diff is not of the text.
std::optional<std::string> united_changes(const std::string& text, const std::vector<std::string>& diffs);

}  // namespace tarn::fix
