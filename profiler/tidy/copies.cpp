#include "profiler/tidy/copies.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <llvm/ADT/STLExtras.h>

#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/parts.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

constexpr llvm::StringRef containers[] = {"vector",
                                          "basic_string",
                                          "deque",
                                          "list",
                                          "map",
                                          "multimap",
                                          "set",
                                          "multiset",
                                          "unordered_map",
                                          "unordered_set",
                                          "unordered_multimap",
                                          "unordered_multiset"};
constexpr llvm::StringRef combinations[] = {"pair", "tuple", "optional"};

bool is_std_record(clang::QualType type, llvm::ArrayRef<llvm::StringRef> names) {
  return type->getAsCXXRecordDecl() != nullptr && is_std_class(type, names);
}

template <class Predicate>
bool all_arguments(clang::QualType type, Predicate predicate) {
  const auto* record = dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  if (record == nullptr) return false;
  return llvm::all_of(record->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
    if (argument.getKind() == clang::TemplateArgument::Type) return predicate(argument.getAsType());
    return argument.getKind() == clang::TemplateArgument::Pack &&
           llvm::all_of(argument.pack_elements(), [&](const clang::TemplateArgument& part) {
             return part.getKind() == clang::TemplateArgument::Type && predicate(part.getAsType());
           });
  });
}

// Returns whether a move of such a part does nothing but a copy does, or takes over its memory.
bool is_movable_part(clang::QualType type) {
  if (type->isReferenceType()) return true;
  if (const auto* array = type->getAsArrayTypeUnsafe()) return is_movable_part(array->getElementType());
  if (has_movable_memory(type.getUnqualifiedType())) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return type->isScalarType();
  return record->hasDefinition() && record->hasTrivialCopyConstructor() && record->hasTrivialMoveConstructor() &&
         record->hasTrivialDestructor() && !record->hasNonTrivialCopyAssignment();
}

// Returns whether a container of the library makes its elements without code of the program beside theirs; that in an
// adaptor such as std::stack is one of the library, too.
bool is_library_container(clang::QualType type) {
  const auto* record = dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  if (record == nullptr) return false;
  if (!is_std_record(type, {"stack", "queue", "priority_queue"})) return has_library_allocator(type);
  const clang::QualType inner = record->getTemplateArgs()[1].getAsType();
  return is_std_record(inner, {"vector", "deque", "list"}) && has_library_allocator(inner);
}

// Returns whether a container of the library makes an element of `type` of its argument.
bool takes_element(const clang::CXXMemberCallExpr& call, unsigned argument, clang::QualType type) {
  const clang::CXXMethodDecl* function = call.getMethodDecl();
  if (function == nullptr || !is_std_function(*function)) return false;
  const clang::QualType container = call.getObjectType();
  if (!is_library_container(container)) return false;
  const llvm::StringRef name = name_of(function);
  const auto is_type = [&](clang::QualType next) {
    return !next.isNull() && next.getCanonicalType().getUnqualifiedType() == type;
  };
  if (is_std_record(container, {"map", "multimap", "unordered_map", "unordered_multimap"})) {
    const auto* record = clang::cast<clang::ClassTemplateSpecializationDecl>(container->getAsCXXRecordDecl());
    return name == "emplace" && call.getNumArgs() == 2 && is_type(record->getTemplateArgs()[argument].getAsType());
  }
  if (!is_std_record(container, {"vector", "deque", "list", "forward_list", "set", "multiset", "unordered_set",
                                 "unordered_multiset", "stack", "queue", "priority_queue"}) ||
      !is_type(element_of(container))) {
    return false;
  }
  if (is_one_of(name, {"push_back", "push_front", "push", "emplace_back", "emplace_front"}))
    return call.getNumArgs() == 1;
  // insert(position, count, value) has no form for a moved value.
  return is_one_of(name, {"insert", "emplace"}) && argument + 1 == call.getNumArgs() && call.getNumArgs() <= 2;
}

