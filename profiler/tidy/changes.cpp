#include "profiler/tidy/changes.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "profiler/tidy/copies.hpp"
#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/parts.hpp"
#include "profiler/tidy/references.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using clang::isa_and_nonnull;
using clang::QualType;

constexpr llvm::StringRef sequences[] = {"vector", "basic_string", "deque", "array"};
constexpr unsigned max_depth = 4;  // of calls

const clang::Stmt* parent_statement(clang::ASTContext& context, const clang::Stmt& statement) {
  const clang::DynTypedNodeList parents = context.getParents(statement);
  return parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
}

// Returns the loop over a range that a variable belongs to: its element, or its range.
const clang::CXXForRangeStmt* loop_of(clang::ASTContext& context, const clang::VarDecl& variable) {
  const clang::DynTypedNodeList statements = context.getParents(variable);
  const auto* statement = statements.empty() ? nullptr : statements[0].get<clang::DeclStmt>();
  const auto* loop =
      statement == nullptr ? nullptr : dyn_cast_or_null<clang::CXXForRangeStmt>(parent_statement(context, *statement));
  const bool is_part = loop != nullptr && (loop->getRangeStmt() == statement || loop->getLoopVarStmt() == statement);
  return is_part ? loop : nullptr;
}

// Returns the overload of a function of the library for a constant, or null.
const clang::CXXMethodDecl* constant_form(const clang::CXXMethodDecl& function) {
  for (const clang::NamedDecl* next : function.getParent()->lookup(function.getDeclName())) {
    const auto* method = dyn_cast<clang::CXXMethodDecl>(next);
    if (method == nullptr || !method->isConst() || method->getNumParams() != function.getNumParams()) continue;
    const auto has_type = [](const clang::ParmVarDecl* first, const clang::ParmVarDecl* second) {
      return first->getType().getCanonicalType() == second->getType().getCanonicalType();
    };
    if (std::equal(method->param_begin(), method->param_end(), function.param_begin(), has_type)) return method;
  }
  return nullptr;
}

// Returns whether the result of a library's function, which is of another type for a constant, only reads.
bool only_reads_result(clang::ASTContext& context, const clang::CallExpr& call, const clang::CXXMethodDecl& function) {
  if (!is_of_library(function)) return false;
  const clang::CXXMethodDecl* constant = constant_form(function);
  if (constant == nullptr) return false;
  if (is_std_class(QualType(function.getParent()->getTypeForDecl(), 0), sequences) && call.isLValue() &&
      constant->getReturnType()->isLValueReferenceType()) {
    return only_reads(context, call);
  }
  // An iterator becomes a constant one at once, or is compared with one.
  const QualType constant_type = bare_type(constant->getReturnType());
  const clang::Stmt* node = &call;
  for (const clang::Stmt* user = parent_statement(context, *node); user != nullptr;
       user = parent_statement(context, *node)) {
    const auto* expression = dyn_cast<clang::Expr>(user);
    if (expression == nullptr) return false;
    if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(user)) {
      if (operation->getNumArgs() != 2 ||
          (operation->getOperator() != clang::OO_EqualEqual && operation->getOperator() != clang::OO_ExclaimEqual))
        return false;
      return llvm::all_of(operation->arguments(), [&](const clang::Expr* argument) {
        return argument == node || bare_type(argument->getType()) == constant_type;
      });
    }
    if (bare_type(expression->getType()) == constant_type) return true;
    if (!isa<clang::ImplicitCastExpr, clang::MaterializeTemporaryExpr, clang::CXXConstructExpr>(user)) return false;
    node = user;
  }
  return false;
}

