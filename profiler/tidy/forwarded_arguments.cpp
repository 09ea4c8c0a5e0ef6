#include "profiler/tidy/forwarded_arguments.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <string>
#include <vector>

#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;
using record_set = llvm::SmallPtrSet<const clang::CXXRecordDecl*, 8>;

constexpr llvm::StringRef views[] = {"basic_string_view", "span", "reference_wrapper",
                                     "function",          "any",  "initializer_list"};
constexpr llvm::StringRef heap_containers[] = {"vector",     "deque",    "list", "forward_list", "unique_ptr",
                                               "shared_ptr", "weak_ptr", "set",  "multiset"};

// Returns the type arguments of an instance of a template.
std::vector<clang::QualType> type_arguments(const clang::CXXRecordDecl& record) {
  std::vector<clang::QualType> result;
  const auto* instance = dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
  if (instance == nullptr) return result;
  const auto add = [&](const clang::TemplateArgument& argument) {
    if (argument.getKind() == clang::TemplateArgument::Type) result.push_back(argument.getAsType());
  };
  for (const clang::TemplateArgument& argument : instance->getTemplateArgs().asArray()) {
    add(argument);
    if (argument.getKind() != clang::TemplateArgument::Pack) continue;
    for (const clang::TemplateArgument& part : argument.pack_elements()) add(part);
  }
  return result;
}

// Returns whether an object can hold the address of another one.
bool may_refer(clang::QualType type, record_set& visited);

bool may_refer(const clang::CXXRecordDecl& record, record_set& visited) {
  if (!record.hasDefinition()) return true;
  if (!visited.insert(record.getCanonicalDecl()).second) return false;
  if (record.isInStdNamespace()) {
    const llvm::StringRef name = record.getIdentifier() == nullptr ? llvm::StringRef() : record.getName();
    if (is_one_of(name, views) || name.endswith("iterator")) return true;
    return llvm::any_of(type_arguments(record), [&](clang::QualType type) { return may_refer(type, visited); });
  }
  return llvm::any_of(record.getDefinition()->fields(),
                      [&](const clang::FieldDecl* field) { return may_refer(field->getType(), visited); }) ||
         llvm::any_of(record.getDefinition()->bases(),
                      [&](const clang::CXXBaseSpecifier& base) { return may_refer(base.getType(), visited); });
}

bool may_refer(clang::QualType type, record_set& visited) {
  while (const clang::ArrayType* array = type->getAsArrayTypeUnsafe()) type = array->getElementType();
  if (type->isReferenceType() || type->isAnyPointerType()) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && may_refer(*record, visited);
}

// Returns whether nothing of the program sees one more move of a value, and the end of the source.
bool has_silent_move(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return true;
  if (!record->hasDefinition()) return false;
  if (record->isInStdNamespace()) {
    if (record->isTriviallyCopyable() || is_std_class(type, {"allocator"})) return true;
    const bool is_heap_container = record->getIdentifier() != nullptr && is_one_of(record->getName(), heap_containers);
    const std::vector<clang::QualType> types = type_arguments(*record);
    return llvm::all_of(llvm::ArrayRef(types).drop_front(is_heap_container ? 1 : 0), has_silent_move);
  }
  const bool has_public_constructors = llvm::none_of(record->ctors(), [](const clang::CXXConstructorDecl* constructor) {
    return constructor->isCopyOrMoveConstructor() &&
           (constructor->isDeleted() || constructor->getAccess() != clang::AS_public);
  });
  const bool is_constructible = record->hasMoveConstructor() ? !record->defaultedMoveConstructorIsDeleted()
                                                             : record->hasCopyConstructorWithConstParam();
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  return record->isTriviallyCopyable() && record->hasTrivialDestructor() && has_public_constructors &&
         is_constructible && (destructor == nullptr || destructor->getAccess() == clang::AS_public);
}

// Returns whether an expression asks in which line it stands, an argument that is left out included.
bool asks_for_line(const clang::Stmt& expression) {
  if (isa<clang::SourceLocExpr>(expression)) return true;
  if (const auto* omitted = dyn_cast<clang::CXXDefaultArgExpr>(&expression)) return asks_for_line(*omitted->getExpr());
  return llvm::any_of(expression.children(),
                      [](const clang::Stmt* child) { return child != nullptr && asks_for_line(*child); });
}

bool makes_temporary(const clang::Stmt& expression) {
  return isa<clang::MaterializeTemporaryExpr>(expression) ||
         llvm::any_of(expression.children(),
                      [](const clang::Stmt* child) { return child != nullptr && makes_temporary(*child); });
}

bool has_packed_part(const clang::Expr& expression) {
  const clang::Expr* part = expression.IgnoreParenImpCasts();
  if (const auto* member = dyn_cast<clang::MemberExpr>(part)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field != nullptr && (field->hasAttr<clang::PackedAttr>() || field->getParent()->hasAttr<clang::PackedAttr>() ||
                             field->getParent()->hasAttr<clang::MaxFieldAlignmentAttr>())) {
      return true;
    }
    return !member->isArrow() && has_packed_part(*member->getBase());
  }
  const auto* element = dyn_cast<clang::ArraySubscriptExpr>(part);
  return element != nullptr && has_packed_part(*element->getBase());
}