// Returns whether a std::pair of two values makes its part of `type` of an argument.
bool takes_part(const clang::CXXConstructExpr& construction, const clang::Expr& argument, clang::QualType type) {
  const clang::QualType pair = construction.getType();
  if (!is_std_record(pair, {"pair"}) || construction.getNumArgs() != 2) return false;
  const auto* record = clang::cast<clang::ClassTemplateSpecializationDecl>(pair->getAsCXXRecordDecl());
  const unsigned index = construction.getArg(0) == &argument ? 0 : 1;
  return construction.getArg(index) == &argument &&
         record->getTemplateArgs()[index].getAsType().getCanonicalType() == type;
}

// Returns the constructor of a part of an aggregate that a list of values makes of a variable, and sets `node` to its
// argument; else null. A list has its values as they are written, and as the compiler converts them.
const clang::Stmt* user_in_list(clang::ASTContext& context, const clang::Expr& reference, const clang::Stmt*& node) {
  for (const clang::DynTypedNode& parent : context.getParents(reference)) {
    const auto* user = parent.get<clang::Expr>();
    node = &reference;
    if (user != nullptr && isa<clang::ImplicitCastExpr>(user)) {
      node = user;
      user = dyn_cast_or_null<clang::Expr>(user_of(context, node));
    }
    if (user != nullptr && isa<clang::CXXConstructExpr>(user)) return user;
  }
  return nullptr;
}

bool owns_all_parts(clang::QualType type, class_set& visited) {
  type = bare_type(type);
  if (is_value(type) || is_stream(type)) return true;
  if (const auto* array = type->getAsArrayTypeUnsafe()) return owns_all_parts(array->getElementType(), visited);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return false;
  if (!visited.insert(record).second) return true;
  if (record->isInStdNamespace()) {
    const bool has_parts = (is_std_record(type, containers) && has_own_allocator(type)) ||
                           is_std_record(type, combinations) || is_std_record(type, {"array"});
    return record->isEmpty() ||
           (has_parts && all_arguments(type, [&](clang::QualType part) { return owns_all_parts(part, visited); }));
  }
  return !record->isPolymorphic() &&
         llvm::all_of(record->bases(), [&](const auto& base) { return owns_all_parts(base.getType(), visited); }) &&
         llvm::all_of(record->fields(), [&](const auto* field) {
           return !field->getType()->isReferenceType() && owns_all_parts(field->getType(), visited);
         });
}

}  // namespace

bool has_movable_memory(clang::QualType type) {
  type = type.getCanonicalType();
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || type.hasQualifiers() || !record->hasDefinition()) return false;
  record = record->getDefinition();
  if (is_std_record(type, containers)) return has_own_allocator(type);
  if (is_std_record(type, combinations)) {
    bool has_memory = false;
    return all_arguments(type,
                         [&](clang::QualType part) {
                           has_memory |= has_movable_memory(part);
                           return is_movable_part(part);
                         }) &&
           has_memory;
  }
  if (record->isInStdNamespace() || record->isUnion() || record->isLambda() || record->isPolymorphic() ||
      record->getNumVBases() != 0 || record->hasUserDeclaredCopyConstructor() ||
      record->hasUserDeclaredCopyAssignment() || record->hasUserDeclaredMoveConstructor() ||
      record->hasUserDeclaredMoveAssignment() || record->hasUserDeclaredDestructor()) {
    return false;
  }
  bool has_memory = false;
  const auto is_part = [&](clang::QualType part) {
    has_memory |= has_movable_memory(part);
    return is_movable_part(part);
  };
  return llvm::all_of(record->bases(), [&](const auto& base) { return is_part(base.getType()); }) &&
         llvm::all_of(record->fields(), [&](const auto* field) { return is_part(field->getType()); }) && has_memory;
}

bool is_value(clang::QualType type) {
  type = type.getCanonicalType();
  if (type->isVoidType() || (type->isScalarType() && !type->isAnyPointerType() && !type->isMemberPointerType()))
    return true;
  return is_std_record(type, containers) && has_own_allocator(type) && all_arguments(type, [](clang::QualType part) {
           const clang::CXXRecordDecl* record = part->getAsCXXRecordDecl();
           return (record != nullptr && record->isInStdNamespace() && record->isEmpty()) || is_value(part);
         });
}

