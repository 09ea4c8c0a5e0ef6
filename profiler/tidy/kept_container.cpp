#include "profiler/tidy/kept_container.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>

#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/parts.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;
using clang::SourceLocation;

// Returns the class of a container's allocator, which is its last argument; null where it has none.
const clang::CXXRecordDecl* allocator_of(clang::QualType container) {
  const auto* record = dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(container->getAsCXXRecordDecl());
  if (record == nullptr) return nullptr;
  const clang::TemplateArgument& last = record->getTemplateArgs()[record->getTemplateArgs().size() - 1];
  return last.getKind() == clang::TemplateArgument::Type ? last.getAsType()->getAsCXXRecordDecl() : nullptr;
}

bool is_declared_in(clang::ASTContext& context, const clang::Expr& expression, const clang::Stmt& iteration) {
  const clang::Expr* base = expression.IgnoreParenImpCasts();
  while (const auto* member = dyn_cast<clang::MemberExpr>(base)) {
    if (member->isArrow()) return false;
    base = member->getBase()->IgnoreParenImpCasts();
  }
  const auto* reference = dyn_cast<clang::DeclRefExpr>(base);
  const auto* variable = reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
  return variable != nullptr && variable->hasLocalStorage() && !variable->getType()->isReferenceType() &&
         is_within(context, variable->getSourceRange(), iteration.getSourceRange());
}

// Returns whether a lambda ends with the iteration: it is called at once, is an argument of an algorithm, or is kept in
// a variable of the iteration.
bool ends_with_iteration(clang::ASTContext& context, const clang::LambdaExpr& lambda) {
  clang::DynTypedNode node = clang::DynTypedNode::create(lambda);
  for (;;) {
    const clang::DynTypedNodeList parents = context.getParents(node);
    if (parents.empty()) return false;
    node = parents[0];
    if (const auto* variable = node.get<clang::VarDecl>()) return variable->hasLocalStorage();
    const auto* statement = node.get<clang::Stmt>();
    if (statement == nullptr) return false;
    if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
      if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(call))
        return operation->getOperator() == clang::OO_Call;
      const clang::FunctionDecl* function = call->getDirectCallee();
      return function != nullptr && !isa<clang::CXXMethodDecl>(function) && is_std_function(*function) &&
             !is_one_of(name_of(function), {"", "async", "bind"});
    }
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(statement);
    if (construction != nullptr && !is_std_class(construction->getType(), {"function"}) &&
        !construction->isElidable() && !construction->getConstructor()->getParent()->isLambda()) {
      return false;
    }
    if (!isa<clang::Expr>(statement) && !isa<clang::DeclStmt>(statement)) return false;
  }
}

// Returns whether a call is of a function of the library with a name, or of the object of std::ranges with it.
bool calls_library(const clang::CallExpr& call, llvm::StringRef name) {
  const clang::FunctionDecl* function = call.getDirectCallee();
  return function != nullptr && is_of_library(*function) &&
         (name_of(function) == name || free_function_name(call) == name);
}

