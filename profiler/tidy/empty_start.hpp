// Tells whether a container is empty when a loop starts to fill it.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <variant>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// A loop before which a container is empty, whenever the loop starts, and the block which shows that.
struct empty_start {
  const clang::Stmt* loop = nullptr;
  const clang::CompoundStmt* block = nullptr;
};

// `growth` is a call that adds to the container `declaration`, in `function`. Returns the outermost loop around it
// before which the container is empty, or the reason why there is none.
std::variant<empty_start, obstacle> find_empty_start(clang::ASTContext& context, const clang::ValueDecl& declaration,
                                                     const clang::Expr& growth, const clang::FunctionDecl& function);

}  // namespace tarn::tidy