// Returns the variable of a function of which an expression names a part, or null.
const clang::VarDecl* variable_of(const clang::Expr& expression) {
  const clang::Expr* inner = expression.IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(inner)) {
    const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
    return variable != nullptr && variable->hasLocalStorage() && !variable->getType()->isReferenceType() &&
                   !reference->refersToEnclosingVariableOrCapture()
               ? variable
               : nullptr;
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(inner))
    return member->isArrow() || member->getMemberDecl()->getType()->isReferenceType() ? nullptr
                                                                                      : variable_of(*member->getBase());
  if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(inner))
    return subscript->getBase()->IgnoreParenImpCasts()->getType()->isArrayType() ? variable_of(*subscript->getBase())
                                                                                 : nullptr;
  // An element, or an iterator of a container of the library.
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(inner)) {
    const clang::CXXMethodDecl* function = call->getMethodDecl();
    return function != nullptr && is_std_class(call->getObjectType(), part_owners) &&
                   !call->getImplicitObjectArgument()->getType()->isPointerType()
               ? variable_of(*call->getImplicitObjectArgument())
               : nullptr;
  }
  if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(inner)) {
    return operation->getOperator() == clang::OO_Subscript && is_std_class(operation->getArg(0)->getType(), part_owners)
               ? variable_of(*operation->getArg(0))
               : nullptr;
  }
  return nullptr;
}

// Returns whether nothing refers to a variable, or to its memory, but its name; a use in `left_out` does not count.
bool is_private(clang::ASTContext& context, const clang::VarDecl& variable, const clang::FunctionDecl& function,
                clang::SourceRange left_out = {}) {
  if (function.getBody() == nullptr || may_store_itself(context, variable.getType())) return false;
  std::vector<variable_use> uses = uses_of(context, variable, *function.getBody());
  return llvm::all_of(uses, [&](const variable_use& use) {
    if (left_out.isValid() && is_within(context, use.reference->getSourceRange(), left_out)) return true;
    return !use.is_in_lambda && trace_of(context, *use.reference) == trace::nothing;
  });
}

// Returns whether an argument gives the object that is made of it no elements to which other code may refer.
bool is_copied(const clang::Expr* argument) {
  return argument->IgnoreParenImpCasts()->isLValue() || is_std_class(argument->getType(), {"initializer_list"}) ||
         !has_elements(argument->getType());
}

// Returns whether a value is an object of a class that is made here of copies.
bool is_made_of_copies(const clang::Expr& value) {
  const auto* construction = dyn_cast<clang::CXXConstructExpr>(value.IgnoreImplicit());
  return construction != nullptr && llvm::all_of(construction->arguments(), is_copied);
}

// Returns whether all elements of a variable are made by the function, so that nothing else knows them.
bool is_filled_by(clang::ASTContext& context, const clang::VarDecl& variable, const clang::FunctionDecl& function) {
  if (isa<clang::ParmVarDecl>(variable) || variable.getDeclContext() != &function ||
      (variable.getInit() != nullptr && !is_made_of_copies(*variable.getInit()))) {
    return false;
  }
  return llvm::all_of(uses_of(context, variable, *function.getBody()), [&](const variable_use& use) {
    if (only_reads(context, *use.reference)) return true;
    const clang::Stmt* node = use.reference;
    const auto* operation = dyn_cast_or_null<clang::CXXOperatorCallExpr>(user_of(context, node));
    if (operation != nullptr && operation->getOperator() == clang::OO_Subscript)
      return operation->getArg(0) == node && is_std_class(variable.getType(), part_owners) &&
             !has_elements(operation->getType());
    const clang::CXXMemberCallExpr* call = member_call_on(context, *use.reference);
    const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
    if (method == nullptr || !is_of_library(*method)) return false;
    const llvm::StringRef name = name_of(method);
    if (is_one_of(name, {"front", "back", "at"})) return !has_elements(call->getType());
    if (is_one_of(name, {"begin", "end"}))
      return is_std_class(variable.getType(), sequences) && !has_elements(element_of(variable.getType()));
    return is_one_of(name, {"push_back", "emplace_back", "push_front", "emplace_front", "insert", "emplace", "append",
                            "clear", "reserve", "resize", "pop_back", "size", "empty"}) &&
           llvm::all_of(call->arguments(), is_copied);
  });
}

// Looks for code that may change an object.
class change_finder {
 public:
  change_finder(clang::ASTContext& context, QualType type, llvm::ArrayRef<const clang::VarDecl*> variables)
      : context_(context), type_(type), variables_(variables) {}

  std::optional<obstacle> find(const clang::Stmt& code, const clang::FunctionDecl& function, unsigned depth) {
    std::optional<obstacle> problem;
    walk(code, [&](const clang::Stmt& part, bool) {
      if (change_by(part, function, depth))
        problem = {"this may change or end the original: " + reason_, part.getBeginLoc()};
      return !problem;
    });
    return problem;
  }

