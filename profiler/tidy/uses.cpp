#include "profiler/tidy/uses.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <llvm/ADT/StringSwitch.h>

#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

const clang::Stmt* parent_of(clang::ASTContext& context, const clang::Stmt& statement) {
  const clang::DynTypedNodeList parents = context.getParents(statement);
  return parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
}

use_kind kind_of_function(const clang::CXXMethodDecl* function) {
  if (function == nullptr || function->getIdentifier() == nullptr) return use_kind::change;
  const auto kind = llvm::StringSwitch<use_kind>(function->getName())
                        .Cases("size", "empty", "length", use_kind::size)
                        .Cases("push_back", "emplace_back", "append", use_kind::growth)
                        .Case("clear", use_kind::clearing)
                        .Cases("reserve", "capacity", "shrink_to_fit", use_kind::capacity)
                        .Cases("at", "front", "back", "data", "begin", "end", "rbegin", "rend", use_kind::reading)
                        .Default(use_kind::change);
  return kind == use_kind::change && function->isConst() ? use_kind::reading : kind;
}

use_kind kind_of(clang::ASTContext& context, const clang::Expr& reference) {
  if (const clang::CXXMemberCallExpr* call = member_call_on(context, reference)) {
    return kind_of_function(call->getMethodDecl());
  }
  const clang::Stmt* node = &reference;
  const clang::Stmt* user = user_of(context, node);
  const auto* operation = user == nullptr ? nullptr : dyn_cast<clang::CXXOperatorCallExpr>(user);
  if (operation != nullptr && operation->getNumArgs() > 0 && operation->getArg(0) == node) {
    if (operation->getOperator() == clang::OO_PlusEqual) return use_kind::growth;
    if (operation->getOperator() == clang::OO_Subscript) return use_kind::reading;
  }
  // A function that takes it as a constant cannot change it.
  const auto* expression = dyn_cast<clang::Expr>(node);
  if (expression != &reference && expression->isGLValue() && expression->getType().isConstQualified() &&
      !reference.getType()->isPointerType()) {
    return use_kind::reading;
  }
  return use_kind::change;
}

}  // namespace

const clang::Stmt* user_of(clang::ASTContext& context, const clang::Stmt*& node) {
  const clang::Stmt* parent = parent_of(context, *node);
  while (parent != nullptr && isa<clang::ImplicitCastExpr, clang::ParenExpr>(parent)) {
    node = parent;
    parent = parent_of(context, *node);
  }
  return parent;
}

const clang::CXXMemberCallExpr* member_call_on(clang::ASTContext& context, const clang::Expr& reference) {
  const clang::Stmt* node = &reference;
  const clang::Stmt* user = user_of(context, node);
  const auto* member = user == nullptr ? nullptr : dyn_cast<clang::MemberExpr>(user);
  if (member == nullptr || member->getBase() != node) return nullptr;
  const clang::Stmt* callee = member;
  const clang::Stmt* call = user_of(context, callee);
  const auto* result = call == nullptr ? nullptr : dyn_cast<clang::CXXMemberCallExpr>(call);
  return result != nullptr && result->getCallee() == callee ? result : nullptr;
}

bool is_read_of_value(clang::ASTContext& context, const clang::Expr& reference) {
  const clang::Stmt* parent = parent_of(context, reference);
  while (parent != nullptr && isa<clang::ParenExpr>(parent)) parent = parent_of(context, *parent);
  if (parent == nullptr) return false;
  if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(parent)) {
    return cast->getCastKind() == clang::CK_LValueToRValue ||
           (cast->getCastKind() == clang::CK_NoOp && cast->getType().isConstQualified());
  }
  // It constructs an element of its arguments.
  const auto* call = dyn_cast<clang::CXXMemberCallExpr>(parent);
  const clang::CXXMethodDecl* function = call == nullptr ? nullptr : call->getMethodDecl();
  return function != nullptr && is_std_function(*function) && function->getIdentifier() != nullptr &&
         function->getName() == "emplace_back";
}

std::vector<variable_use> uses_of(clang::ASTContext& context, const clang::ValueDecl& declaration,
                                  const clang::Stmt& root) {
  std::vector<variable_use> result;
  walk(root, [&](const clang::Stmt& statement, bool is_in_lambda) {
    const clang::ValueDecl* named = nullptr;
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&statement)) named = reference->getDecl();
    if (const auto* member = dyn_cast<clang::MemberExpr>(&statement)) named = member->getMemberDecl();
    if (named != nullptr && named->getCanonicalDecl() == declaration.getCanonicalDecl()) {
      const auto& reference = clang::cast<clang::Expr>(statement);
      result.push_back({&reference, kind_of(context, reference), is_in_lambda});
    }
    return true;
  });
  return result;
}

}  // namespace tarn::tidy
