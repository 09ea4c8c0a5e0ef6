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

#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr std::int64_t max_cleared_bytes = 256;  // make_shared<T>() zeroes members that `new T` leaves uninitialised

// Returns whether a value of a class can be handed on by moving or copying it.
bool is_movable(const clang::CXXRecordDecl& record) {
  if (record.needsImplicitMoveConstructor() || record.needsImplicitCopyConstructor()) return true;
  return llvm::any_of(record.ctors(), [](const clang::CXXConstructorDecl* constructor) {
    return constructor->isCopyOrMoveConstructor() && !constructor->isDeleted() &&
           constructor->getAccess() == clang::AS_public;
  });
}

bool has_private_base(const clang::CastExpr& cast) {
  return llvm::any_of(
      cast.path(), [](const clang::CXXBaseSpecifier* base) { return base->getAccessSpecifier() != clang::AS_public; });
}

// Returns the reason why std::make_shared would pass the argument on as another type or value; empty if there is none.
std::string objection_to(clang::ASTContext& context, const clang::Expr& argument) {
  if (isa<clang::InitListExpr>(argument.IgnoreImplicit())) return "has no type of its own";
  if (llvm::StringRef(text_at(context, argument.getSourceRange())).startswith("{")) return "has no type of its own";
  const clang::Expr* expression = &argument;
  while (true) {
    expression = expression->IgnoreParens();
    if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(expression)) {
      const clang::CastKind kind = cast->getCastKind();
      if (kind == clang::CK_NullToPointer && !cast->getSubExpr()->getType()->isNullPtrType()) {
        return "is a null pointer only as a literal";
      }
      if ((kind == clang::CK_DerivedToBase || kind == clang::CK_UncheckedDerivedToBase) && has_private_base(*cast)) {
        return "is converted to a private base";
      }
      expression = cast->getSubExpr();
    } else if (const auto* full = dyn_cast<clang::FullExpr>(expression)) {
      expression = full->getSubExpr();
    } else if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(expression)) {
      expression = temporary->getSubExpr();
    } else if (const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(expression)) {
      expression = bound->getSubExpr();
    } else if (const auto* address = dyn_cast<clang::UnaryOperator>(expression);
               address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
      expression = address->getSubExpr();
    } else {
      break;
    }
  }
  if (expression->refersToBitField()) return "is a bit-field";
  const clang::ValueDecl* named = nullptr;
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression)) {
    if (isa<clang::FunctionDecl>(reference->getDecl()) && reference->hadMultipleCandidates()) return "is overloaded";
    named = reference->getDecl();
  } else if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    named = member->getMemberDecl();
  }
  const auto* variable = dyn_cast_or_null<clang::VarDecl>(named);
  if (variable != nullptr && variable->isStaticDataMember() && !variable->isInline() &&
      variable->getDefinition() == nullptr) {
    return "is a constant without a definition";
  }
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&argument)) {
    const clang::CXXConstructorDecl* function = construction->getConstructor();
    if (function->getAccess() != clang::AS_public && function->getAccess() != clang::AS_none) {
      return "is converted by a private function";
    }
    if (!is_movable(*function->getParent())) return "cannot be moved";
  }
  return "";
}

// Returns the class that a shared_ptr or a weak_ptr points to, null where it points to none.
const clang::CXXRecordDecl* pointee_of(clang::QualType type) {
  const auto* pointer =
      dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type.getNonReferenceType()->getAsCXXRecordDecl());
  if (pointer == nullptr || pointer->getTemplateArgs().size() == 0 ||
      pointer->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type) {
    return nullptr;
  }
  return pointer->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
}

bool is_or_derives(const clang::CXXRecordDecl& record, const clang::CXXRecordDecl& base) {
  return record.getCanonicalDecl() == base.getCanonicalDecl() ||
         (record.hasDefinition() && base.hasDefinition() && record.isDerivedFrom(&base));
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
    if (const clang::CXXRecordDecl* record = pointee_of(type)) weak_uses_.push_back({record, location});
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
  candidates_.push_back({creation->getBeginLoc(), creation->getAllocatedType()->getAsCXXRecordDecl(),
                         judge(*result.Context, *owner, *creation)});
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
  if (type.hasQualifiers() || creation.getAllocatedTypeSourceInfo()->getType()->getContainedAutoType() != nullptr) {
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
  if (construction != nullptr) {
    for (const clang::Expr* argument : construction->arguments()) {
      if (isa<clang::CXXDefaultArgExpr>(argument)) continue;
      const std::string objection = objection_to(context, *argument);
      if (!objection.empty()) return refuse("an argument " + objection, argument->getBeginLoc());
    }
  } else if (creation.getInitializer() != nullptr && creation.getInitializationStyle() == clang::CXXNewExpr::CallInit) {
    const auto* list = dyn_cast<clang::ParenListExpr>(creation.getInitializer());
    if (list == nullptr || list->getNumExprs() != 1 || !objection_to(context, *list->getExpr(0)).empty()) {
      const std::string objection =
          list == nullptr ? objection_to(context, *creation.getInitializer()) : "has no type of its own";
      if (!objection.empty()) return refuse("an argument " + objection, start);
    }
  }

  const std::string name = text_at(context, creation.getAllocatedTypeSourceInfo()->getTypeLoc().getSourceRange());
  if (name.empty()) return refuse("a macro writes this code", start);
  const std::string made_shared = "std::make_shared<" + name + ">" + arguments;
  clang::SourceRange replaced_range = creation.getSourceRange();
  std::string replacement = made_shared;
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(&owner)) {
    const auto* member = dyn_cast<clang::MemberExpr>(call->getCallee()->IgnoreParenImpCasts());
    if (member == nullptr || member->isArrow() || !is_statement(context, *call)) {
      return refuse("the call of reset() is part of an expression", start);
    }
    const std::string object = text_at(context, member->getBase()->getSourceRange());
    if (object.empty()) return refuse("a macro writes this code", start);
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
    const clang::CXXRecordDecl* pointee = pointee_of(owner.getType());
    const bool is_same_class =
        record != nullptr && pointee != nullptr && pointee->getCanonicalDecl() == record->getCanonicalDecl();
    const clang::Expr* whole = isa<clang::CXXTemporaryObjectExpr>(owner) ? &owner : cast;
    if (whole != nullptr && is_same_class && is_editable(context, whole->getSourceRange())) {
      replaced_range = whole->getSourceRange();
    }
  }
  verdict result;
  result.level = certainty::proven;
  result.location = replaced_range.getBegin();
  result.text = "'" + name + "' and its counts in one block: std::make_shared";
  result.edits.push_back(clang::FixItHint::CreateReplacement(replaced_range, replacement));
  return result;
}

void make_shared_check::onEndOfTranslationUnit() {
  for (candidate& next : candidates_) {
    const auto weak = llvm::find_if(weak_uses_, [&](const weak_use& use) {
      return next.record != nullptr && is_or_derives(*next.record, *use.record);
    });
    if (next.result.level == certainty::proven && weak != weak_uses_.end()) {
      next.result.level = certainty::no_edit;
      next.result.edits.clear();
      next.result.text = "a weak_ptr could keep the memory of the object";
      next.result.notes = {{"the weak_ptr is here", weak->location}};
    }
    add(next.key, std::move(next.result));
  }
  candidates_.clear();
  weak_uses_.clear();
  edit_check::onEndOfTranslationUnit();
}

}  // namespace tarn::tidy
