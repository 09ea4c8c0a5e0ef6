#include "profiler/tidy/make_shared_check.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <llvm/ADT/STLExtras.h>

#include <string>
#include <utility>

#include "profiler/tidy/forwarded_arguments.hpp"
#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr std::int64_t max_cleared_bytes = 256;  // make_shared<T>() zeroes members that `new T` leaves uninitialised

// Returns the type that a shared_ptr or a weak_ptr points to, null where it is neither.
clang::QualType pointee_of(clang::QualType pointer) { return element_of(pointer.getNonReferenceType()); }

// Returns whether an object of a type may be owned by a pointer to another type.
bool may_be_owned_as(const clang::ASTContext& context, clang::QualType type, clang::QualType pointee) {
  if (pointee->isVoidType() || context.hasSameUnqualifiedType(type, pointee)) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  const clang::CXXRecordDecl* base = pointee->getAsCXXRecordDecl();
  return record != nullptr && base != nullptr && record->hasDefinition() && base->hasDefinition() &&
         record->isDerivedFrom(base);
}

// Returns whether an expression is a variable, or a member of one, that no argument of a call changes for another.
bool is_fixed_object(clang::ASTContext& context, const clang::Expr& object, const clang::CXXNewExpr& creation) {
  const clang::Expr* part = object.IgnoreParenImpCasts();
  if (isa<clang::DeclRefExpr, clang::CXXThisExpr>(part)) return true;
  const auto* member = dyn_cast<clang::MemberExpr>(part);
  if (member == nullptr) return false;
  const bool is_by_pointer = member->isArrow() && !isa<clang::CXXThisExpr>(member->getBase()->IgnoreParenImpCasts());
  const clang::CXXConstructExpr* construction = creation.getConstructExpr();
  const bool changes_something =
      construction == nullptr
          ? creation.getInitializer() != nullptr && creation.getInitializer()->HasSideEffects(context)
          : llvm::any_of(construction->arguments(),
                         [&](const clang::Expr* argument) { return argument->HasSideEffects(context); });
  if (is_by_pointer && changes_something) return false;
  return is_fixed_object(context, *member->getBase(), creation);
}

// Returns true if a call is a whole statement, so that its type does not matter.
bool is_statement(clang::ASTContext& context, const clang::Expr& call) {
  const clang::DynTypedNodeList parents = context.getParents(call);
  const auto* parent = parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
  if (parent == nullptr) return false;
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(parent)) return is_statement(context, *cleanups);
  return isa<clang::CompoundStmt, clang::IfStmt>(parent);
}

}  // namespace

void make_shared_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  const auto shared = cxxRecordDecl(hasName("::std::shared_ptr"));
  const auto creation = ignoringParenImpCasts(cxxNewExpr().bind("creation"));
  finder->addMatcher(cxxConstructExpr(hasDeclaration(cxxConstructorDecl(ofClass(shared))), argumentCountIs(1),
                                      hasArgument(0, creation))
                         .bind("owner"),
                     this);
  finder->addMatcher(cxxMemberCallExpr(callee(cxxMethodDecl(hasName("reset"))), argumentCountIs(1),
                                       clang::ast_matchers::on(
                                           hasType(hasUnqualifiedDesugaredType(recordType(hasDeclaration(shared))))),
                                       hasArgument(0, creation))
                         .bind("owner"),
                     this);
  // A deleter, or an allocator behind it: std::make_shared takes none.
  const auto owned_pointer = hasArgument(0, expr(hasType(qualType(hasUnqualifiedDesugaredType(pointerType())))));
  const auto has_deleter = anyOf(argumentCountIs(2), argumentCountIs(3));
  finder->addMatcher(
      cxxConstructExpr(hasDeclaration(cxxConstructorDecl(ofClass(shared))), has_deleter, owned_pointer).bind("deleted"),
      this);
  finder->addMatcher(cxxMemberCallExpr(callee(cxxMethodDecl(hasName("reset"))), has_deleter, owned_pointer,
                                       clang::ast_matchers::on(
                                           hasType(hasUnqualifiedDesugaredType(recordType(hasDeclaration(shared))))))
                         .bind("deleted"),
                     this);
  const auto weak = hasUnqualifiedDesugaredType(
      recordType(hasDeclaration(classTemplateSpecializationDecl(hasName("::std::weak_ptr")))));
  finder->addMatcher(typeLoc(unless(isExpansionInSystemHeader()), loc(qualType(weak))).bind("weak-type"), this);
  finder->addMatcher(valueDecl(unless(isExpansionInSystemHeader()), hasType(qualType(weak))).bind("weak-value"), this);
  finder->addMatcher(
      cxxMemberCallExpr(unless(isExpansionInSystemHeader()), callee(cxxMethodDecl(hasName("weak_from_this"))))
          .bind("weak-call"),
      this);
}

