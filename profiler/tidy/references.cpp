#include "profiler/tidy/references.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <optional>

#include "profiler/tidy/copies.hpp"
#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/parts.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

constexpr unsigned max_calls = 4;  // within one another

// Functions of the C library that only read what they get, or write characters to it, and keep no pointer to it but
// that which they return.
constexpr llvm::StringRef c_functions[] = {
    "printf",  "fprintf",  "sprintf",     "snprintf", "dprintf",  "vprintf",  "vfprintf", "vsprintf",  "vsnprintf",
    "wprintf", "fwprintf", "swprintf",    "puts",     "fputs",    "fputws",   "fwrite",   "strlen",    "strnlen",
    "strcmp",  "strncmp",  "strcasecmp",  "strcoll",  "strspn",   "strcspn",  "strchr",   "strrchr",   "strstr",
    "strpbrk", "strcpy",   "strncpy",     "strcat",   "strncat",  "stpcpy",   "strdup",   "strndup",   "strxfrm",
    "memchr",  "memcmp",   "strncasecmp", "wcslen",   "wcscmp",   "wcsncmp",  "wcschr",   "wcsrchr",   "wcsstr",
    "atoi",    "atol",     "atoll",       "atof",     "strftime", "strerror", "isatty",   "strcasestr"};

// Functions of the library outside of classes that write to nothing that they get, or only what they find there.
constexpr llvm::StringRef readers[] = {
    "find",      "find_if",    "find_if_not", "find_first_of",  "find_end",    "adjacent_find",
    "search",    "count",      "count_if",    "equal",          "mismatch",    "lexicographical_compare",
    "all_of",    "any_of",     "none_of",     "lower_bound",    "upper_bound", "equal_range",
    "includes",  "accumulate", "distance",    "binary_search",  "min_element", "max_element",
    "is_sorted", "make_pair",  "make_tuple",  "minmax_element", "to_string",   "format",
    "vformat",   "print",      "println",     "remove",         "erase",       "contains"};

constexpr clang::OverloadedOperatorKind reading_operators[] = {
    clang::OO_EqualEqual,   clang::OO_ExclaimEqual, clang::OO_Less, clang::OO_LessEqual, clang::OO_Greater,
    clang::OO_GreaterEqual, clang::OO_Spaceship,    clang::OO_Plus, clang::OO_Minus};

trace trace_of_use(clang::ASTContext& context, const clang::Expr& reference, unsigned depth);

// Returns what the uses of the elements leave behind in a loop over them; `variable` is the range or a declaration.
trace trace_of_declaration(clang::ASTContext& context, const clang::VarDecl& variable, unsigned depth) {
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
  const auto add_uses = [&](const clang::ValueDecl& name) {
    for (const variable_use& use : uses_of(context, name, *loop->getBody()))
      result = use.is_in_lambda ? trace::reference : std::max(result, trace_of_use(context, *use.reference, depth));
  };
  add_uses(element);
  if (const auto* parts = dyn_cast<clang::DecompositionDecl>(&element)) {
    for (const clang::BindingDecl* part : parts->bindings()) add_uses(*part);
  }
  return result;
}

// Returns whether a type is an iterator class of the library.
bool is_iterator(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && is_of_library(*record) && record->getIdentifier() != nullptr &&
         record->getName().contains("iterator");
}

// Returns whether what a value leads to, such as an iterator or a pointer, may refer to `argument` once it is written.
bool may_refer_behind(clang::QualType type, clang::QualType argument) {
  type = bare_type(type);
  if (type->isPointerType())
    return !type->getPointeeType().isConstQualified() && may_refer(type->getPointeeType(), argument);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || record->isLambda()) return false;
  if (!is_of_library(*record)) return !owns_all(type);
  const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (specialization == nullptr || specialization->getTemplateArgs().size() == 0 ||
      specialization->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type ||
      (record->getIdentifier() != nullptr && record->getName().contains("const_iterator"))) {
    return false;
  }
  const clang::QualType target = specialization->getTemplateArgs()[0].getAsType();
  return target->isPointerType() || is_iterator(target) ? may_refer_behind(target, argument)
                                                        : may_refer(target, argument);
}

