// Tells whether a call may choose another function where an argument becomes an rvalue.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

namespace tarn::tidy {

// Returns a function that the call around a copy of a variable may choose in place of its own, or that may make the
// call ambiguous, if the copy were made of an rvalue; else null. A parameter by value of the call's own function is the
// copy. Functions of the library have no such overload.
const clang::FunctionDecl* overload_for_rvalue(clang::ASTContext& context, const clang::Expr& copy);

}  // namespace tarn::tidy
