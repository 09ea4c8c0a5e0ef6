#include "profiler/tidy/loop_count.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr llvm::StringRef sized[] = {"vector",
                                     "basic_string",
                                     "array",
                                     "deque",
                                     "list",
                                     "map",
                                     "set",
                                     "multimap",
                                     "multiset",
                                     "unordered_map",
                                     "unordered_set",
                                     "unordered_multimap",
                                     "unordered_multiset",
                                     "basic_string_view",
                                     "span",
                                     "initializer_list"};

bool calls_no_return(const clang::Stmt& statement) {
  const auto* call = dyn_cast<clang::CallExpr>(&statement);
  return call != nullptr && call->getDirectCallee() != nullptr && call->getDirectCallee()->isNoReturn();
}

// Returns true if the function throws at most std::bad_alloc, as the library's containers and strings do. Streams, at()
// and functions that parse numbers also throw because of their input.
bool throws_for_memory_alone(const clang::FunctionDecl& function) {
  if (function.isTrivial()) return true;
  if (!is_std_function(function)) return false;
  const llvm::StringRef name = function.getIdentifier() == nullptr ? "" : function.getName();
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(&function)) {
    return name != "at" && name != "substr" && name != "value" &&
           is_std_class(clang::QualType(method->getParent()->getTypeForDecl(), 0), sized);
  }
  return function.getOverloadedOperator() == clang::OO_Plus ||
         llvm::StringSwitch<bool>(name).Cases("to_string", "move", "forward", "min", "max", true).Default(false);
}

// Returns whether a function of the program, which throws nothing, may end the program.
bool may_end_program(const clang::FunctionDecl& function, unsigned depth) {
  constexpr unsigned max_depth = 4;
  if (function.isTrivial() || is_of_library(function) || function.getBuiltinID() != 0) return function.isNoReturn();
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  const clang::FunctionDecl* definition = nullptr;
  if (function.isNoReturn() || depth == max_depth || (method != nullptr && method->isVirtual()) ||
      !function.isDefined(definition) || definition->getBody() == nullptr) {
    return true;
  }
  bool may_end = false;
  walk(*definition->getBody(), [&](const clang::Stmt& part, bool) {
    const auto* call = dyn_cast<clang::CallExpr>(&part);
    const clang::FunctionDecl* called = call == nullptr ? nullptr : call->getDirectCallee();
    may_end = call != nullptr && (called == nullptr || may_end_program(*called, depth + 1));
    return !may_end;
  });
  return may_end;
}

bool can_reject(const clang::FunctionDecl* function) {
  const auto* type = function == nullptr ? nullptr : function->getType()->getAs<clang::FunctionProtoType>();
  if (type == nullptr) return true;
  return type->canThrow() == clang::CT_Cannot ? may_end_program(*function, 0) : !throws_for_memory_alone(*function);
}

bool is_declared_in(clang::ASTContext& context, const clang::ValueDecl& declaration, const clang::Stmt& statement) {
  return is_within(context, declaration.getSourceRange(), statement.getSourceRange());
}

// Returns whether an expression has a name that the loop declares.
bool has_inner_name(clang::ASTContext& context, const clang::Expr& expression, const clang::Stmt& loop) {
  bool is_found = false;
  walk(expression, [&](const clang::Stmt& part, bool) {
    const auto* reference = dyn_cast<clang::DeclRefExpr>(&part);
    is_found = reference != nullptr && is_declared_in(context, *reference->getDecl(), loop);
    return !is_found;
  });
  return is_found;
}

// Returns the declaration that an expression names if evaluating it before the loop has no effect: a variable, or a
// chain of members that starts at one or at this object. Nothing of it is declared inside of the loop.
const clang::ValueDecl* named_by(clang::ASTContext& context, const clang::Expr* expression, const clang::Stmt& loop) {
  expression = expression->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression)) {
    const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
    return variable != nullptr && !is_declared_in(context, *variable, loop) ? variable : nullptr;
  }
  const auto* member = dyn_cast<clang::MemberExpr>(expression);
  if (member == nullptr || !isa<clang::FieldDecl>(member->getMemberDecl())) return nullptr;
  const clang::Expr* base = member->getBase()->IgnoreParenImpCasts();
  if (isa<clang::CXXThisExpr>(base)) return member->getMemberDecl();
  const clang::ValueDecl* first = named_by(context, base, loop);
  return first != nullptr && has_type_of_pattern(*first) ? member->getMemberDecl() : nullptr;
}

