#include "profiler/tidy/move_check.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <llvm/ADT/STLExtras.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/tidy/changes.hpp"
#include "profiler/tidy/copies.hpp"
#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/overloads.hpp"
#include "profiler/tidy/parts.hpp"
#include "profiler/tidy/references.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using clang::SourceLocation;
using clang::SourceRange;

// Returns the code in which a variable lives: the block or the body of the loop that declares it, or the function.
const clang::Stmt* scope_of(clang::ASTContext& context, const clang::VarDecl& variable,
                            const clang::FunctionDecl& function) {
  if (isa<clang::ParmVarDecl>(variable)) return dyn_cast<clang::CompoundStmt>(function.getBody());
  const clang::DynTypedNodeList statements = context.getParents(variable);
  const auto* statement = statements.empty() ? nullptr : statements[0].get<clang::DeclStmt>();
  if (statement == nullptr) return nullptr;
  const clang::DynTypedNodeList owners = context.getParents(*statement);
  const auto* owner = owners.empty() ? nullptr : owners[0].get<clang::Stmt>();
  const auto* loop = dyn_cast_or_null<clang::CXXForRangeStmt>(owner);
  if (loop != nullptr) return loop->getLoopVarStmt() == statement ? loop->getBody() : nullptr;
  return dyn_cast_or_null<clang::CompoundStmt>(owner);
}

// Returns the statement of a block, the header of a statement, or the initial value that contains an expression.
const clang::Stmt& statement_around(clang::ASTContext& context, const clang::Expr& expression) {
  const clang::Stmt* result = &expression;
  for (const clang::DynTypedNode& node : nodes_around(context, expression)) {
    const auto* parent = node.get<clang::Stmt>();
    if (parent == nullptr) {
      if (node.get<clang::VarDecl>() == nullptr) break;
      continue;
    }
    if (!isa<clang::Expr, clang::DeclStmt, clang::ReturnStmt>(parent)) break;
    result = parent;
  }
  return *result;
}

bool leaves(const clang::Stmt& statement) {
  const clang::Stmt* inner = &statement;
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(inner)) inner = cleanups->getSubExpr();
  return isa<clang::ReturnStmt, clang::CXXThrowExpr>(inner);
}

// The code behind an expression up to the end of a variable's scope that cannot run after it.
struct unreachable_code {
  std::vector<SourceRange> ranges;
};

// Climbs from an expression to the scope of a variable. Fails where a loop or a handler may lead back to a use of it.
std::variant<unreachable_code, obstacle> unreachable_after(clang::ASTContext& context, const clang::Expr& expression,
                                                           const clang::Stmt& scope) {
  unreachable_code result;
  const clang::Stmt* child = &expression;
  std::vector<SourceLocation> breaks;
  if (child == &scope) return result;
  for (const clang::DynTypedNode& node : nodes_around(context, expression)) {
    const auto* parent = node.get<clang::Stmt>();
    if (parent == nullptr) continue;
    if (isa<clang::CXXTryStmt, clang::CXXCatchStmt, clang::StmtExpr, clang::LambdaExpr>(parent) && parent != &scope)
      return obstacle{"a handler or a lambda is around the copy", parent->getBeginLoc()};
    if (body_of_loop(parent) != nullptr) return obstacle{"a loop may use it again", parent->getBeginLoc()};
    if (leaves(*parent)) {
      result.ranges.emplace_back(parent->getEndLoc(), scope.getEndLoc());
    } else if (const auto* condition = dyn_cast<clang::IfStmt>(parent)) {
      if (child == condition->getThen() && condition->getElse() != nullptr)
        result.ranges.push_back(condition->getElse()->getSourceRange());
    } else if (const auto* choice = dyn_cast<clang::SwitchStmt>(parent)) {
      for (const SourceLocation location : breaks) result.ranges.emplace_back(location, choice->getEndLoc());
      breaks.clear();
    } else if (const auto* block = dyn_cast<clang::CompoundStmt>(parent)) {
      const auto* position = llvm::find(block->body(), child);
      for (const clang::Stmt* next : llvm::make_range(position, block->body_end())) {
        if (leaves(*next) || isa<clang::ContinueStmt>(next)) {
          result.ranges.emplace_back(next->getEndLoc(), scope.getEndLoc());
          break;
        }
        if (!isa<clang::BreakStmt>(next)) continue;
        breaks.push_back(next->getEndLoc());
        break;
      }
    }
    if (parent == &scope) break;
    child = parent;
  }
  // A break that no switch of the scope takes ends the scope.
  for (const SourceLocation location : breaks) result.ranges.emplace_back(location, scope.getEndLoc());
  return result;
}