 private:
  bool is_change(const std::string& reason) {
    reason_ = reason;
    return true;
  }

  bool change_by(const clang::Stmt& part, const clang::FunctionDecl& function, unsigned depth) {
    if (const auto* operation = dyn_cast<clang::BinaryOperator>(&part))
      return operation->isAssignmentOp() && is_written(*operation->getLHS(), function) && is_change("an assignment");
    if (const auto* operation = dyn_cast<clang::UnaryOperator>(&part)) {
      return operation->isIncrementDecrementOp() && is_written(*operation->getSubExpr(), function) &&
             is_change("an assignment");
    }
    if (lets_threads_run(part)) return is_change("another thread");
    if (const auto* cast = dyn_cast<clang::ExplicitCastExpr>(&part))
      return cast->isXValue() && is_written(*cast->getSubExpr(), function) && is_change("a move");
    // Code that the compiler adds.
    for (const clang::Expr* added : added_expressions(part)) {
      if (find(*added, function, depth)) return true;
    }
    if (const auto* list = dyn_cast<clang::InitListExpr>(&part)) {
      const clang::InitListExpr* whole = list->isSemanticForm() ? list : list->getSemanticForm();
      return whole != nullptr &&
             (llvm::any_of(whole->inits(),
                           [&](const clang::Expr* value) { return find(*value, function, depth).has_value(); }) ||
              (whole->hasArrayFiller() && find(*whole->getArrayFiller(), function, depth)));
    }
    if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(&part)) {
      return llvm::any_of(std::initializer_list<const clang::Stmt*>{loop->getBeginStmt(), loop->getEndStmt(),
                                                                    loop->getCond(), loop->getInc()},
                          [&](const clang::Stmt* step) { return step != nullptr && find(*step, function, depth); });
    }
    if (isa<clang::CXXDeleteExpr>(part)) return is_change("the end of an object");
    if (const auto* creation = dyn_cast<clang::CXXNewExpr>(&part)) {
      return (creation->getNumPlacementArgs() != 0 ||
              isa_and_nonnull<clang::CXXMethodDecl>(creation->getOperatorNew())) &&
             is_change("an object in memory that the code chooses");
    }
    if (const auto* temporary = dyn_cast<clang::CXXBindTemporaryExpr>(&part))
      return !has_quiet_end(temporary->getType()) && !is_stream(temporary->getType()) && is_change("a destructor");
    if (const auto* declarations = dyn_cast<clang::DeclStmt>(&part)) {
      return llvm::any_of(declarations->decls(), [&](const clang::Decl* next) {
        const auto* local = dyn_cast<clang::VarDecl>(next);
        if (has_get_functions(*next)) return is_change("a call of 'get'");
        if (local == nullptr || local->getType()->isReferenceType() || has_quiet_end(local->getType())) return false;
        const clang::CXXRecordDecl* record = local->getType()->getAsCXXRecordDecl();
        return (record == nullptr || !is_stream(local->getType())) && is_change("a destructor");
      });
    }
    if (const auto* inherited = dyn_cast<clang::CXXInheritedCtorInitExpr>(&part))
      return is_called_function_a_change(*inherited->getConstructor(), depth);
    if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&part)) {
      const clang::CXXConstructorDecl* constructor = construction->getConstructor();
      if (is_of_library(*constructor)) {
        return may_run_program(context_, *construction) &&
               is_change("a constructor of '" + constructor->getParent()->getNameAsString() + "'");
      }
      return !constructor->isTrivial() && !is_plain(context_, construction->getType()) &&
             is_called_function_a_change(*constructor, depth);
    }
    const auto* call = dyn_cast<clang::CallExpr>(&part);
    if (call == nullptr) return false;
    const clang::FunctionDecl* called = call->getDirectCallee();
    if (called == nullptr) return is_change("a call of an unknown function");
    const auto* method = dyn_cast<clang::CXXMethodDecl>(called);
    if (isa<clang::CXXDestructorDecl>(called)) return is_change("the end of an object");
    if (is_of_library(*called) || called->getBuiltinID() != 0 || (method != nullptr && !method->isUserProvided()))
      return is_change_by_library(*call, *called, function);
    if (method != nullptr && method->isVirtual() && !method->hasAttr<clang::FinalAttr>())
      return is_change("a call of a virtual function");
    return is_called_function_a_change(*called, depth);
  }

  bool is_called_function_a_change(const clang::FunctionDecl& called, unsigned depth) {
    const std::string name = "a call of '" + called.getNameAsString() + "'";
    const clang::FunctionDecl* definition = nullptr;
    if (depth >= max_depth || !called.isDefined(definition) || definition->getBody() == nullptr ||
        definition->isDependentContext() || definition->isConsteval()) {
      return is_change(name);
    }
    if (has_unusual_entry(*definition, *definition->getBody())) return is_change(name);
    if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(definition)) {
      for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
        if (find(*initializer->getInit(), *definition, depth + 1)) return is_change(name);
      }
    }
    return find(*definition->getBody(), *definition, depth + 1) && is_change(name);
  }

  // A function of the library changes what it gets as a variable.
  bool is_change_by_library(const clang::CallExpr& call, const clang::FunctionDecl& called,
                            const clang::FunctionDecl& function) {
    const std::string name = "a call of '" + called.getNameAsString() + "'";
    if (may_run_program(context_, call)) return is_change(name);
    const auto* member = dyn_cast<clang::CXXMemberCallExpr>(&call);
    if (member != nullptr && !member->getMethodDecl()->isConst() && !only_gives_access(*member->getMethodDecl())) {
      const clang::Expr& object = *member->getImplicitObjectArgument();
      const bool is_pointer = object.getType()->isPointerType();
      if (is_pointer ? is_written_behind(object, function) : is_written(object, function)) return is_change(name);
    }
    if (is_one_of(name_of(&called), {"move", "forward"}) && call.getNumArgs() == 1)
      return is_written(*call.getArg(0), function) && is_change(name);
    const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(&call);
    const unsigned first_argument = operation != nullptr && isa<clang::CXXMethodDecl>(called) ? 1 : 0;
    if (first_argument == 1) {
      const auto* method = clang::cast<clang::CXXMethodDecl>(&called);
      const bool is_access =
          operation->getOperator() == clang::OO_Subscript && is_std_class(operation->getArg(0)->getType(), sequences);
      // A step of an iterator changes the iterator alone.
      const bool is_of_iterator = !is_std_class(operation->getArg(0)->getType(), part_owners);
      if (!method->isConst() && !is_access && !(is_of_iterator && !operation->isAssignmentOp()) &&
          is_written(*operation->getArg(0), function)) {
        return is_change("an operator");
      }
    }
    for (unsigned index = first_argument; index < call.getNumArgs(); ++index) {
      const unsigned parameter = index - first_argument;
      const clang::Expr& argument = *call.getArg(index);
      if (parameter >= called.getNumParams()) {
        if (!gives_write_access(argument.getType())) continue;
        // printf only reads the texts that it gets.
        const bool is_read = llvm::StringRef(called.getNameAsString()).contains("printf") &&
                             is_of_bytes(bare_type(argument.getType()->getPointeeType()));
        if (!is_read && is_written_behind(argument, function)) return is_change(name);
        continue;
      }
      const QualType type = called.getParamDecl(parameter)->getType();
      if (gives_write_access(type) && !type->isRValueReferenceType() &&
          (type->isPointerType() ? is_written_behind(argument, function) : is_written(argument, function))) {
        return is_change(name);
      }
      // It may write where an iterator points to.
      const clang::VarDecl* variable = variable_of(*call.getArg(index));
      const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
      if (record == nullptr || !is_of_library(*record) || is_std_class(type, part_owners) ||
          isa<clang::CXXMethodDecl>(called)) {
        continue;
      }
      const bool is_of_own_object = variable != nullptr && is_std_class(variable->getType(), part_owners) &&
                                    !llvm::is_contained(variables_, variable) && is_own(*variable, function);
      if (!is_of_own_object) return is_change(name);
    }
    return false;
  }

  // Functions that return a reference, a pointer or an iterator, by which something else may change the object.
  static bool only_gives_access(const clang::CXXMethodDecl& function) {
    return is_one_of(name_of(&function), {"begin", "end", "rbegin", "rend", "at", "front", "back", "data", "find",
                                          "lower_bound", "upper_bound"});
  }

  static bool gives_write_access(QualType type) {
    const QualType target = type->getPointeeType();
    return (type->isReferenceType() || type->isPointerType()) && !target.isConstQualified();
  }

  // Returns whether nothing else refers to a variable, or to an object in its memory that may be the one looked for.
  bool is_own(const clang::VarDecl& variable, const clang::FunctionDecl& function) {
    return is_private(context_, variable, function) &&
           (!may_hold(variable.getType(), type_) || is_filled_by(context_, variable, function));
  }

  // Returns whether a write to what `target` names may be one to the object.
  bool is_written(const clang::Expr& target, const clang::FunctionDecl& function) {
    const clang::VarDecl* variable = variable_of(target);
    if (variable != nullptr) {
      if (llvm::is_contained(variables_, variable)) return true;
      const bool has_numbers = context_.getBaseElementType(variable->getType())->isScalarType();
      if (has_numbers || is_own(*variable, function)) return false;
    }
    const clang::Expr* inner = target.IgnoreParenImpCasts();
    // A letter of a text is no part of anything else.
    const clang::Expr* text = nullptr;
    if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(inner)) text = call->getImplicitObjectArgument();
    if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(inner);
        operation != nullptr && operation->getOperator() == clang::OO_Subscript) {
      text = operation->getArg(0);
    }
    if (text != nullptr && target.getType()->isCharType() && is_std_class(text->getType(), {"basic_string"})) {
      const QualType type = text->getType();
      return may_change(type->isPointerType() ? type->getPointeeType() : type, type_);
    }
    return may_change(target.getType(), type_);
  }

  // Returns whether a write to what `pointer` points to may be one to the object.
  bool is_written_behind(const clang::Expr& pointer, const clang::FunctionDecl& function) {
    const clang::Expr* inner = pointer.IgnoreParenCasts();
    if (const auto* address = dyn_cast<clang::UnaryOperator>(inner);
        address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
      return is_written(*address->getSubExpr(), function);
    }
    if (inner->getType()->isArrayType()) return is_written(*inner, function);
    const auto* call = dyn_cast<clang::CXXMemberCallExpr>(inner);
    const clang::Expr* container = call == nullptr ? nullptr : call->getImplicitObjectArgument();
    if (container != nullptr && name_of(call->getMethodDecl()) == "data" && !container->getType()->isPointerType() &&
        is_std_class(container->getType(), sequences)) {
      return is_written(*container, function);
    }
    if (!inner->getType()->isPointerType()) return !inner->getType()->isNullPtrType();
    return may_change(inner->getType()->getPointeeType(), type_);
  }

  clang::ASTContext& context_;
  QualType type_;
  llvm::ArrayRef<const clang::VarDecl*> variables_;
  std::string reason_;
};

