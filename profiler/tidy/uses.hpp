// Tells how a function uses a variable or a member.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <vector>

namespace tarn::tidy {

// The kinds of a container's functions: `size` returns a number or whether it is empty, `reading` cannot change the
// number of elements, `capacity` depends on the capacity or changes it, `change` is everything else.
enum class use_kind { size, reading, growth, clearing, capacity, change };

struct variable_use {
  const clang::Expr* reference = nullptr;
  use_kind kind = use_kind::change;
  bool is_in_lambda = false;
};

// Returns each use of a variable, or of a member of any object, in a function or statement, in the order of the source.
// Uses that are never evaluated, such as an operand of sizeof, count as well.
std::vector<variable_use> uses_of(clang::ASTContext& context, const clang::ValueDecl& declaration,
                                  const clang::Stmt& root);

// Steps from an expression over parentheses and conversions to the expression that uses it. `node` becomes the last
// expression that was stepped over.
const clang::Stmt* user_of(clang::ASTContext& context, const clang::Stmt*& node);

// Returns whether a reference only takes the value of a variable of built-in type.
bool is_read_of_value(clang::ASTContext& context, const clang::Expr& reference);

// Returns the member call whose object is `reference`, or null.
const clang::CXXMemberCallExpr* member_call_on(clang::ASTContext& context, const clang::Expr& reference);

}  // namespace tarn::tidy