// Returns why a reference cannot be made to what an expression names; empty if it can.
std::string naming_objection(const clang::Expr& expression) {
  const clang::Expr* named = expression.IgnoreParenImpCasts();
  if (const auto* choice = dyn_cast<clang::AbstractConditionalOperator>(named)) {
    const std::string first = naming_objection(*choice->getTrueExpr());
    return first.empty() ? naming_objection(*choice->getFalseExpr()) : first;
  }
  if (const auto* operation = dyn_cast<clang::BinaryOperator>(named); operation != nullptr && operation->isCommaOp()) {
    return naming_objection(*operation->getRHS());
  }
  if (const auto* address = dyn_cast<clang::UnaryOperator>(named);
      address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
    named = address->getSubExpr()->IgnoreParenImpCasts();
  }
  if (isa<clang::OverloadExpr>(named)) return "is overloaded";
  const clang::ValueDecl* declaration = nullptr;
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(named)) {
    if (reference->hadMultipleCandidates()) return "is overloaded";
    declaration = reference->getDecl();
  } else if (const auto* member = dyn_cast<clang::MemberExpr>(named)) {
    declaration = member->getMemberDecl();
  }
  const auto* function = dyn_cast_or_null<clang::FunctionDecl>(declaration);
  if (function != nullptr && function->getPrimaryTemplate() != nullptr) return "is a function of a template";
  const auto* variable = dyn_cast_or_null<clang::VarDecl>(declaration);
  if (variable != nullptr && variable->isStaticDataMember() && !variable->isInline() &&
      variable->getDefinition() == nullptr) {
    return "is a constant without a definition";
  }
  return "";
}

// Returns why an argument, as it is written, is not the same behind a reference; empty if it is.
std::string spelling_objection(clang::ASTContext& context, const clang::Expr& argument, const clang::Expr& spelled) {
  if (isa<clang::InitListExpr, clang::CXXStdInitializerListExpr>(spelled) ||
      llvm::StringRef(text_at(context, argument.getSourceRange())).startswith("{")) {
    return "has no type of its own";
  }
  if (spelled.getObjectKind() == clang::OK_BitField) return "is a bit-field";
  if (spelled.getObjectKind() != clang::OK_Ordinary) return "is a part of a vector";
  if (has_packed_part(spelled)) return "is a packed member";
  if (spelled.getType()->isVariablyModifiedType() || spelled.getType()->isIncompleteArrayType()) {
    return "has a length that is no constant";
  }
  return naming_objection(spelled);
}

// The steps of the compiler from an argument to the parameter.
struct conversion {
  const clang::Expr* spelled = nullptr;
  const clang::CXXConstructorDecl* constructor = nullptr;  // of the parameter, if it is of a class
  bool is_by_function = false;                             // of a class, or by its constructor
  bool makes_temporary = false;                            // for a reference
  std::string objection;
};

conversion conversion_of(const clang::Expr& argument, bool is_reference) {
  conversion result;
  result.spelled = argument.IgnoreUnlessSpelledInSource();
  const clang::Expr* expression = &argument;
  const clang::Expr* last = nullptr;
  bool has_changed = false;  // since the temporary was made, as seen from outside
  while (expression != result.spelled && expression != last) {
    last = expression;
    if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(expression)) {
      const clang::CastKind kind = cast->getCastKind();
      if (kind == clang::CK_NullToPointer && !cast->getSubExpr()->getType()->isNullPtrType()) {
        result.objection = "is a null pointer only as a literal";
      }
      const bool is_hidden = llvm::any_of(cast->path(), [](const clang::CXXBaseSpecifier* base) {
        return base->getAccessSpecifier() != clang::AS_public;
      });
      if (is_hidden) result.objection = "is converted to a private base";
      if (kind == clang::CK_UserDefinedConversion) result.is_by_function = true;
      has_changed = has_changed || (result.makes_temporary && kind != clang::CK_NoOp);
      expression = cast->getSubExpr();
    } else if (const auto* full = dyn_cast<clang::FullExpr>(expression)) {
      expression = full->getSubExpr();
    } else if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(expression)) {
      result.makes_temporary = result.makes_temporary || is_reference;
      expression = temporary->getSubExpr();
    } else if (const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(expression)) {
      expression = bound->getSubExpr();
    } else if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(expression)) {
      if (result.constructor == nullptr) result.constructor = construction->getConstructor();
      has_changed = has_changed || result.makes_temporary;
      if (construction->getConstructor()->isConsteval()) result.objection = "is computed by the compiler";
      if (construction->getNumArgs() == 0) break;
      if (!construction->getConstructor()->isCopyOrMoveConstructor()) result.is_by_function = true;
      expression = construction->getArg(0);
    } else if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(expression)) {  // of a conversion function
      const clang::CXXMethodDecl* function = call->getMethodDecl();
      if (function == nullptr || !is_std_function(*function)) result.objection = "is converted by a function";
      result.is_by_function = true;
      expression = call->getImplicitObjectArgument();
    } else {
      expression = expression->IgnoreParens();
    }
  }
  // A temporary of the type that is written lives as long as before.
  result.makes_temporary = result.makes_temporary && (has_changed || result.spelled->isGLValue());
  return result;
}

