#include "profiler/tidy/overloads.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <algorithm>
#include <vector>

#include "profiler/tidy/library_calls.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using clang::QualType;

// A call, and which of its arguments is a copy, or is made of it. The object of an operator is an argument, too.
struct call_site {
  const clang::Expr* call = nullptr;
  const clang::FunctionDecl* called = nullptr;  // none for a list of the values of an aggregate
  const clang::Expr* object = nullptr;  // of an operator, or what is converted to a pointer to the called function
  unsigned argument = 0;
  unsigned count = 0;
  bool is_in_list = false;              // the argument is a list of values, of which one is the copy
  bool has_explicit_arguments = false;  // of a template: no parameter is deduced from the copy
};

// Returns the template of the class of an object that is made here, whose arguments may be deduced; else null.
clang::ClassTemplateDecl* template_of(const clang::Expr& object) {
  const auto* record =
      isa<clang::CXXConstructExpr, clang::InitListExpr>(object)
          ? dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(object.getType()->getAsCXXRecordDecl())
          : nullptr;
  return record == nullptr || is_of_library(*record) ? nullptr : record->getSpecializedTemplate();
}

// Returns the conversion of an object that is called as if it were a function; else null.
const clang::ImplicitCastExpr* conversion_of_callee(const clang::CallExpr& call) {
  const auto* cast = dyn_cast<clang::ImplicitCastExpr>(call.getCallee());
  while (cast != nullptr && cast->getCastKind() != clang::CK_UserDefinedConversion)
    cast = dyn_cast<clang::ImplicitCastExpr>(cast->getSubExpr());
  return cast;
}

// Returns a call or a construction that has `argument`, or the list of an aggregate's values. Others call nothing.
call_site site_of(const clang::Expr& user, const clang::Expr& argument) {
  call_site result{&user};
  llvm::ArrayRef<const clang::Expr*> arguments;
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&user)) {
    result.called = construction->getConstructor();
    arguments = {construction->getArgs(), construction->getNumArgs()};
  } else if (const auto* call = dyn_cast<clang::CallExpr>(&user)) {
    const clang::ImplicitCastExpr* conversion = conversion_of_callee(*call);
    arguments = {call->getArgs(), call->getNumArgs()};
    result.called = call->getDirectCallee();
    if (isa<clang::CXXOperatorCallExpr>(call)) result.object = call->getArg(0);
    if (conversion != nullptr) {
      result.called = dyn_cast_or_null<clang::FunctionDecl>(conversion->getConversionFunction());
      result.object = conversion->getSubExprAsWritten();
    }
    const clang::Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    const auto* member = dyn_cast<clang::MemberExpr>(callee);
    const auto* name = dyn_cast<clang::DeclRefExpr>(callee);
    result.has_explicit_arguments = (member != nullptr && member->hasExplicitTemplateArgs()) ||
                                    (name != nullptr && name->hasExplicitTemplateArgs());
  }
  const auto* position = llvm::find(arguments, &argument);
  if (position == arguments.end()) result.called = nullptr;
  result.argument = static_cast<unsigned>(position - arguments.begin());
  result.count = static_cast<unsigned>(arguments.size());
  return result;
}

// Returns the calls for which the compiler looks at the value category of the copied variable, from inside to outside:
// an argument may be converted by a constructor that takes the copy, or be a list with it.
std::vector<call_site> calls_around(clang::ASTContext& context, const clang::Expr& reference, const clang::Expr& copy) {
  if (const auto* call = dyn_cast<clang::CallExpr>(&copy)) {
    const auto argument =
        llvm::find_if(call->arguments(), [&](const auto* next) { return next->IgnoreParenImpCasts() == &reference; });
    if (argument == call->arg_end()) return {};
    return {site_of(copy, **argument)};
  }
  std::vector<call_site> result;
  bool is_in_list = false;
  // An object whose type is written beside it is the same for an rvalue.
  for (const clang::Expr* node = &copy; !isa<clang::CXXTemporaryObjectExpr>(node);) {
    const clang::DynTypedNodeList parents = context.getParents(*node);
    const auto* user = parents.empty() ? nullptr : parents[0].get<clang::Expr>();
    if (user == nullptr) break;
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(node);
    is_in_list |= isa<clang::InitListExpr>(user) || (construction != nullptr && construction->isListInitialization());
    construction = dyn_cast<clang::CXXConstructExpr>(user);
    const bool is_conversion =
        isa<clang::ImplicitCastExpr, clang::ParenExpr, clang::CXXBindTemporaryExpr, clang::MaterializeTemporaryExpr>(
            user) ||
        (construction != nullptr && construction->isElidable());
    if (!is_conversion) {
      result.push_back(site_of(*user, *node));
      result.back().is_in_list = is_in_list;
      if (!isa<clang::CXXConstructExpr, clang::InitListExpr>(user)) break;
    }
    node = user;
  }
  return result;
}