std::optional<loop_count> size_of(clang::ASTContext& context, const clang::Expr* container, bool is_arrow,
                                  const clang::Stmt& loop) {
  container = container->IgnoreParenImpCasts();
  if (const auto* dereference = dyn_cast<clang::UnaryOperator>(container);
      dereference != nullptr && dereference->getOpcode() == clang::UO_Deref) {
    return std::nullopt;
  }
  const clang::ValueDecl* named = named_by(context, container, loop);
  if (named == nullptr || is_arrow) return std::nullopt;
  const std::string text = text_at(context, container->getSourceRange());
  if (text.empty() || container->getBeginLoc().isMacroID()) return std::nullopt;
  if (const auto* array = context.getAsConstantArrayType(named->getType())) {
    if (!has_type_of_pattern(*named)) return std::nullopt;
    const std::uint64_t count = array->getSize().getZExtValue();
    const bool has_size = context.getLangOpts().CPlusPlus17;  // and each container's header has std::size
    return loop_count{has_size ? "std::size(" + text + ")" : std::to_string(count), false, true, count};
  }
  if (!is_std_class_in_all_instantiations(*named, sized)) return std::nullopt;
  return loop_count{text + ".size()", false, true, std::nullopt};
}

// Returns the object of `container.size()`, or null for another expression.
const clang::CXXMemberCallExpr* size_call(const clang::Expr* expression) {
  const auto* call = dyn_cast<clang::CXXMemberCallExpr>(expression->IgnoreParenCasts());
  if (call == nullptr || call->getMethodDecl() == nullptr || call->getMethodDecl()->getIdentifier() == nullptr) {
    return nullptr;
  }
  const llvm::StringRef name = call->getMethodDecl()->getName();
  return name == "size" || name == "length" ? call : nullptr;
}

bool is_arrow_call(const clang::CXXMemberCallExpr& call) {
  const auto* member = dyn_cast<clang::MemberExpr>(call.getCallee()->IgnoreParenImpCasts());
  return member == nullptr || member->isArrow();
}

// Returns true if each use in a statement only reads the value of the variable.
bool is_only_read(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Stmt* statement) {
  return statement == nullptr || llvm::all_of(uses_of(context, variable, *statement), [&](const variable_use& use) {
           return !use.is_in_lambda && is_read_of_value(context, *use.reference);
         });
}

// Returns whether a call reads the input into its arguments, and keeps no address of them.
bool is_input_call(const clang::Stmt& part) {
  const auto* call = dyn_cast<clang::CallExpr>(&part);
  const clang::FunctionDecl* function = call == nullptr ? nullptr : call->getDirectCallee();
  if (function == nullptr) return false;
  if (function->getOverloadedOperator() == clang::OO_GreaterGreater) return is_std_function(*function);
  return is_one_of(name_of(function), {"scanf", "fscanf", "sscanf"});
}

// Returns true if nothing but its name leads to the variable, so that no other code can change it in a loop.
bool is_reached_by_name_alone(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Stmt& loop) {
  const clang::FunctionDecl* function = function_around(context, loop);
  if (function == nullptr || function->getBody() == nullptr) return false;
  return llvm::all_of(uses_of(context, variable, *function->getBody()), [&](const variable_use& use) {
    if (is_read_of_value(context, *use.reference)) return true;
    const clang::Stmt* node = use.reference;
    const clang::Stmt* user = user_of(context, node);
    const auto* operation = user == nullptr ? nullptr : dyn_cast<clang::UnaryOperator>(user);
    if (operation != nullptr && operation->isIncrementDecrementOp()) return !use.is_in_lambda;
    const auto* assigned = user == nullptr ? nullptr : dyn_cast<clang::BinaryOperator>(user);
    if (assigned != nullptr && assigned->isAssignmentOp() && assigned->getLHS() == node) return !use.is_in_lambda;
    if (operation != nullptr && operation->getOpcode() == clang::UO_AddrOf) user = user_of(context, user);
    return user != nullptr && is_input_call(*user);
  });
}

