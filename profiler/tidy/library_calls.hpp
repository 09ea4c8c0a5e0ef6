// Tells which calls of the standard library may run code of the program.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Type.h>
#include <llvm/ADT/StringRef.h>

#include <optional>

namespace tarn::tidy {

// Returns a type without its reference and its qualifiers.
clang::QualType bare_type(clang::QualType type);

// Returns whether a declaration is part of the standard library, such as the iterators of a vector.
bool is_of_library(const clang::Decl& declaration);

// Returns the name of the function outside of classes that a call names, or of the library's object that it calls like
// one, such as std::ranges::swap; none for another call.
std::optional<llvm::StringRef> free_function_name(const clang::CallExpr& call);

// Returns whether a class is an iterator of a container of the library, which refers to an element of the container. An
// iterator of a stream or of a path has the element in itself, as one of the program may.
bool is_container_iterator(const clang::CXXRecordDecl& record);

// Returns whether a class of the library is a stream.
bool is_stream(clang::QualType type);

// Returns whether the library can copy, compare, hash and end values of a type without code of the program: a value of
// the library, or a class of the program that leaves all of this to the compiler.
bool is_plain(clang::ASTContext& context, clang::QualType type);

// Returns whether a declaration such as `auto [first, second] = object;` calls functions of the program, named `get`.
bool has_get_functions(const clang::Decl& declaration);

// Returns whether a call of a function or a constructor of the library may run code of the program that is not written
// in one of its arguments: a callable, an operator, a deleter, or a special function of an element's class.
bool may_run_program(clang::ASTContext& context, const clang::Expr& call);

}  // namespace tarn::tidy
