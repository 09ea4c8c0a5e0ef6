// Parses demangled names of functions, and names of files.
#pragma once

#include <string>
#include <string_view>

namespace tarn::analyse {

// These begin the names of functions without a name; the file and the line follow: "lambda at router.cpp:41".
inline constexpr std::string_view lambda_at = "lambda at ", function_object_at = "function object at ";

// Returns the last part of a path.
inline std::string file_name(std::string_view path) { return std::string(path.substr(path.find_last_of('/') + 1)); }
// Returns the name without the return type, with scope and template arguments: `ns::f<char>(int)` for `std::map<int,
// int> ns::f<char>(int)`.
std::string_view qualified_name(std::string_view function);
// Returns the same name without arguments of functions: `ns::f<char>`. A lambda has its own in its name, which tells it
// from others: `ns::f::{lambda(int)#1}::operator()`.
std::string without_arguments(const std::string& function);
// Returns a name of Rust in the form of those of C++: `alloc::vec::Vec<T>::push` for `<alloc::vec::Vec<T>>::push`, and
// `f<T>` for `f::<T>`. A method of a trait gets the type's name; the trait's where the type is no path, such as `&str`.
std::string from_rust(std::string_view function);
// Returns whether `text` ends with `end` and has either nothing or a `separator` before it.
bool ends_in(std::string_view text, std::string_view end, std::string_view separator);
// Returns whether a function, given without arguments, has the name `name`, with or without scopes and template
// arguments.
bool is_called(std::string_view function, std::string_view name);
// Returns the first template argument after `prefix` (which ends in "<") in `function`; empty if it is not there.
std::string_view argument_of(std::string_view function, std::string_view prefix);

}  // namespace tarn::analyse
