#pragma once

#include <cstdint>
#include <vector>

#include "analyse/symbols.hpp"

namespace tarn::analyse {

// The call stack of a site, innermost first, without the recorder's own frames.
std::vector<place> stack_at(const format::recording& in, std::uint32_t site, symbols& by);

}  // namespace tarn::analyse