// Returns whether no code of the program runs at the end of a parameter. A copy of a variable leaves its object to it.
bool has_silent_end(clang::QualType type, bool is_copy) {
  if (has_quiet_end(type) || is_std_class(type, {"weak_ptr"})) return true;
  if (is_std_class(type, {"shared_ptr"})) return is_copy;
  if (!is_std_class(type, {"unique_ptr"})) return false;
  const clang::CXXRecordDecl* owner = type->getAsCXXRecordDecl();
  const clang::CXXRecordDecl* object = element_of(type)->getAsCXXRecordDecl();
  return has_quiet_end(element_of(type)) && is_std_class(type_arguments(*owner).back(), {"default_delete"}) &&
         (object == nullptr || !object->isPolymorphic());
}

// Judges an argument for a parameter of this type; null for one behind an ellipsis.
forwarding forwarding_to(clang::ASTContext& context, clang::QualType parameter, const clang::Expr& argument,
                         bool has_references) {
  const auto refuse = [&](const std::string& text) {
    return forwarding{certainty::no_edit, {"an argument " + text, argument.getBeginLoc()}};
  };
  const bool is_reference = !parameter.isNull() && parameter->isReferenceType();
  const clang::QualType type = parameter.isNull() ? parameter : parameter.getNonReferenceType();
  const clang::CXXRecordDecl* record = parameter.isNull() ? nullptr : type->getAsCXXRecordDecl();
  // A parameter by value, and a temporary for a reference, last until the end of the whole expression behind `new`.
  const auto judge_end = [&](bool is_copy) {
    const bool may_be_referred = is_reference || (record != nullptr && !record->hasTrivialDestructor());
    const bool is_sure = !(has_references && may_be_referred) && has_silent_end(type, is_copy);
    return is_sure
               ? forwarding()
               : forwarding{certainty::review, {"an argument would end before its expression", argument.getBeginLoc()}};
  };
  if (const auto* omitted = dyn_cast<clang::CXXDefaultArgExpr>(&argument)) {
    if (asks_for_line(*omitted->getExpr())) return refuse("that is left out says where it stands");
    const bool is_object = is_reference ? makes_temporary(*omitted->getExpr()) : record != nullptr;
    return is_object ? judge_end(false) : forwarding();
  }
  const conversion way = conversion_of(argument, is_reference);
  if (!way.objection.empty()) return refuse(way.objection);
  const std::string objection = spelling_objection(context, argument, *way.spelled);
  if (!objection.empty()) return refuse(objection);
  const clang::QualType spelled_type = way.spelled->getType();
  if (parameter.isNull()) {
    return spelled_type->isRecordType() ? refuse("of a class has no parameter") : forwarding();
  }
  if (way.is_by_function && record != nullptr && !record->isInStdNamespace())
    return refuse("is converted by a function");
  if (is_reference) return way.makes_temporary ? judge_end(false) : forwarding();
  if (record == nullptr) return {};
  if (way.constructor != nullptr && way.constructor->getAccess() != clang::AS_public &&
      way.constructor->getAccess() != clang::AS_none) {
    return refuse("is converted by a private function");
  }
  if (way.spelled->isPRValue() && !way.is_by_function && !has_silent_move(spelled_type))
    return refuse("would be moved once more");
  return judge_end(way.spelled->isLValue() && !way.is_by_function);
}

}  // namespace

forwarding forwarding_of(clang::ASTContext& context, const clang::CXXNewExpr& creation) {
  record_set visited;
  const bool has_references = may_refer(creation.getAllocatedType(), visited);
  forwarding result;
  const auto add = [&](clang::QualType parameter, const clang::Expr& argument) {
    const forwarding next = forwarding_to(context, parameter, argument, has_references);
    if (next.level < result.level) result = next;
  };
  if (const clang::CXXConstructExpr* construction = creation.getConstructExpr()) {
    const clang::CXXConstructorDecl& constructor = *construction->getConstructor();
    for (unsigned i = 0; i < construction->getNumArgs(); ++i) {
      const bool has_parameter = i < constructor.getNumParams();
      add(has_parameter ? constructor.getParamDecl(i)->getType() : clang::QualType(), *construction->getArg(i));
    }
  } else if (const clang::Expr* initializer = creation.getInitializer()) {
    const auto* list = dyn_cast<clang::ParenListExpr>(initializer);
    if (list == nullptr) {
      if (!isa<clang::ImplicitValueInitExpr>(initializer)) add(creation.getAllocatedType(), *initializer);
    } else {
      for (unsigned i = 0; i < list->getNumExprs(); ++i) add(creation.getAllocatedType(), *list->getExpr(i));
    }
  }
  return result;
}

}  // namespace tarn::tidy
