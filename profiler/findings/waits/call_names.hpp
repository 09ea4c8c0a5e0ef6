#pragma once

#include <cstdint>
#include <string>

namespace tarn::analyse {

// Returns the name of a system call of x86-64, as in strace; `call_N` if it is not in the list.
std::string call_name(std::uint32_t number);

}  // namespace tarn::analyse
