// Tells whether code may change an object, by its name or by another way.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/ArrayRef.h>

#include <optional>
#include <vector>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// Returns whether a copy of such an object does nothing but take memory and fill it: a container of std::allocator, or
// a class whose copy constructor and assignment the compiler writes, of such parts. Its end does nothing but free that
// memory.
bool has_plain_copy(clang::QualType type);

// Returns whether the use of an object only reads it, so that the same code compiles and means the same where the
// object is a constant.
bool only_reads(clang::ASTContext& context, const clang::Expr& reference);

// Returns whether a piece of code waits for other threads, or tells them to go on: a lock, a thread, or an atomic
// operation.
bool lets_threads_run(const clang::Stmt& part);

enum class owner_kind {
  local,      // a variable of the function, to which nothing else refers
  elsewhere,  // anything that other code might change
  temporary   // ends with the expression, or is not known
};

// The object that an expression names, or a part of which it names.
struct origin {
  owner_kind kind = owner_kind::temporary;
  std::vector<const clang::VarDecl*> variables = {};  // of the function, that lead to it
};

// Returns the origin of an expression in a function. `copy` is the variable that is made of it.
origin origin_of(clang::ASTContext& context, const clang::Expr& expression, const clang::FunctionDecl& function,
                 const clang::VarDecl& copy);

// Returns code that may change or end an object of `type`, which is not a variable of the code's own function, nor in
// the memory of one: a call of a function that is not known to leave it alone, or a write to such an object.
std::optional<obstacle> change_in(clang::ASTContext& context, llvm::ArrayRef<const clang::Stmt*> code,
                                  clang::QualType type, llvm::ArrayRef<const clang::VarDecl*> variables,
                                  const clang::FunctionDecl& function);

}  // namespace tarn::tidy