// Returns whether a piece of code may use a reference that was stored anywhere.
bool may_use_reference(clang::ASTContext& context, const clang::Stmt& part) {
  bool is_user = false;
  for (const clang::Expr* added : added_expressions(part)) {
    walk(*added, [&](const clang::Stmt& inner, bool) {
      is_user = is_user || may_use_reference(context, inner);
      return !is_user;
    });
  }
  if (is_user) return true;
  if (const auto* call = dyn_cast<clang::CallExpr>(&part)) {
    const clang::FunctionDecl* function = call->getDirectCallee();
    const auto* method = dyn_cast_or_null<clang::CXXMethodDecl>(function);
    if (function == nullptr) return true;
    if (is_of_library(*function)) return may_run_program(context, *call);
    return method == nullptr || !method->isTrivial();
  }
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&part)) {
    const clang::CXXConstructorDecl& function = *construction->getConstructor();
    if (is_of_library(function)) return may_run_program(context, *construction);
    return !function.isTrivial() && !is_plain(context, construction->getType());
  }
  if (const auto* list = dyn_cast<clang::InitListExpr>(&part))
    return list->getType()->isRecordType() && !is_plain(context, list->getType());
  if (const auto* declarations = dyn_cast<clang::DeclStmt>(&part))
    return llvm::any_of(declarations->decls(), [](const clang::Decl* next) { return has_get_functions(*next); });
  if (const auto* temporary = dyn_cast<clang::CXXBindTemporaryExpr>(&part))
    return !has_quiet_end(temporary->getType()) && !is_stream(temporary->getType());
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(&part)) {
    const clang::CXXRecordDecl* record = bare_type(loop->getRangeInit()->getType())->getAsCXXRecordDecl();
    return record != nullptr && !is_of_library(*record);
  }
  // The code itself may go where a pointer leads.
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part))
    return isa<clang::VarDecl, clang::BindingDecl>(reference->getDecl()) && !owns_all(reference->getType());
  if (const auto* member = dyn_cast<clang::MemberExpr>(&part))
    return isa<clang::FieldDecl, clang::VarDecl>(member->getMemberDecl()) && !owns_all(member->getType());
  return isa<clang::CXXDeleteExpr>(part);
}

// Returns whether a function of the program returns the variable's first value, of which it may have stored a
// reference: the compiler makes no copy.
bool is_made_by_program(const clang::ASTContext& context, const clang::VarDecl& variable) {
  bool has_maker = false;
  if (variable.getInit() == nullptr) return has_maker;
  walk(*variable.getInit(), [&](const clang::Stmt& part, bool) {
    const auto* call = dyn_cast<clang::CallExpr>(&part);
    const clang::FunctionDecl* function = call == nullptr ? nullptr : call->getDirectCallee();
    has_maker = call != nullptr && context.hasSameUnqualifiedType(call->getType(), variable.getType()) &&
                (function == nullptr || !is_of_library(*function));
    return !has_maker;
  });
  return has_maker;
}

// Returns code that may use a reference which a function of the program has stored.
SourceLocation later_code(clang::ASTContext& context, const clang::Stmt& scope, const clang::Stmt& statement,
                          const unreachable_code& unreachable) {
  const clang::SourceManager& sources = context.getSourceManager();
  SourceLocation result;
  walk(scope, [&](const clang::Stmt& part, bool) {
    const SourceLocation begin = part.getBeginLoc();
    if (const auto* declarations = dyn_cast<clang::DeclStmt>(&part)) {
      for (const clang::Decl* next : declarations->decls()) {
        const auto* local = dyn_cast<clang::VarDecl>(next);
        if (local != nullptr && !local->getType()->isReferenceType() && !has_quiet_end(local->getType()))
          result = begin;  // its destructor runs before the variable ends
      }
    }
    // So does that of a temporary which a reference keeps.
    const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(&part);
    if (temporary != nullptr && temporary->getExtendingDecl() != nullptr && !has_quiet_end(temporary->getType()))
      result = begin;
    const bool is_later = !sources.isBeforeInTranslationUnit(begin, statement.getBeginLoc()) &&
                          llvm::none_of(unreachable.ranges, [&](SourceRange range) {
                            return sources.isBeforeInTranslationUnit(range.getBegin(), begin) &&
                                   sources.isBeforeInTranslationUnit(begin, range.getEnd());
                          });
    if (is_later && may_use_reference(context, part)) result = begin;
    return result.isInvalid();
  });
  return result;
}

// Returns a parameter by value whose destructor may run before another parameter ends.
SourceLocation parameter_with_end(const clang::FunctionDecl& function, const clang::VarDecl& variable) {
  if (!isa<clang::ParmVarDecl>(variable)) return {};
  const auto* guard = llvm::find_if(function.parameters(), [&](const clang::ParmVarDecl* next) {
    return next != &variable && !next->getType()->isReferenceType() && !has_quiet_end(next->getType());
  });
  return guard == function.param_end() ? SourceLocation() : (*guard)->getLocation();
}

