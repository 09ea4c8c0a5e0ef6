// Demangled names of functions, taken apart.
#pragma once

#include <string>
#include <string_view>

namespace tarn::analyse {

// `f(int)` of `std::map<int, int> ns::f<char>(int)`: without what is returned, with scope and template arguments.
std::string_view qualified(std::string_view function);
// The same without its arguments: `ns::f<char>`.
std::string without_arguments(const std::string& function);
// The first template argument after `prefix` (which ends in "<") where `function` has it; else empty.
std::string_view argument_of(std::string_view function, std::string_view prefix);

}  // namespace tarn::analyse