std::optional<loop_count> bound_of(clang::ASTContext& context, const clang::Expr* bound, const clang::Stmt& loop) {
  if (const auto* call = size_call(bound)) {
    return size_of(context, call->getImplicitObjectArgument(), is_arrow_call(*call), loop);
  }
  bound = bound->IgnoreParenImpCasts();
  if (bound->isValueDependent() || !bound->getType()->isIntegerType() || bound->getType()->isBooleanType() ||
      bound->getType()->isAnyCharacterType() || context.getTypeSize(bound->getType()) > 64) {
    return std::nullopt;
  }
  clang::Expr::EvalResult value;
  if (bound->EvaluateAsInt(value, context)) {
    const llvm::APSInt& number = value.Val.getInt();
    if (number.isNegative() || number.getActiveBits() > 32) return std::nullopt;
    // Keeps the text, because a constant may change, unless it names something that only the loop declares.
    std::string text = has_inner_name(context, *bound, loop) ? std::to_string(number.getZExtValue())
                                                             : text_at(context, bound->getSourceRange());
    if (text.empty()) return std::nullopt;
    return loop_count{text, false, false, number.getZExtValue()};
  }
  const auto* reference = dyn_cast<clang::DeclRefExpr>(bound);
  const auto* variable = reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
  if (variable == nullptr || !variable->hasLocalStorage() || variable->getType()->isReferenceType() ||
      !has_type_of_pattern(*variable) || reference->getBeginLoc().isMacroID()) {
    return std::nullopt;
  }
  if (!is_only_read(context, *variable, &loop) || !is_reached_by_name_alone(context, *variable, loop))
    return std::nullopt;
  if (is_declared_in(context, *variable, loop)) {
    return variable->getInit() == nullptr ? std::nullopt : bound_of(context, variable->getInit(), loop);
  }
  return loop_count{variable->getNameAsString(), variable->getType()->isSignedIntegerType(), false, std::nullopt};
}

// Returns the variable that an expression increments by one, or null.
const clang::VarDecl* incremented_by(const clang::Expr* expression) {
  if (expression == nullptr) return nullptr;
  expression = expression->IgnoreParenImpCasts();
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(expression)) {
    expression = cleanups->getSubExpr()->IgnoreParenImpCasts();
  }
  const clang::Expr* operand = nullptr;
  if (const auto* operation = dyn_cast<clang::UnaryOperator>(expression)) {
    if (operation->isIncrementOp()) operand = operation->getSubExpr();
  } else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(expression)) {
    if (call->getOperator() == clang::OO_PlusPlus) operand = call->getArg(0);
  }
  const auto* reference = operand == nullptr ? nullptr : dyn_cast<clang::DeclRefExpr>(operand->IgnoreParenImpCasts());
  return reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
}

bool names(const clang::Expr* expression, const clang::VarDecl& variable) {
  const auto* reference = dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
  return reference != nullptr && reference->getDecl() == &variable;
}

// for (int i = 0; i < n; ++i), also with != and, from 1, with <=.
std::optional<loop_count> count_of_numbers(clang::ASTContext& context, const clang::ForStmt& loop,
                                           const clang::VarDecl& variable) {
  const auto* condition = dyn_cast<clang::BinaryOperator>(loop.getCond()->IgnoreParenImpCasts());
  if (condition == nullptr || !names(condition->getLHS(), variable)) return std::nullopt;
  clang::Expr::EvalResult first;
  if (variable.getInit() == nullptr || variable.getInit()->isValueDependent() ||
      !variable.getInit()->EvaluateAsInt(first, context)) {
    return std::nullopt;
  }
  const llvm::APSInt begin = first.Val.getInt();
  const bool counts_from_zero =
      begin == 0 && (condition->getOpcode() == clang::BO_LT || condition->getOpcode() == clang::BO_NE);
  const bool counts_from_one = begin == 1 && condition->getOpcode() == clang::BO_LE;
  if (!counts_from_zero && !counts_from_one) return std::nullopt;
  if (!is_only_read(context, variable, loop.getBody())) return std::nullopt;
  return bound_of(context, condition->getRHS(), loop);
}

// Returns the container of `container.begin()` or `container.end()`.
const clang::CXXMemberCallExpr* end_call(const clang::Expr* expression, llvm::StringRef plain,
                                         llvm::StringRef constant) {
  expression = expression->IgnoreUnlessSpelledInSource();
  const auto* call = dyn_cast<clang::CXXMemberCallExpr>(expression);
  if (call == nullptr || call->getMethodDecl() == nullptr || call->getMethodDecl()->getIdentifier() == nullptr) {
    return nullptr;
  }
  const llvm::StringRef name = call->getMethodDecl()->getName();
  return name == plain || name == constant ? call : nullptr;
}

// Returns whether an iterator is only followed to its element.
bool is_only_followed(clang::ASTContext& context, const clang::VarDecl& iterator, const clang::Stmt& body) {
  return llvm::all_of(uses_of(context, iterator, body), [&](const variable_use& use) {
    if (use.is_in_lambda) return false;
    const clang::DynTypedNodeList parents = context.getParents(*use.reference);
    const clang::Stmt* user = parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
    while (user != nullptr && isa<clang::ImplicitCastExpr, clang::ParenExpr>(user)) {
      const clang::DynTypedNodeList next = context.getParents(*user);
      user = next.empty() ? nullptr : next[0].get<clang::Stmt>();
    }
    const auto* call = user == nullptr ? nullptr : dyn_cast<clang::CXXOperatorCallExpr>(user);
    if (call != nullptr) {
      return call->getNumArgs() == 1 &&
             (call->getOperator() == clang::OO_Star || call->getOperator() == clang::OO_Arrow);
    }
    const auto* operation = user == nullptr ? nullptr : dyn_cast<clang::UnaryOperator>(user);
    return (operation != nullptr && operation->getOpcode() == clang::UO_Deref) ||
           (user != nullptr && isa<clang::MemberExpr>(user));
  });
}