// Returns the variable or the member that an expression names, or an element of which it names; null for an expression
// that may name another object, as by a reference, a pointer, an iterator or a function of the program.
const clang::ValueDecl* owner_of(const clang::Expr& expression) {
  const clang::Expr* inner = expression.IgnoreParenImpCasts();
  const clang::ValueDecl* named = nullptr;
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(inner))
    named = dyn_cast<clang::VarDecl>(reference->getDecl());
  if (const auto* member = dyn_cast<clang::MemberExpr>(inner)) named = member->getMemberDecl();
  if (named != nullptr) return named->getType()->isReferenceType() ? nullptr : named;
  if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(inner)) {
    const bool is_element =
        operation->getOperator() == clang::OO_Subscript && is_std_function(*operation->getDirectCallee());
    return is_element ? owner_of(*operation->getArg(0)) : nullptr;
  }
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(inner)) {
    const clang::CXXMethodDecl* function = call->getMethodDecl();
    return function != nullptr && is_std_function(*function) ? owner_of(*call->getImplicitObjectArgument()) : nullptr;
  }
  if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(inner)) {
    const clang::Expr* array = subscript->getBase()->IgnoreParenImpCasts();
    return array->getType()->isArrayType() ? owner_of(*array) : nullptr;
  }
  return nullptr;
}

// Returns where something gets a pointer or a reference to an object to which a copy is assigned. A copy may write to
// the memory that it has; a move gives it other memory, as any assignment to a string may. Where the object has no name
// of its own, it may be any of its type, or a part of the assigned value's type may be in it.
SourceLocation reference_to_target(clang::ASTContext& context, const clang::Expr& copy) {
  using namespace clang::ast_matchers;
  const auto* assignment = dyn_cast<clang::CXXOperatorCallExpr>(&copy);
  const clang::QualType type = bare_type(copy.getType());
  if (assignment == nullptr || is_std_class(type, {"basic_string"})) return {};
  const clang::ValueDecl* owner = owner_of(*assignment->getArg(0));
  const auto may_name_target = [&](const clang::Expr& use, const clang::ValueDecl& declaration) {
    if (owner != nullptr) return declaration.getCanonicalDecl() == owner->getCanonicalDecl();
    const clang::QualType named = bare_type(use.getType());
    const bool may_be_whole =
        named->isRecordType() && (is_std_class(named, part_owners) || !named->getAsCXXRecordDecl()->isInStdNamespace());
    return named == type || may_hold(type, named) || (may_be_whole && may_hold(named, type));
  };
  const auto is_use = expr(anyOf(declRefExpr(), memberExpr()), unless(isExpansionInSystemHeader())).bind("use");
  for (const BoundNodes& node : match(is_use, context)) {
    const auto& use = *node.getNodeAs<clang::Expr>("use");
    const auto* reference = dyn_cast<clang::DeclRefExpr>(&use);
    const auto& declaration =
        reference != nullptr ? *reference->getDecl() : *clang::cast<clang::MemberExpr>(use).getMemberDecl();
    if (!isa<clang::FunctionDecl>(declaration) && may_name_target(use, declaration) &&
        !is_within(context, use.getSourceRange(), copy.getSourceRange()) &&
        trace_of(context, use) == trace::reference) {
      return use.getBeginLoc();
    }
  }
  return {};
}

}  // namespace

void move_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) { match_functions(finder); }

void move_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const clang::FunctionDecl* function = recorded_function(result);
  if (function == nullptr) return;
  const auto look = [&](const clang::Stmt& code) {
    walk(code, [&](const clang::Stmt& part, bool) {
      if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part)) judge_reference(*result.Context, *reference);
      return true;
    });
  };
  if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(function)) {
    for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
      if (initializer->isWritten()) look(*initializer->getInit());
    }
  }
  look(*function->getBody());
}

void move_check::judge_reference(clang::ASTContext& context, const clang::DeclRefExpr& reference) {
  const auto* variable = dyn_cast<clang::VarDecl>(reference.getDecl());
  if (variable == nullptr || !variable->hasLocalStorage() || variable->getType()->isReferenceType() ||
      !has_movable_memory(variable->getType().getUnqualifiedType())) {
    return;
  }
  const clang::Expr* copy = copy_of(context, reference);
  if (copy == nullptr || function_around(context, reference) == nullptr || is_unevaluated(context, reference)) return;
  const clang::Stmt& statement = statement_around(context, reference);
  // The line is that of the copy, or of the statement around it.
  if (sites().find(context.getSourceManager(), copy->getSourceRange()) == nullptr &&
      sites().find(context.getSourceManager(), statement.getSourceRange()) == nullptr) {
    return;
  }
  add(reference.getBeginLoc(), judge(context, reference, *variable, *copy, statement));
}