void make_shared_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const auto add_weak = [&](clang::QualType type, clang::SourceLocation location) {
    if (const clang::QualType pointee = pointee_of(type); !pointee.isNull()) weak_uses_.push_back({pointee, location});
  };
  if (const auto* type = result.Nodes.getNodeAs<clang::TypeLoc>("weak-type")) {
    add_weak(type->getType(), type->getBeginLoc());
    return;
  }
  if (const auto* value = result.Nodes.getNodeAs<clang::ValueDecl>("weak-value")) {
    add_weak(value->getType(), value->getLocation());
    return;
  }
  if (const auto* call = result.Nodes.getNodeAs<clang::Expr>("weak-call")) {
    add_weak(call->getType(), call->getBeginLoc());
    return;
  }
  if (const auto* owner = result.Nodes.getNodeAs<clang::Expr>("deleted")) {
    const clang::SourceLocation start = owner->getBeginLoc();
    if (has_sites() && sites().find(*result.SourceManager, owner->getSourceRange()) != nullptr &&
        !result.SourceManager->isInSystemHeader(result.SourceManager->getExpansionLoc(start))) {
      add(start, refusal(start, {"the pointer has its own deleter", start}));
    }
    return;
  }
  const auto* owner = result.Nodes.getNodeAs<clang::Expr>("owner");
  const auto* creation = result.Nodes.getNodeAs<clang::CXXNewExpr>("creation");
  if (has_sites() && sites().find(*result.SourceManager, owner->getSourceRange()) == nullptr) return;
  if (result.SourceManager->isInSystemHeader(result.SourceManager->getExpansionLoc(creation->getBeginLoc()))) return;
  if (creation->isInstantiationDependent()) return;
  candidates_.push_back(
      {creation->getBeginLoc(), creation->getAllocatedType(), judge(*result.Context, *owner, *creation)});
}

