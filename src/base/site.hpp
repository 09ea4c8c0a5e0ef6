// Where an address lies, in words that a person can look up: module+0x1234.
#pragma once

#include "base/text.hpp"

namespace tarn::base {

/// Appends the place of a call, by the address that it returns to: the path of the module
/// and the offset of the call in it, as `addr2line -e MODULE OFFSET` takes them; the bare
/// address where no module is loaded (any more). Takes no lock and allocates nothing,
/// so that it can be used in any state that a faulty program is in.
text& append_site(text& to, const void* return_address) noexcept;

}  // namespace tarn::base