bool is_copied_plainly(QualType type, class_set& visited) {
  type = bare_type(type);
  if (const auto* array = type->getAsArrayTypeUnsafe()) return is_copied_plainly(array->getElementType(), visited);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return type->isScalarType();
  if (!record->hasDefinition()) return false;
  if (!visited.insert(record).second) return true;
  if (is_std_class(type, part_owners)) {
    if (!is_std_class(type, {"pair", "tuple", "optional", "array"}) && !has_own_allocator(type)) return false;
    const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
    const auto is_plain = [&](const clang::TemplateArgument& argument) {
      if (argument.getKind() != clang::TemplateArgument::Type) return true;
      const QualType part = argument.getAsType();
      const clang::CXXRecordDecl* part_class = part->getAsCXXRecordDecl();
      return (part_class != nullptr && part_class->isInStdNamespace() && part_class->isEmpty()) ||
             is_copied_plainly(part, visited);
    };
    return specialization != nullptr &&
           llvm::all_of(specialization->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
             return argument.getKind() == clang::TemplateArgument::Pack
                        ? llvm::all_of(argument.pack_elements(), is_plain)
                        : is_plain(argument);
           });
  }
  if (record->isInStdNamespace() || record->isUnion() || record->isLambda() || record->isPolymorphic() ||
      record->getNumVBases() != 0) {
    return record->hasTrivialCopyConstructor() && record->hasTrivialDestructor();
  }
  const auto is_written_out = [](const clang::CXXMethodDecl* method) {
    const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(method);
    if (constructor != nullptr && constructor->isCopyConstructor())
      return constructor->isUserProvided() || constructor->isDeleted();
    return method->isCopyAssignmentOperator() && method->isUserProvided();
  };
  if (llvm::any_of(record->methods(), is_written_out)) return false;
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  if (destructor != nullptr && destructor->isUserProvided()) {
    const auto* body = dyn_cast_or_null<clang::CompoundStmt>(destructor->getBody());
    if (body == nullptr || !body->body_empty()) return false;
  }
  return llvm::all_of(record->bases(), [&](const auto& base) { return is_copied_plainly(base.getType(), visited); }) &&
         llvm::all_of(record->fields(), [&](const auto* field) {
           return !field->isMutable() &&
                  (field->getType()->isReferenceType() || is_copied_plainly(field->getType(), visited));
         });
}

}  // namespace

