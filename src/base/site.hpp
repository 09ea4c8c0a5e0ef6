// Writes an address in a form that a person can look up: module+0x1234.
#pragma once

#include "base/text.hpp"

namespace tarn::base {

/// Appends the place of a call, given its return address: the path of the module and the call's offset in it, as
/// `addr2line -e MODULE OFFSET` takes them. Appends the bare address if no loaded module has it. Takes no lock and
/// allocates nothing, so that it works in any state of a faulty program.
text& append_site(text& output, const void* return_address) noexcept;

/// Returns true in a static program, which has no loader and contains this code.
bool is_static_program() noexcept;

}  // namespace tarn::base
