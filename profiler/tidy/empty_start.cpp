#include "profiler/tidy/empty_start.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/STLExtras.h>

#include <vector>

#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

// Returns whether a container is constructed without elements.
bool is_empty_construction(const clang::Expr* initializer) {
  if (initializer == nullptr) return false;
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(initializer)) initializer = cleanups->getSubExpr();
  const auto* construction = dyn_cast<clang::CXXConstructExpr>(initializer->IgnoreImplicit());
  if (construction == nullptr) return false;
  for (unsigned index = 0; index < construction->getNumArgs(); ++index) {
    const clang::Expr* argument = construction->getArg(index);
    if (isa<clang::CXXDefaultArgExpr>(argument)) continue;
    const auto* text = dyn_cast<clang::StringLiteral>(argument->IgnoreParenImpCasts());
    if (index != 0 || text == nullptr || text->getLength() != 0) return false;
  }
  return true;
}

bool declares(const clang::Stmt* statement, const clang::ValueDecl& declaration) {
  const auto* declarations = dyn_cast<clang::DeclStmt>(statement);
  return declarations != nullptr && llvm::is_contained(declarations->decls(), &declaration);
}

// Returns whether a statement is `container.clear();`.
bool is_clearing(clang::ASTContext& context, const clang::Stmt* statement, const clang::ValueDecl& declaration) {
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(statement)) statement = cleanups->getSubExpr();
  if (!isa<clang::CXXMemberCallExpr>(statement)) return false;
  const std::vector<variable_use> uses = uses_of(context, declaration, *statement);
  if (uses.size() != 1 || uses[0].kind != use_kind::clearing || uses[0].is_in_lambda) return false;
  const auto* member = dyn_cast<clang::MemberExpr>(uses[0].reference);
  return member == nullptr || isa<clang::CXXThisExpr>(member->getBase()->IgnoreParenImpCasts());
}

// Returns the location of code in a statement that may reach a container by another name: any call except those of the
// library that change nothing.
clang::SourceLocation call_in(const clang::Stmt* statement) {
  clang::SourceLocation result;
  if (statement == nullptr) return result;
  walk(*statement, [&](const clang::Stmt& part, bool) {
    if (const auto* call = dyn_cast<clang::CallExpr>(&part)) {
      const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call);
      const clang::CXXMethodDecl* function = member == nullptr ? nullptr : member->getMethodDecl();
      if (function == nullptr || !is_std_function(*function) || !function->isConst()) result = call->getBeginLoc();
    } else if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&part)) {
      const clang::CXXConstructorDecl* function = construction->getConstructor();
      if (!function->isTrivial() && !is_std_function(*function)) result = construction->getBeginLoc();
    } else if (const auto* by_default = dyn_cast<clang::CXXDefaultInitExpr>(&part)) {
      result = call_in(by_default->getExpr());
    }
    return result.isInvalid();
  });
  return result;
}

// Looks back from a loop to `container.clear()` in the same block.
bool is_cleared_before(clang::ASTContext& context, const clang::CompoundStmt& block, const clang::Stmt& loop,
                       const clang::ValueDecl& declaration, bool is_private, obstacle& problem) {
  bool is_before = false;
  for (const clang::Stmt* statement : llvm::reverse(block.body())) {
    if (statement == &loop) {
      is_before = true;
      continue;
    }
    if (!is_before) continue;
    if (is_clearing(context, statement, declaration)) return true;
    if (isa<clang::SwitchCase>(statement)) return false;  // a jump leads here
    for (const variable_use& use : uses_of(context, declaration, *statement)) {
      if (use.kind == use_kind::size && !use.is_in_lambda) continue;
      problem = {quote(declaration) + " may have elements before the loop", use.reference->getBeginLoc()};
      return false;
    }
    const clang::SourceLocation call = is_private ? clang::SourceLocation() : call_in(statement);
    if (call.isValid()) {
      problem = {"this call may add to " + quote(declaration), call};
      return false;
    }
  }
  return false;
}