bool lets_threads_run(const clang::Stmt& part) {
  if (isa<clang::AtomicExpr, clang::AsmStmt>(part)) return true;
  if (const auto* call = dyn_cast<clang::CallExpr>(&part)) {
    const clang::FunctionDecl* called = call->getDirectCallee();
    const llvm::StringRef name = name_of(called);
    if (name.startswith("__sync_") || name.startswith("__atomic_") || name.startswith("atomic_")) return true;
  }
  const auto* expression = dyn_cast<clang::Expr>(&part);
  if (expression == nullptr) return false;
  const clang::CXXRecordDecl* record = bare_type(expression->getType())->getAsCXXRecordDecl();
  return record != nullptr && is_of_library(*record) && record->getIdentifier() != nullptr &&
         is_one_of(record->getName(), {"mutex",
                                       "recursive_mutex",
                                       "shared_mutex",
                                       "timed_mutex",
                                       "recursive_timed_mutex",
                                       "shared_timed_mutex",
                                       "lock_guard",
                                       "unique_lock",
                                       "shared_lock",
                                       "scoped_lock",
                                       "condition_variable",
                                       "condition_variable_any",
                                       "thread",
                                       "jthread",
                                       "future",
                                       "shared_future",
                                       "promise",
                                       "atomic",
                                       "__atomic_base",
                                       "atomic_flag",
                                       "atomic_ref",
                                       "once_flag",
                                       "barrier",
                                       "latch",
                                       "counting_semaphore"});
}

