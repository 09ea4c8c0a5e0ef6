#pragma once

#include <string>
#include <string_view>

namespace tarn::exports {

// `text` with U+FFFD for each byte that is not part of well-formed UTF-8: protobuf's strings must be that.
std::string well_formed(std::string_view text);

}  // namespace tarn::exports
