#include "profiler/tidy/copies.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/library_calls.hpp"
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

// Returns whether a value of this type refers to no other object that it does not own.
bool is_value(clang::QualType type) {
  type = type.getCanonicalType();
  if (type->isVoidType() || (type->isScalarType() && !type->isAnyPointerType() && !type->isMemberPointerType()))
    return true;
  return is_std_record(type, containers) && has_own_allocator(type) && all_arguments(type, [](clang::QualType part) {
           const clang::CXXRecordDecl* record = part->getAsCXXRecordDecl();
           return (record != nullptr && record->isInStdNamespace() && record->isEmpty()) || is_value(part);
         });
}

// Returns whether an object of `type` may be made of an argument so that it refers to it, or whether a part of it may.
bool may_refer(clang::QualType type, clang::QualType argument, unsigned depth = 0) {
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

// Returns whether a container of the library makes an element of `type` of its argument.
bool takes_element(const clang::CXXMemberCallExpr& call, unsigned argument, clang::QualType type) {
  const clang::CXXMethodDecl* function = call.getMethodDecl();
  if (function == nullptr || !is_std_function(*function)) return false;
  const clang::QualType container = call.getObjectType();
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

// Returns what the uses of the elements leave behind in a loop over them; `variable` is the range or a declaration.
trace trace_of_declaration(clang::ASTContext& context, const clang::VarDecl& variable) {
  if (is_value(variable.getType())) return trace::nothing;
  const clang::DynTypedNodeList statements = context.getParents(variable);
  const auto* statement = statements.empty() ? nullptr : statements[0].get<clang::DeclStmt>();
  const clang::DynTypedNodeList loops = statement == nullptr
                                            ? clang::DynTypedNodeList(llvm::ArrayRef<clang::DynTypedNode>())
                                            : context.getParents(*statement);
  const auto* loop = loops.empty() ? nullptr : loops[0].get<clang::CXXForRangeStmt>();
  if (loop == nullptr || loop->getRangeStmt() != statement) return trace::reference;
  const clang::VarDecl& element = *loop->getLoopVariable();
  if (is_value(element.getType())) return trace::nothing;
  if (!element.getType()->isReferenceType()) return trace::reference;
  trace result = trace::nothing;
  for (const variable_use& use : uses_of(context, element, *loop->getBody()))
    result = use.is_in_lambda ? trace::reference : std::max(result, trace_of(context, *use.reference));
  return result;
}

// Returns whether a function of the library may keep what it gets: a pointer, iterator or view of the object.
bool may_keep(const clang::CallExpr& call, const clang::FunctionDecl& function, const clang::Expr& argument) {
  if (name_of(&function).startswith("regex_")) return true;  // the matches are iterators
  if (!isa<clang::CXXMethodDecl>(function)) return false;
  const auto* member = dyn_cast<clang::CXXMemberCallExpr>(&call);
  const clang::Expr* object = member == nullptr ? call.getArg(0) : member->getImplicitObjectArgument();
  if (object == &argument || (member != nullptr && member->getCallee() == &argument)) return false;
  clang::QualType type = object->getType().getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  return !is_stream(type) && may_refer(type, argument.getType());
}

bool has_lambda(const clang::CallExpr& call) {
  return llvm::any_of(call.arguments(), [](const clang::Expr* argument) {
    return isa<clang::LambdaExpr>(const_cast<clang::Expr*>(argument)->IgnoreUnlessSpelledInSource());
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

bool owns_all(clang::QualType type, unsigned depth) {
  type = bare_type(type);
  if (depth > 8) return false;
  if (is_value(type) || is_stream(type)) return true;
  if (const auto* array = type->getAsArrayTypeUnsafe()) return owns_all(array->getElementType(), depth + 1);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return false;
  if (record->isInStdNamespace()) {
    const bool has_parts = (is_std_record(type, containers) && has_own_allocator(type)) ||
                           is_std_record(type, combinations) || is_std_record(type, {"array"});
    return record->isEmpty() ||
           (has_parts && all_arguments(type, [&](clang::QualType part) { return owns_all(part, depth + 1); }));
  }
  return !record->isPolymorphic() &&
         llvm::all_of(record->bases(), [&](const auto& base) { return owns_all(base.getType(), depth + 1); }) &&
         llvm::all_of(record->fields(), [&](const auto* field) {
           return !field->getType()->isReferenceType() && owns_all(field->getType(), depth + 1);
         });
}

const clang::Expr* copy_of(clang::ASTContext& context, const clang::DeclRefExpr& reference) {
  const clang::Stmt* node = &reference;
  const clang::Stmt* user = user_of(context, node);
  const clang::QualType type = reference.getType().getCanonicalType().getUnqualifiedType();
  const auto* argument = dyn_cast<clang::Expr>(node);
  if (user == nullptr || argument == nullptr || argument->getType().getCanonicalType().getUnqualifiedType() != type) {
    return nullptr;
  }
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(user)) {
    const bool is_copy = construction->getConstructor()->isCopyConstructor() && construction->getNumArgs() >= 1 &&
                         construction->getArg(0) == argument;
    return is_copy ? construction : nullptr;
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
    return function != nullptr && is_std_function(*function) &&
                   is_one_of(name_of(function), {"make_pair", "make_tuple"})
               ? call
               : nullptr;
  }
  return nullptr;
}

trace trace_of(clang::ASTContext& context, const clang::Expr& reference) {
  trace result = trace::nothing;
  const clang::Stmt* node = &reference;
  for (const clang::Stmt* user = user_of(context, node); user != nullptr; user = user_of(context, node)) {
    // The value of a number or of a container of its own is what is used from here on.
    const auto* expression = dyn_cast<clang::Expr>(node);
    if (node != &reference && expression != nullptr && expression->isPRValue() && is_value(expression->getType()))
      return result;
    if (isa<clang::LambdaExpr, clang::InitListExpr, clang::CXXNewExpr>(user)) return trace::reference;
    if (const auto* address = dyn_cast<clang::UnaryOperator>(user);
        address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
      // A function that gets the address may keep it, as one that gets a reference may.
      const clang::Stmt* pointer = address;
      const clang::Stmt* taker = user_of(context, pointer);
      if (taker == nullptr || !isa<clang::CallExpr>(taker)) return trace::reference;
      node = user;
      continue;
    }
    if (const auto* member = dyn_cast<clang::MemberExpr>(user)) {
      // A function of the object itself, or a part of it.
      const clang::Stmt* callee = member;
      const clang::Stmt* call = user_of(context, callee);
      const auto* member_call = dyn_cast_or_null<clang::CXXMemberCallExpr>(call);
      node = member_call != nullptr && member_call->getCallee() == callee ? call : user;
      continue;
    }
    if (const auto* operation = dyn_cast<clang::BinaryOperator>(user);
        operation != nullptr && operation->isAssignmentOp()) {
      if (operation->getRHS() == node && !is_value(operation->getLHS()->getType())) return trace::reference;
      return result;
    }
    if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(user)) {
      // A copy of it, or a text or list that is made of it.
      if (!construction->getConstructor()->isCopyOrMoveConstructor() && !is_value(construction->getType()))
        return trace::reference;
      if (construction->getConstructor()->isCopyOrMoveConstructor() && !is_value(construction->getType()) &&
          !has_movable_memory(construction->getType())) {
        return trace::reference;
      }
      return result;
    }
    if (const auto* call = dyn_cast<clang::CallExpr>(user)) {
      const clang::FunctionDecl* function = call->getDirectCallee();
      const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(call);
      if (operation != nullptr && operation->getOperator() == clang::OO_Equal && operation->getArg(1) == node) {
        const clang::QualType target = operation->getArg(0)->getType();
        return is_value(target.getCanonicalType().getUnqualifiedType()) ||
                       (has_movable_memory(target) && expression != nullptr &&
                        bare_type(expression->getType()) == bare_type(target))
                   ? result
                   : trace::reference;
      }
      if (function == nullptr || !is_std_function(*function)) {
        result = trace::argument;
      } else if (expression != nullptr && may_keep(*call, *function, *expression)) {
        return trace::reference;
      } else if (has_lambda(*call) || may_run_program(context, *call)) {
        result = trace::argument;
      }
      node = user;
      continue;
    }
    if (!isa<clang::Expr>(user)) return result;
    node = user;
  }
  const clang::DynTypedNodeList parents = context.getParents(*node);
  if (parents.empty()) return trace::reference;
  const auto* variable = parents[0].get<clang::VarDecl>();
  const auto* expression = dyn_cast<clang::Expr>(node);
  if (variable != nullptr) return std::max(result, trace_of_declaration(context, *variable));
  // It gives a member its value.
  const bool is_initial_value = expression != nullptr && expression->isPRValue() && is_value(expression->getType());
  return is_initial_value ? result : trace::reference;
}

}  // namespace tarn::tidy
