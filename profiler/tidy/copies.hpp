// Tells which expressions copy a local object, and to what an object of a type may refer.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Type.h>

namespace tarn::tidy {

// Returns whether a move of such an object takes its memory over and does nothing else: a container of std::allocator,
// or a class without special functions of its own whose members are of such types or trivial.
bool has_movable_memory(clang::QualType type);

// Returns whether a value of this type, a number or a container of such, refers to no other object that it does not
// own.
bool is_value(clang::QualType type);

// Returns whether an object of `type` may be made of an argument so that it refers to it, or whether a part of it may.
bool may_refer(clang::QualType type, clang::QualType argument, unsigned depth = 0);

// Returns whether no part of an object is a pointer, a reference, a view or the like, so that it refers to nothing but
// what it owns.
bool owns_all(clang::QualType type);

// Returns whether an object may have a pointer, a reference or a view of a part of itself, or of an object in its
// memory.
bool may_refer_to_itself(clang::QualType type);

// Returns the expression that copies the object which `reference` names, so that std::move would move it; else null.
const clang::Expr* copy_of(clang::ASTContext& context, const clang::DeclRefExpr& reference);

}  // namespace tarn::tidy
