#pragma once

#include <string>
#include <string_view>

namespace tarn::exports {

// Returns `text` with U+FFFD for each byte that is not part of well-formed UTF-8, as protobuf's strings require.
std::string well_formed(std::string_view text);

}  // namespace tarn::exports
