#include "profiler/tidy/hoist_check.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtOpenMP.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/tidy/assignment.hpp"
#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;
using clang::SourceLocation;

// A place for a declaration: before a statement of a block.
struct anchor {
  const clang::Stmt* statement = nullptr;
  const clang::CompoundStmt* block = nullptr;
};

// The surroundings of a variable in a loop.
struct surroundings {
  const clang::CompoundStmt* scope = nullptr;  // of the variable
  const clang::Stmt* iteration = nullptr;      // the body of the nearest loop
  std::vector<anchor> anchors;                 // the outermost one first
};

std::variant<surroundings, obstacle> surroundings_of(clang::ASTContext& context, const clang::DeclStmt& statement,
                                                     const clang::VarDecl& variable) {
  surroundings result;
  obstacle problem{quote(variable) + " is not declared in a loop of this function", variable.getLocation()};
  const clang::Stmt* child = &statement;
  bool is_movable = false;  // there is a loop, and up to here only statements whose begin is that of the loop's part
  for (const clang::DynTypedNode& node : nodes_around(context, statement)) {
    const auto* parent = node.get<clang::Stmt>();
    if (parent == nullptr || isa<clang::LambdaExpr>(parent)) continue;
    if (isa<clang::StmtExpr, clang::CapturedStmt, clang::OMPExecutableDirective>(parent))
      return obstacle{"the loop is part of an expression or runs in several threads", parent->getBeginLoc()};
    const auto* block = dyn_cast<clang::CompoundStmt>(parent);
    if (result.scope == nullptr) {
      if (block == nullptr) return problem;  // the header of a statement declares it
      result.scope = block;
    }
    if (block != nullptr) {
      const clang::DynTypedNodeList owners = context.getParents(*block);
      const bool is_switch = !owners.empty() && owners[0].get<clang::SwitchStmt>() != nullptr;
      if (is_movable && is_switch)
        problem = {"a label of the switch would jump past the declaration", block->getBeginLoc()};
      if (is_movable && !is_switch) result.anchors.insert(result.anchors.begin(), {child, block});
      is_movable = false;
    } else if (body_of_loop(parent) != nullptr) {
      if (result.iteration == nullptr) {
        if (body_of_loop(parent) != child) return problem;
        result.iteration = child;
      }
      problem = {"the loop is no statement of a block", parent->getBeginLoc()};
      is_movable = true;
    } else if (!isa<clang::IfStmt>(parent)) {
      is_movable = false;
    }
    child = parent;
  }
  if (result.anchors.empty()) return problem;
  return result;
}

// Returns the name by which code names a type; empty for one of the language.
llvm::StringRef name_of_type(clang::QualType type) {
  const clang::NamedDecl* declaration = type->getAsTagDecl();
  if (const auto* alias = type->getAs<clang::TypedefType>()) declaration = alias->getDecl();
  return declaration == nullptr || declaration->getIdentifier() == nullptr ? "" : declaration->getName();
}

