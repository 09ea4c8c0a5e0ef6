#include "profiler/tidy/recycle_check.hpp"

#include <clang/AST/ASTLambda.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtOpenMP.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/Twine.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/tidy/assignment.hpp"
#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;
using clang::SourceLocation;

constexpr const char* header = "tarn/recycle.hpp";

// Returns whether a function is written as constexpr. Lambdas are it without the word.
bool is_declared_constexpr(const clang::ASTContext& context, const clang::FunctionDecl& function) {
  if (!function.isConstexpr() || !clang::isLambdaCallOperator(&function)) return function.isConstexpr();
  const auto specifiers = free_names(context, {function.getBeginLoc(), function.getBody()->getBeginLoc()});
  return llvm::any_of(specifiers, [](const auto& word) { return is_one_of(word.first, {"constexpr", "consteval"}); });
}

// Returns whether the compiler may run a lambda: what one captures is known only when the program runs.
bool is_constant_lambda(const clang::FunctionDecl& function) {
  return function.isConstexpr() && clang::isLambdaCallOperator(&function) &&
         clang::cast<clang::CXXMethodDecl>(function).getParent()->capture_size() == 0;
}

// Returns the block that directly holds a statement, or the condition that fails.
std::variant<const clang::CompoundStmt*, obstacle> block_of(clang::ASTContext& context,
                                                            const clang::DeclStmt& statement,
                                                            const clang::FunctionDecl& function) {
  const clang::CompoundStmt* block = nullptr;
  bool is_repeated = !function.isMain();
  for (const clang::DynTypedNode& node : nodes_around(context, statement)) {
    const auto* parent = node.get<clang::Stmt>();
    if (parent == nullptr) continue;
    if (isa<clang::StmtExpr, clang::CapturedStmt, clang::OMPExecutableDirective>(parent))
      return obstacle{"the block is part of an expression or runs in several threads", parent->getBeginLoc()};
    if (block == nullptr) {
      block = dyn_cast<clang::CompoundStmt>(parent);
      if (block == nullptr) return obstacle{"the header of a statement declares it", statement.getBeginLoc()};
      const clang::DynTypedNodeList owners = context.getParents(*block);
      if (!owners.empty() && owners[0].get<clang::SwitchStmt>() != nullptr)
        return obstacle{"a label of the switch may jump past the declaration", block->getBeginLoc()};
    }
    is_repeated = is_repeated || body_of_loop(parent) != nullptr;
  }
  if (block == nullptr) return obstacle{"no block declares it", statement.getBeginLoc()};
  if (!is_repeated) return obstacle{"main() makes it only once", function.getLocation()};
  return block;
}

// Steps to the variable that an expression names, over copies and moves of it.
const clang::Expr* without_copies(const clang::Expr* expression) {
  while (expression != nullptr) {
    const clang::Expr* inner = expression->IgnoreParenImpCasts();
    if (const auto* full = dyn_cast<clang::FullExpr>(inner)) inner = full->getSubExpr();
    if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(inner)) inner = temporary->getSubExpr();
    if (const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(inner)) inner = bound->getSubExpr();
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(inner);
    if (construction != nullptr && construction->getNumArgs() >= 1) inner = construction->getArg(0);
    if (inner == expression) return expression;
    expression = inner;
  }
  return expression;
}

bool is_value_of(const clang::Expr* expression, const clang::VarDecl& variable) {
  const auto* reference = expression == nullptr ? nullptr : dyn_cast<clang::DeclRefExpr>(without_copies(expression));
  return reference != nullptr && reference->getDecl() == &variable;
}

// Returns a use for which a reference is not as good as the variable itself.
std::optional<obstacle> other_use(clang::ASTContext& context, const clang::VarDecl& variable,
                                  const clang::CompoundStmt& scope) {
  std::optional<obstacle> result;
  walk(scope, [&](const clang::Stmt& part, bool) {
    const auto* returned = dyn_cast<clang::ReturnStmt>(&part);
    const auto* thrown = dyn_cast<clang::CXXThrowExpr>(&part);
    if ((returned != nullptr && is_value_of(returned->getRetValue(), variable)) ||
        (thrown != nullptr && is_value_of(thrown->getSubExpr(), variable))) {
      result = obstacle{quote(variable) + " leaves the function here, with its memory", part.getBeginLoc()};
    } else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(&part);
               call != nullptr && call->getOperator() == clang::OO_Equal && is_value_of(call->getArg(0), variable)) {
      const auto* function = dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
      if (function != nullptr && function->isMoveAssignmentOperator())
        result = obstacle{quote(variable) + " takes over the memory of this value", call->getArg(1)->getBeginLoc()};
    } else if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part);
               reference != nullptr && reference->getDecl() == &variable) {
      const clang::DynTypedNodeList parents = context.getParents(*reference);
      if (parents.empty() || (parents[0].get<clang::Stmt>() == nullptr && parents[0].get<clang::VarDecl>() == nullptr))
        result = obstacle{"the type of " + quote(variable) + " is asked for", part.getBeginLoc()};
    }
    return !result;
  });
  return result;
}