// Judges one use of the variable.
escape escape_of(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Expr& reference,
                 const clang::Stmt& iteration) {
  const std::string name = quote(variable);
  const SourceLocation location = reference.getBeginLoc();
  const escape given_away{certainty::no_edit, {name + " gives its memory away here", location}};
  const escape stored{certainty::review, {"something that is kept may refer to " + name, location}};
  if (const clang::CXXMemberCallExpr* call = member_call_on(context, reference)) {
    const clang::CXXMethodDecl* function = call->getMethodDecl();
    const llvm::StringRef called = name_of(function);
    if (called == "capacity" || called == "shrink_to_fit" || called == "get_allocator")
      return {certainty::no_edit, {"the code manages the room of " + name + " itself", location}};
    if (called == "swap") return given_away;
  }
  const clang::Stmt* node = &reference;
  for (const clang::Stmt* user = user_of(context, node); user != nullptr; user = user_of(context, node)) {
    if (const auto* lambda = dyn_cast<clang::LambdaExpr>(user)) {
      // A capture with a name of its own.
      if (!ends_with_iteration(context, *lambda) && clang::cast<clang::Expr>(node)->isLValue()) return stored;
      return {};
    }
    if (const auto* cast = dyn_cast<clang::CXXStaticCastExpr>(user); cast != nullptr && cast->isXValue())
      return given_away;
    if (const auto* call = dyn_cast<clang::CallExpr>(user)) {
      const clang::FunctionDecl* function = call->getDirectCallee();
      const llvm::StringRef called = name_of(function);
      const bool is_std = function != nullptr && is_std_function(*function);
      if (calls_library(*call, "swap")) return given_away;
      if (is_std && is_one_of(called, {"move", "forward", "exchange", "as_const", "addressof", "ref", "cref"}) &&
          !isa<clang::CXXMethodDecl>(function)) {
        if (called == "as_const") {
          node = user;
          continue;
        }
        return called == "addressof" || called == "ref" || called == "cref" ? stored : given_away;
      }
    }
    if (const auto* address = dyn_cast<clang::UnaryOperator>(user);
        address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
      node = address;
      const clang::Stmt* outer = user_of(context, node);
      const bool is_argument = outer != nullptr && isa<clang::CallExpr>(outer);
      if (outer != nullptr && isa<clang::MaterializeTemporaryExpr>(outer)) {
        node = outer;
        outer = user_of(context, node);
      }
      const auto* call = outer == nullptr ? nullptr : dyn_cast<clang::CallExpr>(outer);
      const bool is_whole = address->getSubExpr()->IgnoreParens() == &reference;
      if (is_whole && call != nullptr && calls_library(*call, "iter_swap")) return given_away;
      // A function gets a pointer as it gets a reference: it could not use it after this iteration.
      return is_argument ? escape() : stored;
    }
    // An iterator, a pointer or a view that is assigned to something which the iteration does not declare.
    const clang::Expr* target = nullptr;
    if (const auto* operation = dyn_cast<clang::BinaryOperator>(user);
        operation != nullptr && operation->isAssignmentOp() && operation->getRHS() == node) {
      target = operation->getLHS();
    } else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(user);
               call != nullptr && call->getOperator() == clang::OO_Equal && call->getArg(1) == node) {
      target = call->getArg(0);
    }
    if (target != nullptr) {
      const clang::QualType type = target->getType();
      const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
      const bool is_value = (type->isScalarType() && !type->isPointerType()) ||
                            (record != nullptr && is_std_class(type, {"vector", "basic_string", "deque", "list", "map",
                                                                      "set", "unordered_map", "unordered_set"}));
      return is_value || is_declared_in(context, *target, iteration) ? escape() : stored;
    }
    if (isa<clang::ReturnStmt, clang::CXXThrowExpr>(user)) return {};
    if (!isa<clang::Expr>(user)) return {};
    node = user;
  }
  // It initializes a declaration.
  const clang::DynTypedNodeList parents = context.getParents(*node);
  const auto* declared = parents.empty() ? nullptr : parents[0].get<clang::VarDecl>();
  return declared != nullptr && !declared->hasLocalStorage() ? stored : escape();
}

// Returns whether a use may give the container elements, so that a recorded line which allocates may mean it.
SourceLocation growing_use(clang::ASTContext& context, const clang::Expr& reference, clang::SourceRange& range) {
  const clang::Stmt* node = &reference;
  const clang::CXXMemberCallExpr* call = member_call_on(context, reference);
  const clang::CXXMethodDecl* function = call == nullptr ? nullptr : call->getMethodDecl();
  if (call != nullptr && (function == nullptr || function->isConst())) return {};
  const clang::Stmt* user = call != nullptr ? call : user_of(context, node);
  if (const auto* address = dyn_cast_or_null<clang::UnaryOperator>(user)) {
    node = address;
    user = user_of(context, node);
  }
  if (user == nullptr || !isa<clang::CallExpr>(user)) return {};
  const auto* argument = dyn_cast<clang::Expr>(node);
  if (call == nullptr && argument != nullptr && argument->getType().isConstQualified()) return {};
  range = user->getSourceRange();
  return user->getBeginLoc();
}

// Returns the variable, or the class of `this`, and the members that name an object which stays the same; empty for any
// other expression.
std::vector<const clang::Decl*> fixed_path_of(const clang::Expr& expression) {
  std::vector<const clang::Decl*> path;
  const clang::Expr* base = expression.IgnoreParenImpCasts();
  while (const auto* member = dyn_cast<clang::MemberExpr>(base)) {
    const clang::Expr* object = member->getBase()->IgnoreParenImpCasts();
    if (member->isArrow() && !isa<clang::CXXThisExpr>(object)) return {};
    path.push_back(member->getMemberDecl()->getCanonicalDecl());
    base = object;
  }
  if (isa<clang::CXXThisExpr>(base)) {
    path.push_back(base->getType()->getPointeeCXXRecordDecl());
    return path;
  }
  const auto* reference = dyn_cast<clang::DeclRefExpr>(base);
  const auto* variable = reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
  if (variable == nullptr || !variable->hasLocalStorage()) return {};
  path.push_back(variable);
  return path;
}

