// Tells which expressions copy a local object, and what else refers to it.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <optional>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// Returns whether a move of such an object takes its memory over and does nothing else: a container of std::allocator,
// or a class without special functions of its own whose members are of such types or trivial.
bool has_movable_memory(clang::QualType type);

// Returns whether no part of an object is a pointer, a reference, a view or the like, so that it refers to nothing but
// what it owns.
bool owns_all(clang::QualType type, unsigned depth = 0);

// Returns the expression that copies the object which `reference` names, so that std::move would move it; else null.
const clang::Expr* copy_of(clang::ASTContext& context, const clang::DeclRefExpr& reference);

// Something that a use of a variable leaves behind.
enum class trace {
  nothing,
  argument,  // a function of the program got a reference, and might have kept it
  reference  // a reference, pointer, iterator, view or object that may refer to the variable
};
trace trace_of(clang::ASTContext& context, const clang::Expr& reference);

}  // namespace tarn::tidy