// Returns whether a function of the library may keep what it gets: a pointer, iterator or view of the object.
bool may_keep(const clang::CallExpr& call, const clang::FunctionDecl& function, const clang::Expr& argument) {
  if (name_of(&function).startswith("regex_")) return true;  // the matches are iterators
  if (const std::optional<llvm::StringRef> name = free_function_name(call)) {
    const bool is_reader =
        is_one_of(*name, readers) || llvm::is_contained(reading_operators, function.getOverloadedOperator());
    return !is_reader && llvm::any_of(call.arguments(), [&](const clang::Expr* target) {
      const clang::QualType type = target->getType();
      if (target == &argument || is_stream(type)) return false;
      const bool is_variable = target->isLValue() && !type.isConstQualified();
      return (is_variable && may_refer(type, argument.getType())) || may_refer_behind(type, argument.getType());
    });
  }
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

bool is_of_c_library(clang::ASTContext& context, const clang::FunctionDecl& function) {
  return function.isExternC() && context.getSourceManager().isInSystemHeader(function.getLocation()) &&
         is_one_of(name_of(&function), c_functions);
}

// Returns whether a function may store a reference to its object, or to what an argument gives it.
bool may_store(clang::ASTContext& context, const clang::FunctionDecl& function, std::optional<unsigned> argument,
               unsigned depth) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  const clang::FunctionDecl* definition = nullptr;
  if (method != nullptr && method->isVirtual() && !method->hasAttr<clang::FinalAttr>()) return true;
  // The compiler writes calls of the functions of its parts, which has_storing_part reads.
  if (method != nullptr && !method->isUserProvided() && !argument &&
      (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator() ||
       isa<clang::CXXDestructorDecl>(method))) {
    return false;
  }
  if (depth >= max_calls || !function.isDefined(definition) || definition->getBody() == nullptr ||
      definition->isDependentContext() || definition->hasAttr<clang::WeakAttr>() ||
      (argument && *argument >= definition->getNumParams()) || has_unusual_entry(*definition, *definition->getBody())) {
    return true;
  }
  const auto is_stored_in = [&](const clang::Stmt& code) {
    bool is_stored = false;
    walk(code, [&](const clang::Stmt& part, bool is_in_lambda) {
      const auto* reference = dyn_cast<clang::DeclRefExpr>(&part);
      const bool is_named = argument
                                ? reference != nullptr && reference->getDecl() == definition->getParamDecl(*argument)
                                : isa<clang::CXXThisExpr>(part);
      is_stored = is_named &&
                  (is_in_lambda || trace_of_use(context, clang::cast<clang::Expr>(part), depth + 1) != trace::nothing);
      return !is_stored;
    });
    return is_stored;
  };
  const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(definition);
  return (constructor != nullptr && llvm::any_of(constructor->inits(),
                                                 [&](const clang::CXXCtorInitializer* initializer) {
                                                   return is_stored_in(*initializer->getInit());
                                                 })) ||
         is_stored_in(*definition->getBody());
}

// Returns whether a function of the program may store a reference to what `node`, a part of its call, names.
bool may_be_stored(clang::ASTContext& context, const clang::CallExpr& call, const clang::Stmt& node, unsigned depth) {
  const clang::FunctionDecl* function = call.getDirectCallee();
  if (function == nullptr) return true;
  if (is_of_c_library(context, *function)) return false;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  const bool has_object = isa<clang::CXXOperatorCallExpr>(call) && method != nullptr && method->isInstance();
  for (unsigned index = 0; index < call.getNumArgs(); ++index) {
    if (call.getArg(index) != &node) continue;
    if (has_object && index == 0) return may_store(context, *function, std::nullopt, depth);
    return may_store(context, *function, has_object ? index - 1 : index, depth);
  }
  return true;
}

