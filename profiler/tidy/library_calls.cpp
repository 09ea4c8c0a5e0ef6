#include "profiler/tidy/library_calls.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclFriend.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using clang::QualType;

constexpr unsigned max_parts = 8;  // within one another
constexpr llvm::StringRef arrays[] = {"vector", "basic_string", "deque", "array", "span", "basic_string_view"};
constexpr llvm::StringRef pointers[] = {"unique_ptr", "shared_ptr", "__shared_ptr", "__shared_ptr_access",
                                        "weak_ptr",   "__weak_ptr", "optional",     "reference_wrapper"};
constexpr llvm::StringRef collections[] = {"list",
                                           "forward_list",
                                           "map",
                                           "multimap",
                                           "set",
                                           "multiset",
                                           "unordered_map",
                                           "unordered_set",
                                           "unordered_multimap",
                                           "unordered_multiset",
                                           "stack",
                                           "queue",
                                           "priority_queue",
                                           "initializer_list"};
constexpr llvm::StringRef iterators[] = {"__normal_iterator",        "_List_iterator",          "_List_const_iterator",
                                         "_Rb_tree_iterator",        "_Rb_tree_const_iterator", "_Deque_iterator",
                                         "_Node_iterator",           "_Node_const_iterator",    "_Fwd_list_iterator",
                                         "_Fwd_list_const_iterator", "reverse_iterator",        "_Node_iterator_base"};
constexpr llvm::StringRef values[] = {"pair",
                                      "tuple",
                                      "variant",
                                      "monostate",
                                      "bitset",
                                      "allocator",
                                      "char_traits",
                                      "less",
                                      "greater",
                                      "equal_to",
                                      "hash",
                                      "ratio",
                                      "duration",
                                      "time_point",
                                      "complex",
                                      "move_iterator",
                                      "back_insert_iterator",
                                      "insert_iterator",
                                      "front_insert_iterator",
                                      "default_delete",
                                      "integral_constant"};
constexpr llvm::StringRef own_buffers[] = {"basic_ostringstream", "basic_istringstream", "basic_stringstream",
                                           "basic_ofstream",      "basic_ifstream",      "basic_fstream"};
constexpr llvm::StringRef other_streams[] = {"basic_ostream", "basic_istream", "basic_iostream", "basic_ios",
                                             "ios_base"};

// Returns whether a class of the library, that no one has specialized, has one of these names.
bool is_library_class(const clang::CXXRecordDecl* record, llvm::ArrayRef<llvm::StringRef> names) {
  return record != nullptr && is_of_library(*record) && record->getIdentifier() != nullptr &&
         llvm::is_contained(names, record->getName()) &&
         record->getASTContext().getSourceManager().isInSystemHeader(record->getLocation());
}

bool is_library_type(QualType type, llvm::ArrayRef<llvm::StringRef> names) {
  return is_library_class(bare_type(type)->getAsCXXRecordDecl(), names);
}

// Returns whether a function that is not a member compares, swaps, prints or reads values of a type.
bool has_free_operator(clang::ASTContext& context, const clang::TagDecl& type) {
  const QualType operand(type.getTypeForDecl(), 0);
  const clang::DeclContext* scope = type.getDeclContext()->getEnclosingNamespaceContext();
  llvm::SmallVector<clang::DeclarationName, 12> names;
  for (const auto kind : {clang::OO_EqualEqual, clang::OO_ExclaimEqual, clang::OO_Less, clang::OO_Greater,
                          clang::OO_LessEqual, clang::OO_GreaterEqual, clang::OO_Spaceship, clang::OO_LessLess,
                          clang::OO_GreaterGreater, clang::OO_Plus, clang::OO_Minus, clang::OO_Star}) {
    names.push_back(context.DeclarationNames.getCXXOperatorName(kind));
  }
  names.emplace_back(&context.Idents.get("swap"));
  for (const clang::DeclarationName name : names) {
    for (const clang::NamedDecl* next : scope->lookup(name)) {
      if (isa<clang::FunctionTemplateDecl>(next)) return true;
      const auto* function = dyn_cast<clang::FunctionDecl>(next->getUnderlyingDecl());
      if (function == nullptr) continue;
      const bool takes_it = llvm::any_of(function->parameters(), [&](const clang::ParmVarDecl* parameter) {
        return bare_type(parameter->getType()) == bare_type(operand);
      });
      if (takes_it) return true;
    }
  }
  return false;
}