// Returns whether the user of an expression adds something to it.
bool is_filled(clang::ASTContext& context, const clang::Expr& expression) {
  if (const clang::CXXMemberCallExpr* call = member_call_on(context, expression))
    return is_one_of(name_of(call->getMethodDecl()), {"append", "emplace_back", "insert", "push_back"});
  const clang::Stmt* node = &expression;
  const auto* operation = dyn_cast_or_null<clang::CXXOperatorCallExpr>(user_of(context, node));
  return operation != nullptr && operation->getOperator() == clang::OO_PlusEqual &&
         operation->getArg(0)->IgnoreParenImpCasts() == &expression;
}

bool is_memory_resource(clang::QualType type) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return false;
  const auto is_resource = [](const clang::CXXRecordDecl* next) {
    return next->getQualifiedNameAsString() == "std::pmr::memory_resource";
  };
  return is_resource(record) || !record->forallBases([&](const auto* base) { return !is_resource(base); });
}

bool ends_quietly(clang::QualType type, class_set& visited) {
  if (const auto* array = type->getAsArrayTypeUnsafe()) return ends_quietly(array->getElementType(), visited);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return !type->isDependentType();
  if (!record->hasDefinition()) return false;
  if (!visited.insert(record).second) return true;
  if (record->hasTrivialDestructor() || is_std_class(type, {"allocator"})) return true;
  const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (specialization != nullptr && is_std_class(clang::QualType(record->getTypeForDecl(), 0),
                                                {"vector", "basic_string", "deque", "list", "map", "set",
                                                 "unordered_map", "unordered_set", "pair", "tuple", "optional"})) {
    // The library's own arguments, such as allocators, are classes that do nothing at their end.
    const auto is_quiet = [&](const clang::TemplateArgument& argument) {
      return argument.getKind() != clang::TemplateArgument::Type || ends_quietly(argument.getAsType(), visited);
    };
    return llvm::all_of(specialization->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
      return argument.getKind() == clang::TemplateArgument::Pack ? llvm::all_of(argument.pack_elements(), is_quiet)
                                                                 : is_quiet(argument);
    });
  }
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  if (record->isInStdNamespace() || (destructor != nullptr && destructor->isUserProvided())) return false;
  return llvm::all_of(record->bases(), [&](const auto& base) { return ends_quietly(base.getType(), visited); }) &&
         llvm::all_of(record->fields(), [&](const auto* field) { return ends_quietly(field->getType(), visited); });
}

}  // namespace

std::optional<obstacle> lending_obstacle(clang::ASTContext& context, const clang::Expr& lender, const clang::Stmt& loop,
                                         const clang::Stmt& block) {
  const std::vector<const clang::Decl*> path = fixed_path_of(lender);
  if (path.empty() || !is_std_class(lender.getType(), kept_containers))
    return obstacle{"the container that lends its allocator may be another one in each iteration",
                    lender.getBeginLoc()};
  if (is_within(context, path.back()->getSourceRange(), loop.getSourceRange()))
    return obstacle{"the container that lends its allocator is declared in the loop", lender.getBeginLoc()};
  bool is_filled_in_loop = false;
  SourceLocation resource;
  walk(block, [&](const clang::Stmt& part, bool) {
    const auto* expression = dyn_cast<clang::Expr>(&part);
    if (expression == nullptr) return true;
    const bool is_earlier =
        context.getSourceManager().isBeforeInTranslationUnit(part.getBeginLoc(), loop.getBeginLoc());
    if (!is_earlier && is_memory_resource(expression->getType())) resource = part.getBeginLoc();
    is_filled_in_loop |= is_within(context, part.getSourceRange(), loop.getSourceRange()) &&
                         fixed_path_of(*expression) == path && is_filled(context, *expression);
    return resource.isInvalid();
  });
  if (resource.isValid()) return obstacle{"this may release the memory of the loop", resource};
  if (!is_filled_in_loop)
    return obstacle{"the loop does not fill the container that lends its allocator", lender.getBeginLoc()};
  return std::nullopt;
}

bool has_quiet_end(clang::QualType type) {
  class_set visited;
  return ends_quietly(type, visited);
}