// Returns why the name of a variable, or its type, would mean something else in front of a statement.
std::optional<obstacle> collision_at(clang::ASTContext& context, const anchor& target, const clang::VarDecl& variable,
                                     const clang::CompoundStmt& scope, const clang::FunctionDecl& function) {
  const clang::SourceManager& sources = context.getSourceManager();
  const std::string name = variable.getNameAsString();
  const auto has_other_meaning = [&](SourceLocation location) {
    return obstacle{"the name '" + name + "' has another meaning outside of the loop", location};
  };
  const auto is_own = [&](SourceLocation location) {
    return is_within(context, location, {variable.getBeginLoc(), scope.getEndLoc()});
  };
  // What the header of a statement declares has the scope of its block, too.
  const clang::DynTypedNodeList owners = context.getParents(*target.block);
  const auto* owner = owners.empty() ? nullptr : owners[0].get<clang::Stmt>();
  const bool has_header = owner != nullptr && !isa<clang::CompoundStmt, clang::LambdaExpr>(owner);
  const clang::SourceRange outer = {has_header ? owner->getBeginLoc() : target.block->getBeginLoc(),
                                    target.block->getEndLoc()};
  for (const auto& [word, location] : free_names(context, outer)) {
    if (word == name && !is_own(location)) return has_other_meaning(location);
  }
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    if (parameter->getName() == name) return has_other_meaning(parameter->getLocation());
  }
  std::set<std::string> inner_names;
  std::optional<obstacle> problem;
  walk(*target.block, [&](const clang::Stmt& part, bool) {
    const auto* declarations = dyn_cast<clang::DeclStmt>(&part);
    for (const clang::Decl* next : declarations == nullptr ? clang::DeclGroupRef() : declarations->getDeclGroup()) {
      const auto* declaration = dyn_cast<clang::NamedDecl>(next);
      if (declaration != nullptr &&
          is_within(context, declaration->getSourceRange(), target.statement->getSourceRange())) {
        inner_names.insert(declaration->getNameAsString());
      }
    }
    // Names that a macro writes.
    const clang::NamedDecl* named = nullptr;
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part)) named = reference->getDecl();
    if (const auto* member = dyn_cast<clang::MemberExpr>(&part); member != nullptr && member->isImplicitAccess())
      named = member->getMemberDecl();
    if (named != nullptr && part.getBeginLoc().isMacroID() && named->getDeclName() == variable.getDeclName() &&
        !is_own(part.getBeginLoc())) {
      problem = has_other_meaning(sources.getExpansionLoc(part.getBeginLoc()));
    }
    return !problem;
  });
  if (problem) return problem;
  using namespace clang::ast_matchers;
  for (const BoundNodes& node : match(stmt(forEachDescendant(typeLoc().bind("type"))), *target.block, context)) {
    const auto& type = *node.getNodeAs<clang::TypeLoc>("type");
    const SourceLocation location = type.getBeginLoc();
    if (location.isMacroID() && name_of_type(type.getType()) == name && !is_own(location))
      return has_other_meaning(sources.getExpansionLoc(location));
  }
  const SourceLocation begin = variable.getBeginLoc();
  for (const auto& [word, location] : free_names(context, {begin, variable.getLocation().getLocWithOffset(-1)})) {
    if (inner_names.count(word) != 0)
      return obstacle{"the type of " + quote(variable) + " is not known outside of the loop", location};
  }
  return std::nullopt;
}

}  // namespace

void hoist_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  match_capacity(finder);
  finder->addMatcher(
      declStmt(has(varDecl(hasAutomaticStorageDuration(), unless(isExpansionInSystemHeader())))).bind("statement"),
      this);
}

void hoist_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const auto* statement = result.Nodes.getNodeAs<clang::DeclStmt>("statement");
  const clang::FunctionDecl* function = function_around(*result.Context, *statement);
  if (function == nullptr || function->isDependentContext() || function->getBody() == nullptr) return;
  for (const clang::Decl* declaration : statement->decls()) {
    const auto* variable = dyn_cast<clang::VarDecl>(declaration);
    if (variable == nullptr || variable->getType()->isReferenceType() || variable->getType()->isPointerType() ||
        !is_std_class(variable->getType(), kept_containers)) {
      continue;
    }
    if (has_sites() && !is_recorded(*result.Context, sites(), *statement, *variable, *function->getBody())) continue;
    add(variable->getLocation(), judge(*result.Context, *statement, *variable));
  }
}