bool has_plain_copy(QualType type) {
  class_set visited;
  return is_copied_plainly(type, visited);
}

bool only_reads(clang::ASTContext& context, const clang::Expr& reference) {
  const bool is_constant = reference.getType().isConstQualified();
  const clang::Stmt* node = &reference;
  const clang::Stmt* user = parent_statement(context, *node);
  while (user != nullptr && isa<clang::ParenExpr>(user)) {
    node = user;
    user = parent_statement(context, *node);
  }
  if (user == nullptr) {
    // The range of a loop, or the initial value of a reference.
    const clang::DynTypedNodeList parents = context.getParents(*node);
    const auto* variable = parents.empty() ? nullptr : parents[0].get<clang::VarDecl>();
    if (is_constant || variable == nullptr) return variable != nullptr;
    const clang::CXXForRangeStmt* loop = loop_of(context, *variable);
    if (loop == nullptr || loop->getLoopVariable() == variable) return false;
    const QualType element = loop->getLoopVariable()->getType();
    return !element->isReferenceType() || element.getNonReferenceType().isConstQualified();
  }
  if (is_constant) return isa<clang::Expr>(user) && !isa<clang::ExplicitCastExpr>(user);
  if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(user)) {
    if (cast->getCastKind() == clang::CK_LValueToRValue) return true;
    return cast->getCastKind() == clang::CK_NoOp && cast->getType().isConstQualified() && cast->isLValue();
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(user)) {
    if (member->getBase() != node || member->isArrow()) return false;
    if (isa<clang::FieldDecl>(member->getMemberDecl())) return only_reads(context, *member);
    const auto* call = dyn_cast_or_null<clang::CXXMemberCallExpr>(parent_statement(context, *member));
    return call != nullptr && call->getCallee() == member && call->getMethodDecl() != nullptr &&
           only_reads_result(context, *call, *call->getMethodDecl());
  }
  const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(user);
  const auto* function =
      operation == nullptr ? nullptr : dyn_cast_or_null<clang::CXXMethodDecl>(operation->getDirectCallee());
  return function != nullptr && operation->getArg(0) == node && operation->getOperator() == clang::OO_Subscript &&
         only_reads_result(context, *operation, *function);
}

