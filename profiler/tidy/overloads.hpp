// Tells whether a call may choose another function where an argument becomes an rvalue.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

namespace tarn::tidy {

// Returns a function or a deduction guide that the compiler may choose in place of that which makes a copy of a
// variable, or that may make the choice ambiguous, if the copy were made of an rvalue; else null. A parameter by value
// of the called function is the copy, or a function of the library makes it. The library has no such overload itself.
const clang::FunctionDecl* overload_for_rvalue(clang::ASTContext& context, const clang::DeclRefExpr& reference,
                                               const clang::Expr& copy);

}  // namespace tarn::tidy
