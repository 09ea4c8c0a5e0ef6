// Resolves conflicts between edits that insert lines in the same place.
#pragma once

#include <optional>
#include <string>

namespace tarn::fix {

// Resolves the conflicts in the text of a file, marked in git's style diff3, that are two insertions in one place: both
// are taken. Returns nothing if a conflict is another one, or if both insert the same line.
std::optional<std::string> united_insertions(const std::string& text);

}  // namespace tarn::fix