// for (auto i = c.begin(); i != c.end(); ++i)
std::optional<loop_count> count_of_elements(clang::ASTContext& context, const clang::ForStmt& loop,
                                            const clang::VarDecl& iterator) {
  const clang::Expr* condition = loop.getCond()->IgnoreUnlessSpelledInSource();
  const clang::Expr* sides[2] = {};
  if (const auto* rewritten = dyn_cast<clang::CXXRewrittenBinaryOperator>(condition)) {
    if (rewritten->getOpcode() != clang::BO_NE) return std::nullopt;
    sides[0] = rewritten->getLHS();
    sides[1] = rewritten->getRHS();
  } else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(condition)) {
    if (call->getOperator() != clang::OO_ExclaimEqual || call->getNumArgs() != 2) return std::nullopt;
    sides[0] = call->getArg(0);
    sides[1] = call->getArg(1);
  } else if (const auto* operation = dyn_cast<clang::BinaryOperator>(condition)) {
    if (operation->getOpcode() != clang::BO_NE) return std::nullopt;
    sides[0] = operation->getLHS();
    sides[1] = operation->getRHS();
  } else {
    return std::nullopt;
  }
  if (!names(sides[0]->IgnoreUnlessSpelledInSource(), iterator) || iterator.getInit() == nullptr) return std::nullopt;
  const clang::CXXMemberCallExpr* begin = end_call(iterator.getInit(), "begin", "cbegin");
  const clang::CXXMemberCallExpr* end = end_call(sides[1], "end", "cend");
  if (begin == nullptr || end == nullptr || is_arrow_call(*begin) || is_arrow_call(*end)) return std::nullopt;
  const clang::Expr* container = begin->getImplicitObjectArgument();
  const std::string text = text_at(context, container->IgnoreParenImpCasts()->getSourceRange());
  if (text.empty() ||
      text != text_at(context, end->getImplicitObjectArgument()->IgnoreParenImpCasts()->getSourceRange())) {
    return std::nullopt;
  }
  if (!is_only_followed(context, iterator, *loop.getBody())) return std::nullopt;
  return size_of(context, container, false, loop);
}

}  // namespace

std::optional<loop_count> count_of(clang::ASTContext& context, const clang::Stmt& loop) {
  if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(&loop)) {
    return size_of(context, range->getRangeInit(), false, loop);
  }
  const auto* for_loop = dyn_cast<clang::ForStmt>(&loop);
  if (for_loop == nullptr || for_loop->getCond() == nullptr || for_loop->getConditionVariable() != nullptr) {
    return std::nullopt;
  }
  const clang::VarDecl* variable = incremented_by(for_loop->getInc());
  const auto* declaration = for_loop->getInit() == nullptr ? nullptr : dyn_cast<clang::DeclStmt>(for_loop->getInit());
  if (variable == nullptr || declaration == nullptr || !llvm::is_contained(declaration->decls(), variable)) {
    return std::nullopt;
  }
  return variable->getType()->isIntegerType() ? count_of_numbers(context, *for_loop, *variable)
                                              : count_of_elements(context, *for_loop, *variable);
}

bool can_leave_early(const clang::Stmt& statement) {
  bool can_leave = false;
  walk(statement, [&](const clang::Stmt& part, bool is_in_lambda) {
    can_leave = !is_in_lambda && (isa<clang::BreakStmt, clang::ContinueStmt, clang::ReturnStmt, clang::GotoStmt,
                                      clang::CXXThrowExpr, clang::CXXTryStmt>(part) ||
                                  calls_no_return(part));
    return !can_leave;
  });
  return can_leave;
}

bool may_reject_input(const clang::Stmt& statement) {
  bool may_reject = false;
  walk(statement, [&](const clang::Stmt& part, bool) {
    if (const auto* call = dyn_cast<clang::CallExpr>(&part)) may_reject = can_reject(call->getDirectCallee());
    if (const auto* call = dyn_cast<clang::CXXConstructExpr>(&part)) may_reject = can_reject(call->getConstructor());
    return !may_reject;
  });
  return may_reject;
}

}  // namespace tarn::tidy