trace trace_of_use(clang::ASTContext& context, const clang::Expr& reference, unsigned depth) {
  trace result = trace::nothing;
  const clang::Stmt* node = &reference;
  for (const clang::Stmt* user = user_of(context, node); user != nullptr; user = user_of(context, node)) {
    // The value of a number or of a container of its own is what is used from here on.
    const auto* expression = dyn_cast<clang::Expr>(node);
    if (node != &reference && expression != nullptr && expression->isPRValue() && is_value(expression->getType()))
      return result;
    if (isa<clang::LambdaExpr, clang::InitListExpr, clang::CXXNewExpr, clang::CXXThrowExpr, clang::AtomicExpr,
            clang::AsmStmt>(user)) {
      return trace::reference;
    }
    if (const auto* cast = dyn_cast<clang::ExplicitCastExpr>(user);
        cast != nullptr && cast->getCastKind() == clang::CK_PointerToIntegral) {
      return trace::reference;
    }
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
      if (member_call == nullptr || member_call->getCallee() != callee) {
        node = user;
        continue;
      }
      const clang::CXXMethodDecl* method = member_call->getMethodDecl();
      if (method == nullptr || (!is_of_library(*method) && may_store(context, *method, std::nullopt, depth)))
        result = trace::argument;
      node = call;
      continue;
    }
    if (const auto* operation = dyn_cast<clang::BinaryOperator>(user);
        operation != nullptr && operation->isAssignmentOp()) {
      if (operation->getRHS() == node && !is_value(operation->getLHS()->getType())) return trace::reference;
      return result;
    }
    if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(user)) {
      if (is_iterator(construction->getType())) {
        node = user;
        continue;
      }
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
      if (function == nullptr || !is_of_library(*function)) {
        if (may_be_stored(context, *call, *node, depth)) result = trace::argument;
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
  if (variable != nullptr) return std::max(result, trace_of_declaration(context, *variable, depth));
  // It gives a member its value.
  const bool is_initial_value = expression != nullptr && expression->isPRValue() && is_value(expression->getType());
  return is_initial_value ? result : trace::reference;
}

// Returns whether a class of the program has a function that gives an object its value and may store its address.
bool has_storing_function(clang::ASTContext& context, const clang::CXXRecordDecl& record) {
  const auto makes_value = [](const clang::FunctionDecl& function) {
    return isa<clang::CXXConstructorDecl>(function) || function.getOverloadedOperator() == clang::OO_Equal;
  };
  return llvm::any_of(record.decls(), [&](const clang::Decl* next) {
    if (const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(next))
      return makes_value(*pattern->getTemplatedDecl());
    if (const auto* method = dyn_cast<clang::CXXMethodDecl>(next)) {
      return makes_value(*method) && method->isUserProvided() && may_store(context, *method, std::nullopt, 0);
    }
    const auto* field = dyn_cast<clang::FieldDecl>(next);
    if (field == nullptr || !field->hasInClassInitializer()) return false;
    bool is_stored = field->getInClassInitializer() == nullptr;
    if (is_stored) return true;
    walk(*field->getInClassInitializer(), [&](const clang::Stmt& part, bool is_in_lambda) {
      is_stored = isa<clang::CXXThisExpr>(part) &&
                  (is_in_lambda || trace_of_use(context, clang::cast<clang::Expr>(part), 0) != trace::nothing);
      return !is_stored;
    });
    return is_stored;
  });
}

bool has_storing_part(clang::ASTContext& context, clang::QualType type, class_set& visited) {
  type = bare_type(type);
  if (const auto* array = type->getAsArrayTypeUnsafe())
    return has_storing_part(context, array->getElementType(), visited);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return false;
  if (!record->hasDefinition()) return true;
  record = record->getDefinition();
  if (!visited.insert(record).second) return false;
  if (is_of_library(*record)) {
    // The object that such a class points to is no part of it.
    const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
    if (specialization == nullptr || record->isEmpty() ||
        is_std_class(type, {"unique_ptr", "shared_ptr", "weak_ptr", "function", "reference_wrapper"})) {
      return false;
    }
    const auto is_storing = [&](const clang::TemplateArgument& argument) {
      return argument.getKind() == clang::TemplateArgument::Type &&
             has_storing_part(context, argument.getAsType(), visited);
    };
    return llvm::any_of(specialization->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
      return argument.getKind() == clang::TemplateArgument::Pack ? llvm::any_of(argument.pack_elements(), is_storing)
                                                                 : is_storing(argument);
    });
  }
  const auto is_storing_field = [&](const clang::FieldDecl* field) {
    return !field->getType()->isReferenceType() && has_storing_part(context, field->getType(), visited);
  };
  return has_storing_function(context, *record) ||
         llvm::any_of(record->bases(),
                      [&](const auto& base) { return has_storing_part(context, base.getType(), visited); }) ||
         llvm::any_of(record->fields(), is_storing_field);
}

}  // namespace

trace trace_of(clang::ASTContext& context, const clang::Expr& reference) { return trace_of_use(context, reference, 0); }

bool may_store_itself(clang::ASTContext& context, clang::QualType type) {
  class_set visited;
  return has_storing_part(context, type, visited);
}

}  // namespace tarn::tidy