verdict hoist_check::judge(clang::ASTContext& context, const clang::DeclStmt& statement,
                           const clang::VarDecl& variable) const {
  const SourceLocation start = statement.getBeginLoc();
  const std::string name = variable.getNameAsString();
  const auto refuse = [&](const std::string& text, SourceLocation location) {
    return refusal(variable.getLocation(), {text, location});
  };
  if (!is_editable(context, statement.getSourceRange())) return refuse("a macro writes this code", start);
  const std::variant<surroundings, obstacle> found_outer = surroundings_of(context, statement, variable);
  if (const auto* problem = std::get_if<obstacle>(&found_outer)) return refusal(variable.getLocation(), *problem);
  const auto& outer = std::get<surroundings>(found_outer);
  const clang::FunctionDecl& function = *function_around(context, statement);
  if (!statement.isSingleDecl()) return refuse("the statement declares several variables", start);
  if (variable.getType().hasQualifiers()) return refuse(quote(variable) + " is constant", start);
  if (variable.hasAttrs() || variable.isConstexpr() || variable.getStorageClass() != clang::SC_None ||
      variable.getType()->getContainedDeducedType() != nullptr ||
      start != variable.getTypeSourceInfo()->getTypeLoc().getBeginLoc()) {
    return refuse("the type of " + quote(variable) + " is not written out alone", start);
  }
  const clang::Expr* lender = has_own_allocator(variable.getType()) ? nullptr : lender_of(variable);
  if (lender == nullptr && !has_own_allocator(variable.getType()))
    return refuse(quote(variable) + " takes its memory from an allocator of its own", start);
  if (!is_std_class_in_all_instantiations(variable, kept_containers))
    return refuse(quote(variable) + " may be another class in another instantiation", start);

  const std::variant<assignment, obstacle> written = assignment_of(context, variable);
  if (const auto* problem = std::get_if<obstacle>(&written)) return refusal(variable.getLocation(), *problem);
  const escape use = worst_use(context, variable, *outer.iteration);
  if (use.level == certainty::no_edit) return refusal(variable.getLocation(), use.problem);

  const std::string declared = text_at(context, {start, variable.getLocation()});
  const std::string type = declared.size() <= name.size() ? "" : declared.substr(0, declared.size() - name.size());
  if (type.empty() || !llvm::StringRef(declared).endswith(name)) return refuse("a macro writes this code", start);
  std::optional<obstacle> collision;
  const anchor* target = nullptr;
  for (const anchor& next : outer.anchors) {
    if (!is_editable(context, next.statement->getSourceRange())) {
      collision = {"a macro writes the loop", next.statement->getBeginLoc()};
      continue;
    }
    const SourceLocation block = next.block->getBeginLoc();
    if (has_unusual_entry(function, *next.block)) {
      collision = {"the block around the loop has labels or can be suspended", block};
      continue;
    }
    if (has_directives(context.getSourceManager(), next.block->getSourceRange())) {
      collision = {"the block around the loop differs from configuration to configuration", block};
      continue;
    }
    collision = collision_at(context, next, variable, *outer.scope, function);
    if (!collision && lender != nullptr) collision = lending_obstacle(context, *lender, *next.statement, *next.block);
    if (collision) continue;
    target = &next;
    break;
  }
  if (target == nullptr) return refusal(variable.getLocation(), *collision);
  if (const SourceLocation heap = heap_in(*target->statement); heap.isValid())
    return refuse("a heap of Tarn may end before " + quote(variable), heap);

  verdict result;
  result.level = use.level;
  if (use.level == certainty::review) result.notes.push_back(use.problem);
  const auto& statements = std::get<assignment>(written);
  if (statements.reordered.isValid())
    result.notes.push_back({"this may change what stands before it in the text", statements.reordered});
  if (!has_quiet_end(element_of(variable.getType())))
    result.notes.push_back({"the elements of " + quote(variable) + " end later: in the next iteration", start});
  if (!result.notes.empty()) result.level = certainty::review;
  result.container = variable.getType()->getAsCXXRecordDecl();
  result.location = variable.getLocation();
  result.text = quote(variable) + " moves out of the loop and keeps its memory: one allocation instead of many";
  const SourceLocation before = target->statement->getBeginLoc();
  const std::string memory = lender == nullptr ? "" : text_at(context, lender->getSourceRange());
  if (lender != nullptr && memory.empty()) return refuse("a macro writes this code", lender->getBeginLoc());
  const std::string value = lender == nullptr ? "" : "(" + memory + ".get_allocator())";
  result.edits.push_back(
      clang::FixItHint::CreateInsertion(before, type + name + value + ";" + new_line_at(context, before)));
  result.edits.push_back(clang::FixItHint::CreateReplacement(
      statement.getSourceRange(), llvm::join(statements.statements, new_line_at(context, start))));
  return result;
}

}  // namespace tarn::tidy