// Returns whether a value of a member comes from code.
bool has_called_value(const clang::FieldDecl& field) {
  if (!field.hasInClassInitializer()) return false;
  const clang::Expr* value = field.getInClassInitializer();
  if (value == nullptr) return true;
  bool is_called = false;
  walk(*value, [&](const clang::Stmt& part, bool) {
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(&part);
    is_called =
        isa<clang::CallExpr>(part) || (construction != nullptr && !is_of_library(*construction->getConstructor()) &&
                                       construction->getConstructor()->isUserProvided());
    return !is_called;
  });
  return is_called;
}

bool is_plain_value(clang::ASTContext& context, QualType type, unsigned depth);

bool is_plain_class(clang::ASTContext& context, const clang::CXXRecordDecl& record, unsigned depth) {
  if (record.isLambda() || record.isPolymorphic() || record.getNumVBases() != 0 || record.hasFriends()) return false;
  for (const clang::CXXMethodDecl* method : record.methods()) {
    const bool is_special =
        isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl, clang::CXXConversionDecl>(method) ||
        method->isOverloadedOperator() || name_of(method) == "swap";
    // A comparison that the compiler writes is a user's choice, too, but compares the parts alone.
    if (is_special && (method->isUserProvided() || isa<clang::CXXConversionDecl>(method))) return false;
  }
  const bool has_template = llvm::any_of(record.decls(), [](const clang::Decl* next) {
    const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(next);
    return pattern != nullptr &&
           (isa<clang::CXXConstructorDecl, clang::CXXConversionDecl>(pattern->getTemplatedDecl()) ||
            pattern->getTemplatedDecl()->isOverloadedOperator());
  });
  if (has_template || has_free_operator(context, record)) return false;
  return llvm::all_of(record.bases(),
                      [&](const auto& base) { return is_plain_value(context, base.getType(), depth + 1); }) &&
         llvm::all_of(record.fields(), [&](const clang::FieldDecl* field) {
           return !has_called_value(*field) &&
                  (field->getType()->isReferenceType() || is_plain_value(context, field->getType(), depth + 1));
         });
}

bool is_plain_argument(clang::ASTContext& context, const clang::TemplateArgument& argument, unsigned depth) {
  switch (argument.getKind()) {
    case clang::TemplateArgument::Type: return is_plain_value(context, argument.getAsType(), depth);
    case clang::TemplateArgument::Pack:
      return llvm::all_of(argument.pack_elements(),
                          [&](const auto& part) { return is_plain_argument(context, part, depth); });
    case clang::TemplateArgument::Integral:
    case clang::TemplateArgument::Null:
    case clang::TemplateArgument::NullPtr: return true;
    default: return false;
  }
}

bool is_plain_value(clang::ASTContext& context, QualType type, unsigned depth) {
  type = bare_type(type);
  if (depth > max_parts || type->isDependentType()) return false;
  if (const auto* array = type->getAsArrayTypeUnsafe())
    return is_plain_value(context, array->getElementType(), depth + 1);
  if (const auto* enumeration = type->getAs<clang::EnumType>())
    return is_of_library(*enumeration->getDecl()) || !has_free_operator(context, *enumeration->getDecl());
  // Nothing but the value of a pointer is used.
  if (type->isPointerType()) return !type->isFunctionPointerType();
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr)
    return type->isVoidType() || type->isArithmeticType() || type->isNullPtrType() || type->isAnyComplexType();
  if (!record->hasDefinition()) return false;
  if (!is_of_library(*record)) return is_plain_class(context, *record->getDefinition(), depth);
  const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (is_library_class(record, {"unique_ptr"}) && specialization != nullptr) {
    const QualType element = specialization->getTemplateArgs()[0].getAsType();
    const clang::CXXRecordDecl* element_class = element->getAsCXXRecordDecl();
    if (!has_quiet_end(element) || (element_class != nullptr && element_class->isPolymorphic())) return false;
  } else if (!is_library_class(record, arrays) && !is_library_class(record, collections) &&
             !is_library_class(record, iterators) && !is_library_class(record, values) &&
             !is_library_class(record, {"optional", "path"})) {
    return false;
  }
  return specialization == nullptr ||
         llvm::all_of(specialization->getTemplateArgs().asArray(),
                      [&](const auto& argument) { return is_plain_argument(context, argument, depth + 1); });
}

