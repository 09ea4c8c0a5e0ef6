// How often a loop runs, as an expression that the code can evaluate before it.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tarn::tidy {

struct loop_count {
  std::string text;
  bool may_be_negative = false;
  bool is_size = false;  // the size of something that exists, so that memory for it is no surprise
  std::optional<std::uint64_t> constant = std::nullopt;
};

// Returns how often a loop runs if nothing leaves it before. The text has the same value before the loop in each
// instantiation of a template; without such an expression there is none.
std::optional<loop_count> count_of(clang::ASTContext& context, const clang::Stmt& loop);

// Returns whether something in a statement leaves it early or skips a part of it: break, continue, return, throw.
bool can_leave_early(const clang::Stmt& statement);

// Returns whether a statement calls a function that may throw for a reason other than missing memory, as parsers do.
bool may_reject_input(const clang::Stmt& statement);

}  // namespace tarn::tidy
