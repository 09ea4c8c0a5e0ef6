// Demangled names of functions, taken apart.
#pragma once

#include <string>
#include <string_view>

namespace tarn::analyse {

// How what has no name is called, with the file's name and the line after it: "lambda at router.cpp:41".
inline constexpr std::string_view lambda_at = "lambda at ", function_object_at = "function object at ";

// `f(int)` of `std::map<int, int> ns::f<char>(int)`: without what is returned, with scope and template arguments.
std::string_view qualified(std::string_view function);
// The same without its arguments: `ns::f<char>`.
std::string without_arguments(const std::string& function);
// The first template argument after `prefix` (which ends in "<") where `function` has it; else empty.
std::string_view argument_of(std::string_view function, std::string_view prefix);

}  // namespace tarn::analyse