// Returns whether a function of the library only gives access to what exists.
bool only_gives_access(const clang::FunctionDecl& called, llvm::ArrayRef<const clang::Expr*> arguments) {
  const llvm::StringRef name = name_of(&called);
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&called);
  if (method == nullptr) {
    if (is_one_of(name, {"move", "forward", "addressof", "__addressof", "as_const", "get", "get_if", "ref", "cref",
                         "tie", "forward_as_tuple"}) &&
        called.isInStdNamespace()) {
      return true;
    }
    const bool is_range = is_one_of(name, {"begin", "end", "cbegin", "cend", "size", "empty", "data"});
    const bool is_step = called.isOverloadedOperator() || is_one_of(name, {"next", "prev", "advance", "distance"});
    return !arguments.empty() && llvm::all_of(arguments, [&](const clang::Expr* argument) {
      const QualType type = bare_type(argument->getType());
      if (is_range) return type->isArrayType() || is_library_type(type, arrays) || is_library_type(type, collections);
      return is_step && (is_library_type(type, iterators) || type->isIntegralType(called.getASTContext()));
    });
  }
  const clang::CXXRecordDecl* record = method->getParent();
  if (is_library_class(record, iterators)) return true;
  if (is_library_class(record, pointers)) {
    return isa<clang::CXXConversionDecl>(method) || method->getOverloadedOperator() == clang::OO_Star ||
           method->getOverloadedOperator() == clang::OO_Arrow ||
           is_one_of(name, {"get", "value", "has_value", "release", "use_count", "lock", "expired"});
  }
  const bool is_sequence = is_library_class(record, arrays);
  if (is_sequence && (method->getOverloadedOperator() == clang::OO_Subscript || name == "at")) return true;
  return (is_sequence || is_library_class(record, collections)) &&
         is_one_of(name, {"begin", "end", "cbegin", "cend", "rbegin", "rend", "crbegin", "crend", "size", "length",
                          "empty", "capacity", "max_size", "front", "back", "top", "data", "c_str"});
}

// Returns the stream at the start of a chain such as `stream << 1 << 2`.
const clang::Expr& start_of_chain(const clang::Expr& expression) {
  const clang::Expr* result = expression.IgnoreParenImpCasts();
  for (;;) {
    const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(result);
    if (operation == nullptr || operation->getNumArgs() == 0) return *result;
    result = operation->getArg(0)->IgnoreParenImpCasts();
  }
}

// Returns the function of a library, such as std::endl or tolower, that an argument names; else null.
const clang::FunctionDecl* library_function(clang::ASTContext& context, const clang::Expr& argument) {
  const clang::Expr* inner = argument.IgnoreParenImpCasts();
  if (const auto* address = dyn_cast<clang::UnaryOperator>(inner);
      address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
    inner = address->getSubExpr()->IgnoreParenImpCasts();
  }
  const auto* reference = dyn_cast<clang::DeclRefExpr>(inner);
  const auto* function = reference == nullptr ? nullptr : dyn_cast<clang::FunctionDecl>(reference->getDecl());
  if (function == nullptr) return nullptr;
  const bool is_c = function->isExternC() && context.getSourceManager().isInSystemHeader(function->getLocation());
  return is_c || is_of_library(*function) ? function : nullptr;
}

const clang::LambdaExpr* lambda_of(const clang::Expr& argument) {
  return dyn_cast<clang::LambdaExpr>(const_cast<clang::Expr&>(argument).IgnoreUnlessSpelledInSource());
}

}  // namespace

QualType bare_type(QualType type) { return type.getNonReferenceType().getCanonicalType().getUnqualifiedType(); }

bool is_of_library(const clang::Decl& declaration) {
  for (const clang::DeclContext* outer = declaration.getDeclContext(); outer != nullptr; outer = outer->getParent()) {
    const auto* space = dyn_cast<clang::NamespaceDecl>(outer);
    if (space != nullptr && space->getParent()->isTranslationUnit())
      return is_one_of(space->getName(), {"std", "__gnu_cxx"});
  }
  return false;
}

std::optional<llvm::StringRef> free_function_name(const clang::CallExpr& call) {
  const clang::FunctionDecl* function = call.getDirectCallee();
  if (function == nullptr) return std::nullopt;
  if (!isa<clang::CXXMethodDecl>(function)) return name_of(function);
  const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(&call);
  if (operation == nullptr || operation->getOperator() != clang::OO_Call) return std::nullopt;
  const auto* object = dyn_cast<clang::DeclRefExpr>(operation->getArg(0)->IgnoreParenImpCasts());
  if (object == nullptr || !is_of_library(*object->getDecl())) return std::nullopt;
  return object->getDecl()->getName();
}