// Returns whether an object of the library may be made of a moved value alone. `may_be_made` says so of a part of it.
bool may_be_made_by_library(const clang::CXXRecordDecl& record, llvm::function_ref<bool(QualType)> may_be_made) {
  const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
  if (specialization == nullptr || record.getIdentifier() == nullptr) return false;
  const llvm::StringRef name = record.getName();
  if (llvm::is_contained<llvm::StringRef>({"optional", "variant", "pair", "tuple", "expected"}, name)) {
    return llvm::any_of(specialization->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
      const auto is_made = [&](const clang::TemplateArgument& next) {
        return next.getKind() == clang::TemplateArgument::Type && may_be_made(next.getAsType());
      };
      return argument.getKind() == clang::TemplateArgument::Pack ? llvm::any_of(argument.pack_elements(), is_made)
                                                                 : is_made(argument);
    });
  }
  // These have no constructor for a moved value of a class that can be copied, or one for a copy, too.
  return !llvm::is_contained<llvm::StringRef>(
      {"array", "basic_string", "basic_string_view", "deque", "forward_list", "function", "initializer_list", "list",
       "map", "multimap", "multiset", "set", "shared_ptr", "span", "unique_ptr", "unordered_map", "unordered_set",
       "vector"},
      name);
}

// Returns whether a constructor may make an object of a moved value alone.
bool may_be_made_of_rvalue(clang::ASTContext& context, QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return false;
  if (is_of_library(*record))
    return may_be_made_by_library(*record, [&](QualType part) { return may_be_made_of_rvalue(context, part); });
  if (!record->hasDefinition()) return false;
  const clang::DeclarationName name =
      context.DeclarationNames.getCXXConstructorName(context.getCanonicalType(QualType(record->getTypeForDecl(), 0)));
  return llvm::any_of(record->getDefinition()->lookup(name), [&](const clang::NamedDecl* next) {
    const clang::FunctionDecl* constructor = next->getUnderlyingDecl()->getAsFunction();
    if (constructor == nullptr || constructor->getNumParams() == 0 || constructor->getMinRequiredArguments() > 1)
      return false;
    // No class inherits the constructor that moves its base.
    const auto* member = dyn_cast<clang::CXXConstructorDecl>(constructor);
    if (member != nullptr && member->isMoveConstructor()) return false;
    return constructor->getParamDecl(0)->getType()->isRValueReferenceType();
  });
}

