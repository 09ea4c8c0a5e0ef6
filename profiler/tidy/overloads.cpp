#include "profiler/tidy/overloads.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <algorithm>

#include "profiler/tidy/library_calls.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using clang::QualType;

// A call, and which of its arguments is the copy. The object of an operator that is a member is an argument, too.
struct call_site {
  const clang::Expr* call = nullptr;
  const clang::FunctionDecl* called = nullptr;
  unsigned argument = 0;
  unsigned count = 0;
  bool is_in_list = false;  // the argument is a list of values, of which one is the copy
};

call_site call_around(clang::ASTContext& context, const clang::Expr& copy) {
  const clang::Expr* node = &copy;
  bool is_in_list = false;
  for (;;) {
    const clang::DynTypedNodeList parents = context.getParents(*node);
    const auto* user = parents.empty() ? nullptr : parents[0].get<clang::Expr>();
    if (user == nullptr) return {};
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(user);
    if (isa<clang::ImplicitCastExpr, clang::ParenExpr, clang::CXXBindTemporaryExpr, clang::MaterializeTemporaryExpr>(
            user) ||
        isa<clang::InitListExpr>(user) || (construction != nullptr && construction->isElidable())) {
      is_in_list |= isa<clang::InitListExpr>(user);
      node = user;
      continue;
    }
    call_site result{user};
    result.is_in_list = is_in_list;
    llvm::ArrayRef<const clang::Expr*> arguments;
    if (construction != nullptr) {
      result.called = construction->getConstructor();
      arguments = {construction->getArgs(), construction->getNumArgs()};
    } else if (const auto* call = dyn_cast<clang::CallExpr>(user)) {
      result.called = call->getDirectCallee();
      arguments = {call->getArgs(), call->getNumArgs()};
    }
    const auto* position = llvm::find(arguments, node);
    if (result.called == nullptr || position == arguments.end()) return {};
    result.argument = static_cast<unsigned>(position - arguments.begin());
    result.count = static_cast<unsigned>(arguments.size());
    return result;
  }
}

// Returns whether a constructor of the program may make an object of a moved value alone.
bool may_be_made_of_rvalue(clang::ASTContext& context, QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition() || is_of_library(*record)) return false;
  const clang::DeclarationName name =
      context.DeclarationNames.getCXXConstructorName(context.getCanonicalType(QualType(record->getTypeForDecl(), 0)));
  return llvm::any_of(record->getDefinition()->lookup(name), [&](const clang::NamedDecl* next) {
    const clang::FunctionDecl* constructor = next->getUnderlyingDecl()->getAsFunction();
    if (constructor == nullptr || constructor->getNumParams() == 0 || constructor->getMinRequiredArguments() > 1)
      return false;
    const QualType parameter = constructor->getParamDecl(0)->getType();
    return parameter->isRValueReferenceType() && bare_type(parameter) != bare_type(type);
  });
}

// Returns whether an argument of `type` may convert to a parameter in another way where it is an rvalue.
bool prefers_rvalue(clang::ASTContext& context, QualType parameter, QualType type) {
  if (const auto* pack = parameter->getAs<clang::PackExpansionType>()) parameter = pack->getPattern();
  const QualType target = bare_type(parameter);
  if (parameter->isRValueReferenceType()) {
    if (parameter->isDependentType() || target == type) return true;
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    const clang::CXXRecordDecl* base = target->getAsCXXRecordDecl();
    if (base != nullptr && record->isDerivedFrom(base)) return true;
  }
  // A type that is deduced of the argument is the same for both.
  if (parameter->isDependentType())
    return !isa<clang::TemplateTypeParmType, clang::TemplateSpecializationType, clang::InjectedClassNameType>(target);
  return target != type && may_be_made_of_rvalue(context, target);
}

// Calls `visit` with each function of a name in the namespaces of a unit, until it returns true.
bool any_free_function(const clang::DeclContext& scope, clang::DeclarationName name,
                       llvm::function_ref<bool(const clang::NamedDecl*)> visit) {
  if (llvm::any_of(scope.lookup(name), visit)) return true;
  return llvm::any_of(scope.decls(), [&](const clang::Decl* next) {
    const auto* inner = dyn_cast<clang::DeclContext>(next);
    return inner != nullptr && isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(next) &&
           any_free_function(*inner, name, visit);
  });
}

bool any_member(const clang::CXXRecordDecl* record, clang::DeclarationName name,
                llvm::function_ref<bool(const clang::NamedDecl*)> visit) {
  if (record == nullptr || !record->hasDefinition()) return false;
  record = record->getDefinition();
  return llvm::any_of(record->lookup(name), visit) || !record->forallBases([&](const clang::CXXRecordDecl* base) {
    return !llvm::any_of(base->lookup(name), visit);
  });
}

}  // namespace

const clang::FunctionDecl* overload_for_rvalue(clang::ASTContext& context, const clang::Expr& copy) {
  const call_site site = call_around(context, copy);
  if (site.called == nullptr || is_of_library(*site.called)) return nullptr;
  const QualType type = bare_type(copy.getType());
  const clang::FunctionTemplateDecl* own_template = site.called->getPrimaryTemplate();
  const clang::FunctionDecl* result = nullptr;
  const bool has_object_argument = isa<clang::CXXOperatorCallExpr>(site.call);
  const auto is_candidate = [&](const clang::NamedDecl* declaration) {
    const clang::NamedDecl* named = declaration->getUnderlyingDecl();
    const clang::FunctionDecl* function = named->getAsFunction();
    if (function == nullptr || function->getCanonicalDecl() == site.called->getCanonicalDecl() ||
        (own_template != nullptr && named->getCanonicalDecl() == own_template->getCanonicalDecl())) {
      return false;
    }
    const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
    const bool is_shifted = has_object_argument && method != nullptr && method->isInstance();
    if (is_shifted && site.argument == 0) return false;
    const unsigned index = site.argument - (is_shifted ? 1 : 0), count = site.count - (is_shifted ? 1 : 0);
    const unsigned parameters = function->getNumParams();
    const bool has_pack = parameters > 0 && function->getParamDecl(parameters - 1)->isParameterPack();
    if (count < function->getMinRequiredArguments() || (count > parameters && !has_pack && !function->isVariadic()))
      return false;
    if (index >= parameters && !has_pack) return false;
    const QualType parameter = function->getParamDecl(std::min(index, parameters - 1))->getType();
    if (site.is_in_list || prefers_rvalue(context, parameter, type)) result = function;
    return result != nullptr;
  };
  const clang::DeclarationName name = site.called->getDeclName();
  const auto* method = dyn_cast<clang::CXXMethodDecl>(site.called);
  if (method != nullptr && any_member(method->getParent(), name, is_candidate)) return result;
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(site.call))
    any_member(call->getRecordDecl(), name, is_candidate);
  if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(site.call))
    any_member(operation->getArg(0)->getType()->getAsCXXRecordDecl(), name, is_candidate);
  if (result == nullptr && (method == nullptr || has_object_argument))
    any_free_function(*context.getTranslationUnitDecl(), name, is_candidate);
  return result;
}

}  // namespace tarn::tidy