// Returns whether a member has no elements when the body of a constructor reaches a loop.
bool is_new_member(clang::ASTContext& context, const clang::FunctionDecl& function, const clang::FieldDecl& member,
                   const clang::CompoundStmt& block, const clang::Stmt& loop) {
  const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&function);
  if (constructor == nullptr || function.getBody() != &block || constructor->isDelegatingConstructor() ||
      constructor->getParent() != member.getParent()) {
    return false;
  }
  bool is_initialized = false;
  for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
    const clang::Expr* value = initializer->getInit();
    if (initializer->getMember() == &member) {
      if (const auto* by_default = dyn_cast<clang::CXXDefaultInitExpr>(value)) value = by_default->getExpr();
      if (!is_empty_construction(value)) return false;
      is_initialized = true;
    } else if (is_initialized && call_in(value).isValid()) {
      return false;
    }
  }
  if (!is_initialized) return false;
  for (const clang::Stmt* statement : block.body()) {
    if (statement == &loop) return true;
    if (call_in(statement).isValid() || !uses_of(context, member, *statement).empty()) return false;
  }
  return false;
}

}  // namespace

std::variant<empty_start, obstacle> find_empty_start(clang::ASTContext& context, const clang::ValueDecl& declaration,
                                                     const clang::Expr& growth, const clang::FunctionDecl& function) {
  const auto* variable = dyn_cast<clang::VarDecl>(&declaration);
  const auto* member = dyn_cast<clang::FieldDecl>(&declaration);
  const bool is_local = variable != nullptr && variable->hasLocalStorage() && !variable->getType()->isReferenceType() &&
                        !variable->getType()->isPointerType();
  // If all uses of a local container name it, no other code can reach it.
  const clang::SourceManager& sources = context.getSourceManager();
  const std::vector<variable_use> uses = uses_of(context, declaration, *function.getBody());
  const bool is_private = is_local && llvm::all_of(uses, [](const variable_use& use) {
                            return use.kind != use_kind::change && !use.is_in_lambda;
                          });

  obstacle problem{quote(declaration) + " does not grow in a loop here", growth.getBeginLoc()};
  const clang::Stmt* loop = nullptr;  // the outermost one up to the node
  const clang::Stmt* child = &growth;
  for (const clang::DynTypedNode& node : nodes_around(context, growth)) {
    const auto* statement = node.get<clang::Stmt>();
    if (statement == nullptr) continue;
    if (body_of_loop(statement) != nullptr) loop = statement;
    const auto* block = dyn_cast<clang::CompoundStmt>(statement);
    const bool has_loop = block != nullptr && loop != nullptr;
    // Only a block has room for a statement before the loop.
    if (has_loop && child == loop) {
      problem = {quote(declaration) + " may have elements before the loop", declaration.getLocation()};
      if (is_cleared_before(context, *block, *loop, declaration, is_private, problem) ||
          (member != nullptr && is_new_member(context, function, *member, *block, *loop))) {
        return empty_start{loop, block};
      }
    }
    if (has_loop && is_local &&
        llvm::any_of(block->body(), [&](const clang::Stmt* part) { return declares(part, declaration); })) {
      const auto earlier = llvm::find_if(uses, [&](const variable_use& use) {
        return sources.isBeforeInTranslationUnit(use.reference->getBeginLoc(), loop->getBeginLoc()) &&
               (use.kind != use_kind::size || use.is_in_lambda);
      });
      if (!is_empty_construction(variable->getInit())) {
        return obstacle{quote(declaration) + " is not empty at first", declaration.getLocation()};
      }
      if (earlier != uses.end()) {
        return obstacle{quote(declaration) + " may have elements before the loop", earlier->reference->getBeginLoc()};
      }
      const std::vector<clang::DynTypedNode> around_loop = nodes_around(context, *loop);
      if (around_loop.empty() || around_loop.front().get<clang::CompoundStmt>() == nullptr) {
        return obstacle{"the loop is no statement of a block", loop->getBeginLoc()};
      }
      return empty_start{loop, block};
    }
    child = statement;
  }
  return problem;
}

}  // namespace tarn::tidy
