// Tells what else may refer to an object.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Type.h>

namespace tarn::tidy {

// Something that a use of a variable leaves behind.
enum class trace {
  nothing,
  argument,  // a function of the program got a reference, and might have kept it
  reference  // a reference, pointer, iterator, view or object that may refer to the variable
};

// Returns what a use leaves behind. A function of the program whose body the unit has leaves what its uses leave.
trace trace_of(clang::ASTContext& context, const clang::Expr& reference);

// Returns whether a constructor or an operator = of the program, of an object of this type or of a part of it, may have
// stored the address of that object or part.
bool may_store_itself(clang::ASTContext& context, clang::QualType type);

}  // namespace tarn::tidy