// Returns why a variable cannot be a reference to a kept object.
std::optional<obstacle> objection_to(clang::ASTContext& context, const clang::VarDecl& variable,
                                     const clang::CompoundStmt& scope) {
  const SourceLocation start = variable.getLocation();
  clang::Qualifiers qualifiers = variable.getType().getQualifiers();
  qualifiers.removeConst();
  if (qualifiers.hasQualifiers()) return obstacle{quote(variable) + " is volatile", start};
  if (variable.hasAttrs() || variable.isConstexpr() || variable.getStorageClass() != clang::SC_None ||
      variable.getType()->getContainedDeducedType() != nullptr) {
    return obstacle{"the type of " + quote(variable) + " is not written out alone", start};
  }
  if (!has_own_allocator(variable.getType()))
    return obstacle{quote(variable) + " takes its memory from an allocator of its own", start};
  if (!is_std_class_in_all_instantiations(variable, kept_containers))
    return obstacle{quote(variable) + " may be another class in another instantiation", start};
  return other_use(context, variable, scope);
}

// Returns where a function has a name, written out or by a macro, or its own place where a macro has that name.
SourceLocation use_of_name(const clang::ASTContext& context, const clang::FunctionDecl& function,
                           const std::string& name) {
  for (const auto& [word, location] : free_names(context, function.getSourceRange())) {
    if (word == name) return location;
  }
  const auto identifier = context.Idents.find(name);
  if (identifier == context.Idents.end()) return {};
  if (identifier->second->hadMacroDefinition()) return function.getLocation();
  SourceLocation result;
  walk(*function.getBody(), [&](const clang::Stmt& part, bool) {
    const clang::NamedDecl* named = nullptr;
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part)) named = reference->getDecl();
    if (const auto* member = dyn_cast<clang::MemberExpr>(&part)) named = member->getMemberDecl();
    if (named != nullptr && named->getIdentifier() == identifier->second) result = part.getBeginLoc();
    return result.isInvalid();
  });
  return context.getSourceManager().getExpansionLoc(result);
}

// Returns a statement on a variable, such as `x = text;` or `x.assign(first, last);`, as one on the object of its
// handle.
std::string by_handle(const std::string& statement, const std::string& name, const std::string& handle) {
  const std::string operation = statement.substr(name.size());
  return operation.front() == '.' ? handle + "->" + operation.substr(1) : "*" + handle + operation;
}

}  // namespace

void recycle_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  if (!has_sites()) return;
  match_capacity(finder);
  finder->addMatcher(
      declStmt(has(varDecl(hasAutomaticStorageDuration(), unless(isExpansionInSystemHeader())))).bind("statement"),
      this);
}

void recycle_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const auto* statement = result.Nodes.getNodeAs<clang::DeclStmt>("statement");
  const clang::FunctionDecl* function = function_around(*result.Context, *statement);
  if (function == nullptr || function->isDependentContext() || function->getBody() == nullptr) return;
  const bool is_chosen = llvm::any_of(statement->decls(), [&](const clang::Decl* declaration) {
    const auto* variable = dyn_cast<clang::VarDecl>(declaration);
    return variable != nullptr && !variable->getType()->isReferenceType() && !variable->getType()->isPointerType() &&
           is_std_class(variable->getType(), kept_containers) &&
           is_recorded(*result.Context, sites(), *statement, *variable, *function->getBody());
  });
  if (is_chosen) add(statement->getBeginLoc(), judge(*result.Context, *statement, *function));
}

