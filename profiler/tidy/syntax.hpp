// Questions about a syntax tree that several checks ask.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/ASTTypeTraits.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>

#include <string>
#include <vector>

namespace tarn::tidy {

// Returns the nodes around a statement, the nearest first. The last one is the function or the lambda around it.
std::vector<clang::DynTypedNode> nodes_around(clang::ASTContext& context, const clang::Stmt& statement);

// Returns the function whose body contains a statement, the call operator of a lambda included; null outside of one.
const clang::FunctionDecl* function_around(clang::ASTContext& context, const clang::Stmt& statement);

// Calls `visit` with each statement of `root` in the order of the source, until it returns false. What the compiler
// adds is left out, but for calls of a program's own operators in place of others.
void walk(const clang::Stmt& root, llvm::function_ref<bool(const clang::Stmt& statement, bool is_in_lambda)> visit);

// Returns the expression of a default argument, or those of default values of members, which the compiler adds.
std::vector<const clang::Expr*> added_expressions(const clang::Stmt& part);

// Returns whether a function, or its class, is declared in namespace std.
bool is_std_function(const clang::FunctionDecl& function);

// Returns the body of a loop, or null for another statement.
const clang::Stmt* body_of_loop(const clang::Stmt* statement);

// Returns whether `inner` is `outer` or lies inside of it, both written in the same file.
bool is_within(const clang::ASTContext& context, clang::SourceRange inner, clang::SourceRange outer);

// Returns the text of a range, empty where macros divide it.
std::string text_at(const clang::ASTContext& context, clang::SourceRange range);

// Returns a new line with the indentation of the line at `location`.
std::string new_line_at(const clang::ASTContext& context, clang::SourceLocation location);

// Returns whether a range is written out, neither by a macro nor in a header of the system.
bool is_editable(const clang::ASTContext& context, clang::SourceRange range);

// Returns whether a type, or the type that it refers to, is a class of namespace std with one of these names.
bool is_std_class(clang::QualType type, llvm::ArrayRef<llvm::StringRef> names);

// Returns whether it is by the pattern of the template as well, so that every instantiation has such a type. A
// declaration outside of templates has no pattern.
bool is_std_class_in_all_instantiations(const clang::ValueDecl& declaration, llvm::ArrayRef<llvm::StringRef> names);

// Returns the name of a namespace at file scope as code in any scope, or in a function, may write it: `::std` where a
// scope of the unit, or a block of the function, has a namespace or a type `std` of its own.
std::string outer_namespace(const clang::ASTContext& context, llvm::StringRef name,
                            const clang::FunctionDecl* function = nullptr);

// Returns the name of a function, empty for an operator, a constructor or null.
llvm::StringRef name_of(const clang::FunctionDecl* function);

bool is_one_of(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> names);

// Returns the first type argument of a container, null where there is none.
clang::QualType element_of(clang::QualType container);

// Returns a name in the quotation marks of messages.
std::string quote(const clang::NamedDecl& declaration);

// Returns whether a statement is an operand that never runs, as that of noexcept() and sizeof.
bool is_unevaluated(clang::ASTContext& context, const clang::Stmt& statement);

// Returns whether a statement belongs to an instantiation of a template.
bool is_in_instantiation(clang::ASTContext& context, const clang::Stmt& statement);

// Returns whether each instantiation gives the declaration the same type.
bool has_type_of_pattern(const clang::ValueDecl& declaration);

// Returns whether each instantiation makes a variable of the same initial value.
bool has_value_of_pattern(const clang::VarDecl& variable);

// Returns whether each instantiation gives a variable that an expression names to the same function or object.
bool has_user_of_pattern(clang::ASTContext& context, const clang::DeclRefExpr& reference);

// Returns whether a class or one of its bases has an operator new or delete of its own.
bool declares_own_delete(clang::ASTContext& context, const clang::CXXRecordDecl& record);

// Returns whether a block can be entered by a label, or its function suspended. A jump out of the block ends its
// variables as `return` does.
bool has_unusual_entry(const clang::FunctionDecl& function, const clang::Stmt& block);

}  // namespace tarn::tidy
