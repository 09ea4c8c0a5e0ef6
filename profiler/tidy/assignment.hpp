// Writes the construction of a container as an assignment to one that exists, and keeps its memory.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>

#include <string>
#include <variant>
#include <vector>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// The statements give a variable that already exists the value that its declaration gives a new one.
struct assignment {
  std::vector<std::string> statements;
  // Code whose effects the check does not know is evaluated in another order; invalid where there is none.
  clang::SourceLocation reordered = {};
};

// Returns the container whose get_allocator() gives a new one its memory, as the last argument of a construction in
// round brackets, such as `output` in `std::pmr::string text(output.get_allocator());`. Null where there is none.
const clang::Expr* lender_of(const clang::VarDecl& variable);

// `variable` is a std::vector, std::deque or std::basic_string with the library's allocator, or with that of a lender,
// which the statements leave out.
std::variant<assignment, obstacle> assignment_of(clang::ASTContext& context, const clang::VarDecl& variable);

}  // namespace tarn::tidy