verdict move_check::judge(clang::ASTContext& context, const clang::DeclRefExpr& reference,
                          const clang::VarDecl& variable, const clang::Expr& copy, const clang::Stmt& statement) const {
  const clang::SourceManager& sources = context.getSourceManager();
  const SourceLocation start = reference.getBeginLoc();
  const std::string name = quote(variable);
  const auto refuse = [&](const std::string& text, SourceLocation location) {
    return refusal(start, {text, location});
  };
  if (!is_editable(context, reference.getSourceRange())) return refuse("a macro writes this code", start);
  const clang::FunctionDecl& function = *function_around(context, reference);
  if (variable.getDeclContext() != &function)
    return refuse(name + " is a variable of another function", variable.getLocation());
  if (variable.getType().hasQualifiers()) return refuse(name + " is constant", variable.getLocation());
  if (variable.hasAttrs()) return refuse(name + " has attributes", variable.getLocation());
  if (!has_type_of_pattern(variable))
    return refuse(name + " may be of another type in another instantiation", variable.getLocation());
  if (!has_user_of_pattern(context, reference)) return refuse("another instantiation may make no copy here", start);
  const clang::Stmt* scope = scope_of(context, variable, function);
  if (scope == nullptr) return refuse("no block declares " + name, variable.getLocation());
  if (has_unusual_entry(function, *function.getBody()))
    return refuse("the function has labels or can be suspended", function.getLocation());
  const bool is_in_body = is_within(context, statement.getSourceRange(), scope->getSourceRange());
  if (has_directives(sources, {variable.getBeginLoc(), scope->getEndLoc()}))
    return refuse("the block differs from configuration to configuration", scope->getBeginLoc());
  const std::variant<unreachable_code, obstacle> after = unreachable_after(context, reference, *scope);
  if (const auto* problem = std::get_if<obstacle>(&after)) return refusal(start, *problem);
  const auto& unreachable = std::get<unreachable_code>(after);

  verdict result;
  result.level = certainty::proven;
  bool was_given = may_store_itself(context, variable.getType()) || is_made_by_program(context, variable);
  std::vector<variable_use> uses = uses_of(context, variable, *scope);
  if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&function)) {
    for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
      for (const variable_use& use : uses_of(context, variable, *initializer->getInit())) uses.push_back(use);
    }
  }
  for (const variable_use& use : uses) {
    if (use.reference == &reference) continue;
    const SourceLocation location = use.reference->getBeginLoc();
    if (is_within(context, use.reference->getSourceRange(), statement.getSourceRange()))
      return refuse(name + " has another use in this statement", location);
    if (!is_in_body) return refuse(name + " is used again", location);
    if (!sources.isBeforeInTranslationUnit(location, start)) {
      const bool is_unreachable = llvm::any_of(unreachable.ranges, [&](SourceRange range) {
        return !sources.isBeforeInTranslationUnit(location, range.getBegin()) &&
               !sources.isBeforeInTranslationUnit(range.getEnd(), location);
      });
      if (!is_unreachable) return refuse(name + " is used again", location);
      continue;
    }
    const trace left = use.is_in_lambda ? trace::reference : trace_of(context, *use.reference);
    was_given |= left == trace::argument;
    if (left != trace::reference) continue;
    result.notes.push_back({"something may still refer to " + name, location});
  }
  if (was_given) {
    SourceLocation later = later_code(context, *scope, statement, unreachable);
    if (later.isInvalid()) later = parameter_with_end(function, variable);
    if (later.isValid())
      result.notes.push_back({"a function got a reference to " + name + ", and may use it here", later});
  }
  if (may_refer_to_itself(variable.getType()))
    result.notes.push_back({"a part of " + name + " may refer to its memory, or to itself", variable.getLocation()});
  if (const SourceLocation use = reference_to_target(context, copy); use.isValid())
    result.notes.push_back({"something may refer to the memory that is assigned to", use});
  if (const clang::FunctionDecl* overload = overload_for_rvalue(context, reference, copy))
    result.notes.push_back({"std::move may choose this overload, or none", overload->getLocation()});
  if (!has_plain_copy(variable.getType()))
    result.notes.push_back({"a copy of " + name + " may do more than take memory", variable.getLocation()});
  if (!has_quiet_end(variable.getType()))
    result.notes.push_back({"the elements of " + name + " end later: with the new owner", variable.getLocation()});
  if (!result.notes.empty()) result.level = certainty::review;
  result.location = start;
  result.text = name + " is used here for the last time: std::move takes its memory over, in place of a copy";
  result.header = "utility";
  result.edits.push_back(clang::FixItHint::CreateReplacement(
      reference.getSourceRange(),
      outer_namespace(context, "std", &function) + "::move(" + text_at(context, reference.getSourceRange()) + ")"));
  return result;
}

}  // namespace tarn::tidy