verdict make_shared_check::judge(clang::ASTContext& context, const clang::Expr& owner,
                                 const clang::CXXNewExpr& creation) const {
  const clang::SourceLocation start = creation.getBeginLoc();
  const auto refuse = [start](const std::string& text, clang::SourceLocation location) {
    return refusal(start, {text, location});
  };
  if (!is_editable(context, creation.getSourceRange()) || !is_editable(context, owner.getSourceRange())) {
    return refuse("a macro writes this code", start);
  }
  if (has_directives(context.getSourceManager(), owner.getSourceRange())) {
    return refuse("the code differs from configuration to configuration", start);
  }
  if (is_in_instantiation(context, creation)) return refuse("a template writes this code", start);
  if (creation.isArray() || creation.getNumPlacementArgs() > 0 || creation.getTypeIdParens().isValid()) {
    return refuse("this is no plain new", start);
  }
  const clang::QualType type = creation.getAllocatedType();
  if (type.hasQualifiers() || creation.getAllocatedTypeSourceInfo()->getType()->getContainedDeducedType() != nullptr) {
    return refuse("the type is not written out", start);
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  const clang::CXXConstructExpr* construction = creation.getConstructExpr();
  if (record != nullptr) {
    if (!record->hasDefinition()) return refuse("the class is not complete", start);
    if (declares_own_delete(context, *record)) {
      return refuse("the class has its own operator new or delete", record->getLocation());
    }
    const clang::CXXDestructorDecl* destructor = record->getDestructor();
    if (destructor != nullptr && destructor->getAccess() != clang::AS_public) {
      return refuse("the destructor is not public", destructor->getLocation());
    }
    if (construction != nullptr && construction->getConstructor()->getAccess() != clang::AS_public) {
      return refuse("the constructor is not public", construction->getConstructor()->getLocation());
    }
  }

  std::string arguments = "()";
  switch (creation.getInitializationStyle()) {
    case clang::CXXNewExpr::NoInit: {
      const bool is_cleared = record == nullptr || !record->hasUserProvidedDefaultConstructor();
      if (is_cleared && context.getTypeSizeInChars(type).getQuantity() > max_cleared_bytes) {
        return refuse("std::make_shared would clear the memory first", start);
      }
      break;
    }
    case clang::CXXNewExpr::CallInit: {
      if (record != nullptr && construction == nullptr) return refuse("the class has no constructor", start);
      arguments = text_at(context, creation.getDirectInitRange());
      if (arguments.empty()) return refuse("a macro writes this code", start);
      break;
    }
    case clang::CXXNewExpr::ListInit: {
      const clang::Expr* initializer = creation.getInitializer();
      const auto* list = dyn_cast_or_null<clang::InitListExpr>(initializer);
      const bool is_empty =
          (list != nullptr && list->getNumInits() == 0) || (construction != nullptr && construction->getNumArgs() == 0);
      if (!is_empty || record == nullptr || record->isAggregate()) {
        return refuse("braces may choose another constructor", start);
      }
      break;
    }
  }
  const forwarding passing = forwarding_of(context, creation);
  if (passing.level == certainty::no_edit) return refuse(passing.problem.text, passing.problem.location);

  const std::string name = text_at(context, creation.getAllocatedTypeSourceInfo()->getTypeLoc().getSourceRange());
  if (name.empty()) return refuse("a macro writes this code", start);
  verdict result;
  result.level = passing.level;
  if (passing.level == certainty::review) result.notes.push_back(passing.problem);
  const std::string made_shared =
      outer_namespace(context, "std", function_around(context, creation)) + "::make_shared<" + name + ">" + arguments;
  clang::SourceRange replaced_range = creation.getSourceRange();
  std::string replacement = made_shared;
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(&owner)) {
    const auto* member = dyn_cast<clang::MemberExpr>(call->getCallee()->IgnoreParenImpCasts());
    if (member == nullptr || member->isArrow() || !is_statement(context, *call)) {
      return refuse("the call of reset() is part of an expression", start);
    }
    const std::string object = text_at(context, member->getBase()->getSourceRange());
    if (object.empty()) return refuse("a macro writes this code", start);
    if (!is_fixed_object(context, *member->getBase(), creation)) {
      result.level = certainty::review;
      result.notes.push_back({"the arguments would be evaluated before the pointer is found", member->getBeginLoc()});
    }
    replaced_range = call->getSourceRange();
    replacement = object + " = " + made_shared;
  } else {
    // std::shared_ptr<T>(new T): the pointer of T itself needs no second one.
    const clang::DynTypedNodeList parents = context.getParents(owner);
    const auto* cast = parents.empty() ? nullptr : parents[0].get<clang::CXXFunctionalCastExpr>();
    const auto* bound = parents.empty() ? nullptr : parents[0].get<clang::CXXBindTemporaryExpr>();
    if (bound != nullptr) {
      const clang::DynTypedNodeList outer = context.getParents(*bound);
      cast = outer.empty() ? nullptr : outer[0].get<clang::CXXFunctionalCastExpr>();
    }
    const clang::QualType pointee = pointee_of(owner.getType());
    const bool is_same_type = !pointee.isNull() && context.hasSameType(pointee, type);
    const clang::Expr* whole = isa<clang::CXXTemporaryObjectExpr>(owner) ? &owner : cast;
    if (whole != nullptr && is_same_type && is_editable(context, whole->getSourceRange())) {
      replaced_range = whole->getSourceRange();
    }
  }
  result.location = replaced_range.getBegin();
  result.text = "'" + name + "' and its counts in one block: std::make_shared";
  result.edits.push_back(clang::FixItHint::CreateReplacement(replaced_range, replacement));
  return result;
}

void make_shared_check::onEndOfTranslationUnit() {
  for (candidate& next : candidates_) {
    const auto weak = llvm::find_if(
        weak_uses_, [&](const weak_use& use) { return may_be_owned_as(context(), next.type, use.pointee); });
    if (next.result.level >= certainty::review && weak != weak_uses_.end()) {
      next.result = refusal(next.key, {"a weak_ptr could keep the memory of the object", weak->location});
    }
    add(next.key, std::move(next.result));
  }
  candidates_.clear();
  weak_uses_.clear();
  edit_check::onEndOfTranslationUnit();
}

}  // namespace tarn::tidy