verdict recycle_check::judge(clang::ASTContext& context, const clang::DeclStmt& statement,
                             const clang::FunctionDecl& function) const {
  const SourceLocation start = statement.getBeginLoc();
  const auto refuse = [start](const std::string& text, SourceLocation location) {
    return refusal(start, {text, location});
  };
  if (!is_editable(context, statement.getSourceRange())) return refuse("a macro writes this code", start);
  if (!context.getLangOpts().CPlusPlus20) return refuse("the unit is compiled for a C++ before C++20", start);
  if (!finds_header(header)) return refuse("no include folder of the unit has <" + std::string(header) + ">", start);
  if (is_declared_constexpr(context, function)) return refuse("the function is constexpr", function.getLocation());
  const auto* type_of_function = function.getType()->getAs<clang::FunctionProtoType>();
  if (type_of_function != nullptr && type_of_function->isNothrow())
    return refuse("the function must not throw, and the cache may", function.getLocation());
  const std::variant<const clang::CompoundStmt*, obstacle> found_block = block_of(context, statement, function);
  if (const auto* problem = std::get_if<obstacle>(&found_block)) return refusal(start, *problem);
  const clang::CompoundStmt& scope = *std::get<const clang::CompoundStmt*>(found_block);
  if (has_unusual_entry(function, scope))
    return refuse("the block has labels or can be suspended", scope.getBeginLoc());
  if (has_directives(context.getSourceManager(), scope.getSourceRange()))
    return refuse("the block differs from configuration to configuration", scope.getBeginLoc());
  if (const SourceLocation heap = heap_in(*function.getBody()); heap.isValid())
    return refuse("a heap of Tarn may end before the cache", heap);

  verdict result;
  result.level = certainty::proven;
  result.location = start;
  std::vector<std::string> lines;
  std::string type;
  for (const clang::Decl* declaration : statement.decls()) {
    const auto* variable = dyn_cast<clang::VarDecl>(declaration);
    if (variable == nullptr || !is_std_class(variable->getType(), kept_containers) ||
        variable->getType()->isReferenceType() || variable->getType()->isPointerType()) {
      return refuse("the statement declares several kinds of variables", start);
    }
    if (std::optional<obstacle> problem = objection_to(context, *variable, scope)) return refusal(start, *problem);
    const std::variant<assignment, obstacle> written = assignment_of(context, *variable);
    if (const auto* problem = std::get_if<obstacle>(&written)) return refusal(start, *problem);
    const auto& value = std::get<assignment>(written);
    const escape use = worst_use(context, *variable, scope);
    if (use.level == certainty::no_edit) return refusal(start, use.problem);
    if (use.level == certainty::review) result.notes.push_back(use.problem);
    if (value.reordered.isValid())
      result.notes.push_back({"this may change what stands before it in the text", value.reordered});

    result.container = variable->getType()->getAsCXXRecordDecl();
    const bool is_constant = variable->getType().isConstQualified();
    const clang::SourceRange written_type = variable->getTypeSourceInfo()->getTypeLoc().getSourceRange();
    type = text_at(context, written_type);
    if (type.empty()) return refuse("a macro writes this code", start);
    if (is_constant ? text_at(context, {start, written_type.getEnd()}) != "const " + type
                    : written_type.getBegin() != start) {
      return refuse("the type is not written out alone", start);
    }
    const std::string name = variable->getNameAsString();
    const std::string handle = "kept_" + name;
    const SourceLocation same_name = use_of_name(context, function, handle);
    if (same_name.isValid()) return refuse("the function has the name '" + handle + "' already", same_name);
    lines.push_back((llvm::Twine("auto ") + handle + " = " + outer_namespace(context, "tarn", &function) +
                     "::recycle<" + type + ">();")
                        .str());
    const std::string reference = (llvm::Twine(type) + "& " + name + " = *" + handle + ";").str();
    if (!is_constant) lines.push_back(reference);
    for (const std::string& line : value.statements) {
      if (line == name + ".clear();") continue;  // the object comes empty
      lines.push_back(is_constant ? by_handle(line, name, handle) : line);
    }
    if (is_constant) lines.push_back("const " + reference);
  }
  if (is_constant_lambda(function)) return refuse("the compiler may run the lambda", function.getLocation());
  if (!result.notes.empty()) result.level = certainty::review;
  const auto* first = clang::cast<clang::VarDecl>(*statement.decl_begin());
  result.text = (statement.isSingleDecl() ? quote(*first) : quote(*first) + " and the variables beside it") +
                " with memory that the thread keeps, in place of an allocation in each run: tarn::recycle";
  result.header = header;
  result.edits.push_back(
      clang::FixItHint::CreateReplacement(statement.getSourceRange(), llvm::join(lines, new_line_at(context, start))));
  return result;
}

}  // namespace tarn::tidy