bool is_container_iterator(const clang::CXXRecordDecl& record) { return is_library_class(&record, iterators); }

bool is_stream(QualType type) { return is_library_type(type, own_buffers) || is_library_type(type, other_streams); }

bool is_plain(clang::ASTContext& context, QualType type) { return is_plain_value(context, type, 0); }

bool has_get_functions(const clang::Decl& declaration) {
  const auto* object = dyn_cast<clang::DecompositionDecl>(&declaration);
  if (object == nullptr) return false;
  const clang::CXXRecordDecl* record = bare_type(object->getType())->getAsCXXRecordDecl();
  return record != nullptr && !is_of_library(*record) &&
         llvm::any_of(object->bindings(), [](const auto* part) { return part->getHoldingVar() != nullptr; });
}

bool may_run_program(clang::ASTContext& context, const clang::Expr& call) {
  llvm::SmallVector<const clang::Expr*, 4> arguments;
  const clang::FunctionDecl* called = nullptr;
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&call)) {
    called = construction->getConstructor();
    arguments.append(construction->arg_begin(), construction->arg_end());
  } else {
    const auto& function_call = clang::cast<clang::CallExpr>(call);
    called = function_call.getDirectCallee();
    if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(&call))
      arguments.push_back(member->getImplicitObjectArgument());
    arguments.append(function_call.arg_begin(), function_call.arg_end());
  }
  if (called == nullptr) return true;
  if (called->isTrivial() || only_gives_access(*called, arguments)) return false;
  if (called->getBuiltinID() != 0 && !called->isInStdNamespace()) return false;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(called);
  llvm::SmallVector<QualType, 2> lambdas;  // and functions of a library
  for (const clang::Expr* argument : arguments) {
    if (const clang::FunctionDecl* function = library_function(context, *argument)) {
      lambdas.push_back(bare_type(context.getPointerType(function->getType())));
      continue;
    }
    const clang::LambdaExpr* lambda = lambda_of(*argument);
    if (lambda == nullptr) continue;
    lambdas.push_back(bare_type(lambda->getType()));
    // Its copies have those of what it captures.
    const bool is_plain_lambda = llvm::all_of(lambda->getLambdaClass()->fields(), [&](const clang::FieldDecl* field) {
      return field->getType()->isReferenceType() || is_plain(context, field->getType());
    });
    if (!is_plain_lambda) return true;
  }
  const auto is_harmless = [&](QualType type) {
    return llvm::is_contained(lambdas, bare_type(type)) || is_plain(context, type);
  };
  for (const clang::Expr* argument : arguments) {
    if (library_function(context, *argument) != nullptr) continue;
    const QualType pointee = argument->getType()->getPointeeType();
    if (is_stream(argument->getType()) || (!pointee.isNull() && is_stream(pointee))) {
      // The buffer of another stream may be the program's.
      if (!is_library_type(start_of_chain(*argument).getType(), own_buffers)) return true;
      continue;
    }
    for (const QualType type : {argument->getType(), argument->IgnoreParenImpCasts()->getType()}) {
      if (!is_harmless(type)) return true;
      // A pointer may be an iterator.
      if (method == nullptr && type->isPointerType() && !is_harmless(type->getPointeeType())) return true;
    }
  }
  if (const clang::TemplateArgumentList* templates = called->getTemplateSpecializationArgs()) {
    const auto is_harmless_argument = [&](const clang::TemplateArgument& argument) {
      return argument.getKind() == clang::TemplateArgument::Type ? is_harmless(argument.getAsType())
                                                                 : is_plain_argument(context, argument, 0);
    };
    if (!llvm::all_of(templates->asArray(), [&](const clang::TemplateArgument& argument) {
          return argument.getKind() == clang::TemplateArgument::Pack
                     ? llvm::all_of(argument.pack_elements(), is_harmless_argument)
                     : is_harmless_argument(argument);
        })) {
      return true;
    }
  }
  const QualType object = method == nullptr ? QualType() : QualType(method->getParent()->getTypeForDecl(), 0);
  if (object.isNull() || is_plain(context, object)) return false;
  // A constructor of a stream with a buffer of its own, or a function of such a stream.
  return !is_stream(object) || (isa<clang::CXXConstructorDecl>(method) && !is_library_type(object, own_buffers));
}

}  // namespace tarn::tidy