origin origin_of(clang::ASTContext& context, const clang::Expr& expression, const clang::FunctionDecl& function,
                 const clang::VarDecl& copy) {
  // A loop keeps the container that a function returns.
  const clang::Expr* value = &expression;
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(value)) value = cleanups->getSubExpr();
  if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(value)) value = temporary->getSubExpr();
  if (value->isPRValue() && is_std_class(value->getType(), part_owners) && has_own_allocator(value->getType()) &&
      loop_of(context, copy) != nullptr) {
    const bool is_known = !is_made_of_copies(*value) || may_store_itself(context, value->getType());
    return {is_known ? owner_kind::elsewhere : owner_kind::local, {}};
  }
  origin result;
  bool is_named = true;
  walk(expression, [&](const clang::Stmt& part, bool is_in_lambda) {
    if (is_in_lambda) is_named = false;
    if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(&part)) {
      // An iterator, or the key of a container: the element does not refer to it.
      const clang::Stmt* temporary_node = temporary;
      const auto* call = dyn_cast_or_null<clang::CallExpr>(user_of(context, temporary_node));
      const auto* method = call == nullptr ? nullptr : dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
      const bool is_object = isa_and_nonnull<clang::CXXOperatorCallExpr>(call) && call->getArg(0) == temporary_node;
      is_named &= method != nullptr && is_of_library(*method) &&
                  (is_object ? is_container_iterator(*method->getParent())
                             : is_std_class(QualType(method->getParent()->getTypeForDecl(), 0), part_owners));
    }
    if (isa<clang::LambdaExpr, clang::CXXNewExpr, clang::ConditionalOperator, clang::BinaryOperator,
            clang::CXXConstCastExpr, clang::CXXReinterpretCastExpr, clang::CStyleCastExpr>(part)) {
      is_named = false;
    }
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part)) {
      const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
      if (variable != nullptr && variable->hasLocalStorage()) result.variables.push_back(variable);
      if (isa<clang::BindingDecl>(reference->getDecl())) is_named = false;
    }
    return true;
  });
  if (!is_named || !expression.isLValue()) return {};
  // A reference leads to what it was made of.
  for (std::size_t index = 0; index < result.variables.size() && index < 20; ++index) {
    const clang::VarDecl* variable = result.variables[index];
    if (!variable->getType()->isReferenceType() || isa<clang::ParmVarDecl>(variable)) continue;
    const clang::Expr* first_value = variable->getInit();
    const clang::CXXForRangeStmt* loop = loop_of(context, *variable);
    if (loop != nullptr && loop->getLoopVariable() == variable) first_value = loop->getRangeInit();
    if (first_value == nullptr) return {};
    origin inner = origin_of(context, *first_value, function, copy);
    result.variables.insert(result.variables.end(), inner.variables.begin(), inner.variables.end());
  }
  result.kind = owner_kind::elsewhere;
  const clang::VarDecl* variable = variable_of(expression);
  // The range of a loop may be a view of something else.
  const bool is_own =
      bare_type(expression.getType()) == bare_type(copy.getType()) || is_std_class(expression.getType(), part_owners);
  if (variable != nullptr && is_own && variable->getDeclContext() == &function &&
      is_private(context, *variable, function, copy.getSourceRange()) &&
      (!has_elements(variable->getType()) || is_filled_by(context, *variable, function))) {
    result.kind = owner_kind::local;
  }
  return result;
}

std::optional<obstacle> change_in(clang::ASTContext& context, llvm::ArrayRef<const clang::Stmt*> code, QualType type,
                                  llvm::ArrayRef<const clang::VarDecl*> variables,
                                  const clang::FunctionDecl& function) {
  change_finder finder(context, type, variables);
  for (const clang::Stmt* part : code) {
    if (std::optional<obstacle> problem = finder.find(*part, function, 0)) return problem;
  }
  return std::nullopt;
}

}  // namespace tarn::tidy
