#pragma once

#include <cstdint>
#include <string>

namespace tarn::analyse {

// The name of a system call of x86-64, as in strace; `call_N` where it has none here.
std::string call_name(std::uint32_t number);

}  // namespace tarn::analyse