bool is_moved_quietly(clang::QualType type) {
  if (const auto* array = type->getAsArrayTypeUnsafe()) return is_moved_quietly(array->getElementType());
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return !type->isDependentType();
  if (!record->hasDefinition()) return false;
  if (is_of_library(*record)) {
    const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
    if (specialization == nullptr || !is_std_class(type, {"pair", "tuple", "array", "optional", "variant"}))
      return true;
    const auto is_quiet = [](const clang::TemplateArgument& argument) {
      return argument.getKind() != clang::TemplateArgument::Type || is_moved_quietly(argument.getAsType());
    };
    return llvm::all_of(specialization->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
      return argument.getKind() == clang::TemplateArgument::Pack ? llvm::all_of(argument.pack_elements(), is_quiet)
                                                                 : is_quiet(argument);
    });
  }
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  const bool has_own_constructor = llvm::any_of(record->ctors(), [](const clang::CXXConstructorDecl* constructor) {
    return constructor->isCopyOrMoveConstructor() && constructor->isUserProvided();
  });
  return !has_own_constructor && (destructor == nullptr || !destructor->isUserProvided()) &&
         llvm::all_of(record->bases(), [](const auto& base) { return is_moved_quietly(base.getType()); }) &&
         llvm::all_of(record->fields(), [](const auto* field) { return is_moved_quietly(field->getType()); });
}

bool has_own_allocator(clang::QualType container) {
  const clang::CXXRecordDecl* allocator = allocator_of(container);
  return allocator != nullptr && is_std_class(clang::QualType(allocator->getTypeForDecl(), 0), {"allocator"});
}

bool has_library_allocator(clang::QualType container) {
  const clang::CXXRecordDecl* allocator = allocator_of(container);
  return has_own_allocator(container) ||
         (allocator != nullptr && allocator->getQualifiedNameAsString() == "std::pmr::polymorphic_allocator");
}

std::vector<std::pair<std::string, SourceLocation>> free_names(const clang::ASTContext& context,
                                                               clang::SourceRange range) {
  std::vector<std::pair<std::string, SourceLocation>> result;
  const clang::SourceManager& sources = context.getSourceManager();
  const auto [file, begin] = sources.getDecomposedExpansionLoc(range.getBegin());
  const unsigned end = sources.getDecomposedExpansionLoc(range.getEnd()).second;
  const llvm::StringRef text = sources.getBufferData(file);
  const SourceLocation start = sources.getLocForStartOfFile(file);
  clang::Lexer lexer(start, context.getLangOpts(), text.begin(), text.begin() + begin, text.end());
  bool is_qualified = false;
  for (clang::Token token; !lexer.LexFromRawLexer(token);) {
    if (sources.getFileOffset(token.getLocation()) > end) break;
    if (token.is(clang::tok::raw_identifier) && !is_qualified)
      result.emplace_back(token.getRawIdentifier().str(), token.getLocation());
    is_qualified = token.isOneOf(clang::tok::period, clang::tok::arrow, clang::tok::coloncolon);
  }
  return result;
}

escape worst_use(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Stmt& scope) {
  escape result;
  walk(scope, [&](const clang::Stmt& part, bool is_in_lambda) {
    escape next;
    if (const auto* lambda = dyn_cast<clang::LambdaExpr>(&part)) {
      for (const clang::LambdaCapture& capture : lambda->captures()) {
        if (capture.capturesVariable() && capture.getCapturedVar() == &variable &&
            capture.getCaptureKind() == clang::LCK_ByRef && !ends_with_iteration(context, *lambda)) {
          next = {certainty::review,
                  {"a lambda that refers to " + quote(variable) + " may be kept", lambda->getBeginLoc()}};
        }
      }
    } else if (const auto* reference = dyn_cast<clang::DeclRefExpr>(&part);
               reference != nullptr && reference->getDecl() == &variable) {
      next = escape_of(context, variable, *reference, scope);
      if (is_in_lambda && next.level == certainty::review) next = {};  // the capture tells
    }
    if (next.level < result.level) result = std::move(next);
    return true;
  });
  return result;
}

SourceLocation heap_in(const clang::Stmt& code) {
  SourceLocation result;
  walk(code, [&](const clang::Stmt& part, bool) {
    const auto* expression = dyn_cast<clang::Expr>(&part);
    const clang::CXXRecordDecl* record = expression == nullptr ? nullptr : expression->getType()->getAsCXXRecordDecl();
    if (record != nullptr &&
        is_one_of(record->getQualifiedNameAsString(), {"tarn::heap", "tarn::scoped_current_heap"})) {
      result = part.getBeginLoc();
    }
    return result.isInvalid();
  });
  return result;
}

bool is_recorded(clang::ASTContext& context, const site_list& sites, const clang::DeclStmt& statement,
                 const clang::VarDecl& variable, const clang::Stmt& body) {
  if (sites.find(context.getSourceManager(), statement.getSourceRange()) != nullptr) return true;
  return llvm::any_of(uses_of(context, variable, body), [&](const variable_use& use) {
    clang::SourceRange range;
    return growing_use(context, *use.reference, range).isValid() &&
           sites.find(context.getSourceManager(), range) != nullptr;
  });
}

}  // namespace tarn::tidy
