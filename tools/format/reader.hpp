#pragma once

#include <string>
#include <string_view>

#include "format/code.hpp"
#include "format/recording.hpp"

namespace tarn::format {

// The recording in `bytes`: up to the last whole block, with the reason in `damage` where that is not the end. Throws
// `unreadable` when it is no recording or one of a newer version. Memory is bounded by what whole blocks hold.
recording parse(std::string_view bytes);

// The same of a file; `unreadable` names it.
recording read(const std::string& path);

}  // namespace tarn::format