// Returns whether an object has a conversion of its own that only an rvalue has.
bool has_conversion_of_rvalue(QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->hasDefinition() &&
         llvm::any_of(record->getDefinition()->getVisibleConversionFunctions(), [](const clang::NamedDecl* next) {
           const auto* conversion = dyn_cast_or_null<clang::CXXMethodDecl>(next->getUnderlyingDecl()->getAsFunction());
           return conversion != nullptr && conversion->getRefQualifier() == clang::RQ_RValue;
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
  return target != type && (may_be_made_of_rvalue(context, target) || has_conversion_of_rvalue(type));
}

// Returns whether a function or a deduction guide could get the arguments of a call from number `first` on, and with
// them an rvalue in another way. `min_count` is the number of its parameters without a value of their own.
bool may_take_rvalue(clang::ASTContext& context, const clang::FunctionProtoType& function, unsigned min_count,
                     const call_site& site, unsigned first, QualType type) {
  if (site.argument < first) return false;
  const unsigned index = site.argument - first, count = site.count - first, parameters = function.getNumParams();
  const bool has_pack = parameters > 0 && isa<clang::PackExpansionType>(function.getParamType(parameters - 1));
  if (count < min_count || (count > parameters && !has_pack && !function.isVariadic())) return false;
  if (index >= parameters && !has_pack) return false;
  const QualType parameter = function.getParamType(std::min(index, parameters - 1));
  return site.is_in_list || (site.has_explicit_arguments && parameter->isDependentType()) ||
         prefers_rvalue(context, parameter, type);
}

// Returns a deduction guide by which the arguments of an object's class may be others for an rvalue; else null.
const clang::FunctionDecl* guide_for_rvalue(clang::ASTContext& context, const call_site& site, QualType type) {
  clang::ClassTemplateDecl* pattern = template_of(*site.call);
  if (pattern == nullptr) return nullptr;
  const clang::DeclarationName name = context.DeclarationNames.getCXXDeductionGuideName(pattern);
  for (const clang::NamedDecl* next : pattern->getDeclContext()->getRedeclContext()->lookup(name)) {
    const clang::FunctionDecl* guide = next->getUnderlyingDecl()->getAsFunction();
    if (guide != nullptr && llvm::any_of(guide->parameters(), [&](const clang::ParmVarDecl* parameter) {
          return prefers_rvalue(context, parameter->getType(), type);
        })) {
      return guide;
    }
  }
  return nullptr;
}

// Returns the class in which the compiler looks for a function of the name that a call has; else null.
const clang::CXXRecordDecl* class_of_name(const call_site& site) {
  if (site.object != nullptr) return site.object->IgnoreImplicitAsWritten()->getType()->getAsCXXRecordDecl();
  if (isa<clang::CXXConstructExpr>(site.call)) return bare_type(site.call->getType())->getAsCXXRecordDecl();
  const clang::Expr* callee = clang::cast<clang::CallExpr>(site.call)->getCallee()->IgnoreParenImpCasts();
  const clang::NamedDecl* declaration = site.called;
  if (const auto* member = dyn_cast<clang::MemberExpr>(callee)) declaration = member->getFoundDecl().getDecl();
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(callee)) declaration = reference->getFoundDecl();
  return dyn_cast<clang::CXXRecordDecl>(declaration->getDeclContext());
}

// Returns the name by which the compiler looks for the function of a call.
clang::DeclarationName name_of_call(clang::ASTContext& context, const call_site& site) {
  if (isa<clang::CXXConversionDecl>(site.called)) return context.DeclarationNames.getCXXOperatorName(clang::OO_Call);
  if (isa<clang::CXXConstructorDecl>(site.called)) {
    return context.DeclarationNames.getCXXConstructorName(
        context.getCanonicalType(bare_type(site.call->getType())).getUnqualifiedType());
  }
  return site.called->getDeclName();
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

// Returns whether a function is the called one, or means the same for a moved value.
bool is_meant(const call_site& site, const clang::FunctionDecl& function, QualType type) {
  const clang::FunctionDecl& called = *site.called;
  const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&called);
  const clang::FunctionDecl* inherited =
      constructor == nullptr ? nullptr : constructor->getInheritedConstructor().getConstructor();
  const clang::FunctionTemplateDecl* pattern = called.getPrimaryTemplate();
  const clang::FunctionTemplateDecl* other_pattern = function.getDescribedFunctionTemplate();
  if (function.getCanonicalDecl() == called.getCanonicalDecl() || &function == inherited ||
      (pattern != nullptr && other_pattern != nullptr &&
       pattern->getCanonicalDecl() == other_pattern->getCanonicalDecl()) ||
      (is_of_library(called) && is_of_library(function))) {
    return true;
  }
  const auto* copy = dyn_cast<clang::CXXMethodDecl>(&called);
  const auto* move = dyn_cast<clang::CXXMethodDecl>(&function);
  return copy != nullptr && copy->isCopyAssignmentOperator() && move != nullptr && move->isMoveAssignmentOperator() &&
         bare_type(move->getParamDecl(0)->getType()) == type;
}

// Returns the type of the function to which a conversion gives a pointer or a reference; else null.
const clang::FunctionProtoType* function_of_conversion(const clang::CXXConversionDecl& conversion) {
  const QualType target = conversion.getConversionType().getNonReferenceType();
  return (target->isPointerType() ? target->getPointeeType() : target)->getAs<clang::FunctionProtoType>();
}

// Returns another function that a call may choose for an rvalue; else null.
const clang::FunctionDecl* other_function(clang::ASTContext& context, const call_site& site, QualType type) {
  const bool is_operator = isa<clang::CXXOperatorCallExpr>(site.call);
  const clang::FunctionDecl* result = nullptr;
  const auto is_candidate = [&](const clang::NamedDecl* declaration) {
    const clang::FunctionDecl* function = declaration->getUnderlyingDecl()->getAsFunction();
    if (function == nullptr || is_meant(site, *function, type)) return false;
    const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
    const bool has_object = is_operator && method != nullptr && method->isInstance();
    if ((has_object && site.argument == 0 && method->getRefQualifier() == clang::RQ_RValue) ||
        may_take_rvalue(context, *function->getType()->castAs<clang::FunctionProtoType>(),
                        function->getMinRequiredArguments(), site, has_object ? 1 : 0, type)) {
      result = function;
    }
    return result != nullptr;
  };
  const clang::DeclarationName name = name_of_call(context, site);
  const clang::CXXRecordDecl* record = class_of_name(site);
  if (any_member(record, name, is_candidate)) return result;
  if (is_operator || !isa<clang::CXXMethodDecl>(site.called))
    any_free_function(*context.getTranslationUnitDecl(), name, is_candidate);
  if (result != nullptr || record == nullptr || !record->hasDefinition() ||
      name.getCXXOverloadedOperator() != clang::OO_Call) {
    return result;
  }
  // An object may be called by its conversion to a pointer to a function. That of a lambda calls its operator.
  for (const clang::NamedDecl* next : record->getDefinition()->getVisibleConversionFunctions()) {
    const auto* conversion = dyn_cast<clang::CXXConversionDecl>(next->getUnderlyingDecl());
    if (conversion == nullptr || conversion == site.called || conversion->getParent()->isLambda()) continue;
    const clang::FunctionProtoType* function = function_of_conversion(*conversion);
    if (function != nullptr &&
        may_take_rvalue(context, *function, function->getNumParams(), site, is_operator ? 1 : 0, type)) {
      return conversion;
    }
  }
  return nullptr;
}

}  // namespace

const clang::FunctionDecl* overload_for_rvalue(clang::ASTContext& context, const clang::DeclRefExpr& reference,
                                               const clang::Expr& copy) {
  const QualType type = bare_type(reference.getType());
  for (const call_site& site : calls_around(context, reference, copy)) {
    const clang::FunctionDecl* result = guide_for_rvalue(context, site, type);
    if (result == nullptr && site.called != nullptr) result = other_function(context, site, type);
    if (result != nullptr) return result;
  }
  return nullptr;
}

}  // namespace tarn::tidy