bool may_refer(clang::QualType type, clang::QualType argument, unsigned depth) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (depth > 8 || type->isReferenceType()) return true;
  if (is_value(type) || (bare_type(argument) == type && has_movable_memory(type))) return false;
  if (const auto* array = type->getAsArrayTypeUnsafe()) return may_refer(array->getElementType(), argument, depth + 1);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  const bool is_pointer = bare_type(argument)->isPointerType() || bare_type(argument)->isArrayType();
  if (record == nullptr) return type->isPointerType() && is_pointer;
  if (!record->hasDefinition()) return true;
  if (record->isInStdNamespace()) {
    if (record->isEmpty()) return false;
    if (is_std_record(type, {"unique_ptr", "shared_ptr", "weak_ptr"})) return is_pointer;
    if (!is_std_record(type, containers) && !is_std_record(type, combinations) &&
        !is_std_record(type, {"array", "variant", "forward_list", "stack", "queue", "priority_queue"})) {
      return true;
    }
    return !all_arguments(type, [&](clang::QualType part) { return !may_refer(part, argument, depth + 1); });
  }
  return llvm::any_of(record->bases(),
                      [&](const auto& base) { return may_refer(base.getType(), argument, depth + 1); }) ||
         llvm::any_of(record->fields(),
                      [&](const auto* field) { return may_refer(field->getType(), argument, depth + 1); });
}

bool owns_all(clang::QualType type) {
  class_set visited;
  return owns_all_parts(type, visited);
}

bool may_refer_to_itself(clang::QualType type) {
  // The memory of a list of pointers to objects has no such object.
  const bool is_list = is_std_record(type, {"vector", "deque", "list"});
  const clang::QualType pointee = is_list ? element_of(type)->getPointeeType() : clang::QualType();
  return !owns_all(type) && (pointee.isNull() || !pointee->isRecordType());
}

const clang::Expr* copy_of(clang::ASTContext& context, const clang::DeclRefExpr& reference) {
  const clang::Stmt* node = &reference;
  const clang::Stmt* user = user_of(context, node);
  if (user != nullptr && isa<clang::InitListExpr>(user)) user = user_in_list(context, reference, node);
  const clang::QualType type = reference.getType().getCanonicalType().getUnqualifiedType();
  const auto* argument = dyn_cast<clang::Expr>(node);
  if (user == nullptr || argument == nullptr || argument->getType().getCanonicalType().getUnqualifiedType() != type) {
    return nullptr;
  }
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(user)) {
    const bool is_copy = construction->getConstructor()->isCopyConstructor() && construction->getNumArgs() >= 1 &&
                         construction->getArg(0) == argument;
    return is_copy || takes_part(*construction, *argument, type) ? construction : nullptr;
  }
  if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(user)) {
    const auto* function = dyn_cast_or_null<clang::CXXMethodDecl>(operation->getDirectCallee());
    const bool is_copy = operation->getOperator() == clang::OO_Equal && operation->getNumArgs() == 2 &&
                         operation->getArg(1) == argument && function != nullptr &&
                         function->isCopyAssignmentOperator();
    return is_copy ? operation : nullptr;
  }
  const auto* call = dyn_cast<clang::CallExpr>(user);
  if (call == nullptr) return nullptr;
  for (unsigned index = 0; index < call->getNumArgs(); ++index) {
    if (call->getArg(index) != argument) continue;
    if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call))
      return takes_element(*member, index, type) ? call : nullptr;
    const clang::FunctionDecl* function = call->getDirectCallee();
    // The types of the parameters may be written out.
    const auto* callee = dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
    return function != nullptr && is_std_function(*function) && callee != nullptr &&
                   !callee->hasExplicitTemplateArgs() && is_one_of(name_of(function), {"make_pair", "make_tuple"})
               ? call
               : nullptr;
  }
  return nullptr;
}

}  // namespace tarn::tidy
