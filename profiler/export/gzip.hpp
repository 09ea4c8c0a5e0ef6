#pragma once

#include <string>
#include <string_view>

namespace tarn::exports {

// Compresses `content` into a gzip file. Throws std::bad_alloc.
std::string gzip(std::string_view content);

}  // namespace tarn::exports
