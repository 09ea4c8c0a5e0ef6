#include "profiler/tidy/assignment.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Twine.h>

#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;
using clang::isa_and_nonnull;

using answer = std::variant<assignment, obstacle>;

// Steps to the expression that computes a value, over what the compiler adds to it.
const clang::Expr* without_conversions(const clang::Expr* expression) {
  for (;;) {
    const clang::Expr* inner = expression->IgnoreParenImpCasts();
    if (const auto* full = dyn_cast<clang::FullExpr>(inner)) inner = full->getSubExpr();
    if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(inner)) inner = temporary->getSubExpr();
    if (const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(inner)) inner = bound->getSubExpr();
    if (inner == expression) return expression;
    expression = inner;
  }
}

bool is_same_class(clang::QualType first, clang::QualType second) {
  const clang::CXXRecordDecl* record = first.getNonReferenceType()->getAsCXXRecordDecl();
  const clang::CXXRecordDecl* second_record = second.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && second_record != nullptr &&
         record->getCanonicalDecl() == second_record->getCanonicalDecl();
}

// Returns whether an element can be assigned to, so that a container of such elements can.
bool is_assignable(clang::QualType type) {
  if (type.isConstQualified() || type->isReferenceType()) return false;
  if (type->isScalarType()) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return false;
  if (record->isInStdNamespace()) return is_std_class(type, {"basic_string"});
  const bool has_own = llvm::any_of(record->methods(), [](const clang::CXXMethodDecl* method) {
    return (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator()) && !method->isImplicit();
  });
  return !has_own && !record->hasUserDeclaredMoveConstructor() && !record->hasUserDeclaredCopyConstructor() &&
         llvm::all_of(record->bases(), [](const auto& base) { return is_assignable(base.getType()); }) &&
         llvm::all_of(record->fields(), [](const auto* field) { return is_assignable(field->getType()); });
}

// Returns whether a text of this type can be assigned to a std::string or appended to it.
bool is_text(clang::ASTContext& context, clang::QualType type, clang::QualType string) {
  type = type.getNonReferenceType();
  if (is_same_class(type, string)) return true;
  if (is_std_class(type, {"basic_string_view"}) && !type->isPointerType()) return true;
  const clang::QualType element = type->isArrayType()     ? context.getAsArrayType(type)->getElementType()
                                  : type->isPointerType() ? type->getPointeeType()
                                                          : type;
  return element->isAnyCharacterType();
}

// Code that may have an effect on what another operand reads.
struct effect {
  clang::SourceLocation location = {};
  bool is_certain = false;  // otherwise it is a constant function of the program
};

// Returns whether a call of the library only reads its object or its argument.
bool is_reading_call(clang::ASTContext& context, const clang::CallExpr& call) {
  const clang::FunctionDecl* function = call.getDirectCallee();
  if (function == nullptr || !is_std_function(*function) || may_run_program(context, call)) return false;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (method != nullptr && method->isConst()) return true;
  switch (function->getOverloadedOperator()) {
    case clang::OO_Plus:
    case clang::OO_Arrow: return true;
    case clang::OO_Star: return call.getNumArgs() == 1;
    case clang::OO_Subscript:  // that of a map would add an element
      return method != nullptr && is_std_class(clang::QualType(method->getParent()->getTypeForDecl(), 0),
                                               {"vector", "basic_string", "array", "deque", "span"});
    default: break;
  }
  return is_one_of(name_of(function), {"front", "back", "at", "data", "begin", "end", "to_string"});
}

effect effect_in(clang::ASTContext& context, const clang::Expr& expression) {
  effect result;
  walk(expression, [&](const clang::Stmt& part, bool) {
    const auto* unary = dyn_cast<clang::UnaryOperator>(&part);
    const auto* binary = dyn_cast<clang::BinaryOperator>(&part);
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(&part);
    const auto* call = dyn_cast<clang::CallExpr>(&part);
    for (const clang::Expr* added : added_expressions(part)) {
      const effect inner = effect_in(context, *added);
      if (inner.location.isValid() && !result.is_certain) result = inner;
    }
    if ((unary != nullptr && unary->isIncrementDecrementOp()) ||
        (binary != nullptr && (binary->isAssignmentOp() || binary->getOpcode() == clang::BO_Comma)) ||
        (construction != nullptr && !is_std_function(*construction->getConstructor())) ||
        isa<clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXThrowExpr, clang::LambdaExpr, clang::StmtExpr>(part)) {
      result = {part.getBeginLoc(), true};
    } else if (call != nullptr && !is_reading_call(context, *call)) {
      const auto* method = dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
      result = {part.getBeginLoc(), method == nullptr || !method->isConst() || is_std_function(*method)};
    }
    return !result.is_certain;
  });
  return result;
}

// Returns a temporary object of the program's own class. Its destructor would run between the new statements.
clang::SourceLocation temporary_in(const clang::Expr& expression) {
  clang::SourceLocation result;
  walk(expression, [&](const clang::Stmt& part, bool) {
    const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(&part);
    const clang::CXXRecordDecl* record = bound == nullptr ? nullptr : bound->getType()->getAsCXXRecordDecl();
    if (bound != nullptr && (record == nullptr || !record->isInStdNamespace())) result = part.getBeginLoc();
    return result.isInvalid();
  });
  return result;
}

// Splits `first + second + third` of strings.
void add_operands(const clang::Expr* expression, std::vector<const clang::Expr*>& operands) {
  const clang::Expr* inner = without_conversions(expression);
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(inner);
  const clang::FunctionDecl* function = call == nullptr ? nullptr : call->getDirectCallee();
  if (function == nullptr || call->getOperator() != clang::OO_Plus || call->getNumArgs() != 2 ||
      !function->isInStdNamespace() || !is_std_class(call->getType(), {"basic_string"})) {
    operands.push_back(expression);
    return;
  }
  add_operands(call->getArg(0), operands);
  operands.push_back(call->getArg(1));
}

// std::string s = first + second; becomes s = first; s += second;
answer answer_append(clang::ASTContext& context, const clang::VarDecl& variable,
                     const std::vector<const clang::Expr*>& operands) {
  const std::string name = variable.getNameAsString();
  assignment result;
  for (const clang::Expr* operand : operands) {
    const clang::Expr* inner = without_conversions(operand);
    const std::string text = text_at(context, operand->getSourceRange());
    if (text.empty() || operand->getBeginLoc().isMacroID() || operand->getEndLoc().isMacroID())
      return obstacle{"a macro writes this code", operand->getBeginLoc()};
    if (!is_text(context, inner->getType(), variable.getType()))
      return obstacle{"this is no text of the library", operand->getBeginLoc()};
    if (const clang::SourceLocation location = temporary_in(*operand); location.isValid())
      return obstacle{"this object would end before the whole text is there", location};
    if (operand == operands.front() && inner->isPRValue() && is_same_class(inner->getType(), variable.getType()))
      return obstacle{"'" + name + "' takes over the memory of this value", operand->getBeginLoc()};
    if (operand != operands.front()) {
      const effect next = effect_in(context, *operand);
      if (next.is_certain) return obstacle{"this may change what stands before it in the text", next.location};
      if (next.location.isValid()) result.reordered = next.location;
    }
    const char* const assign = operand == operands.front() ? " = " : " += ";
    result.statements.push_back((llvm::Twine(name) + assign + text + ";").str());
  }
  return result;
}

// std::string s = text.substr(first, count); becomes s.assign(text, first, count);
answer part_assigned(clang::ASTContext& context, const clang::VarDecl& variable, const clang::CXXMemberCallExpr& call,
                     const obstacle& otherwise) {
  const auto* member = dyn_cast<clang::MemberExpr>(call.getCallee()->IgnoreParenImpCasts());
  const clang::Expr* object = call.getImplicitObjectArgument();
  if (member == nullptr || !object->isLValue() || member->getBase()->isImplicitCXXThis() || member->isArrow() ||
      !is_same_class(object->getType(), variable.getType()) ||
      !is_same_class(clang::QualType(call.getMethodDecl()->getParent()->getTypeForDecl(), 0), variable.getType())) {
    return otherwise;
  }
  std::string text = text_at(context, member->getBase()->getSourceRange());
  if (text.empty() || member->getBase()->getBeginLoc().isMacroID()) return otherwise;
  for (const clang::Expr* argument : call.arguments()) {
    if (isa<clang::CXXDefaultArgExpr>(argument)) continue;
    const std::string part = text_at(context, argument->getSourceRange());
    if (part.empty() || argument->getBeginLoc().isMacroID() || argument->getEndLoc().isMacroID()) return otherwise;
    text += ", " + part;
  }
  const bool is_whole = text.find(',') == std::string::npos;
  return assignment{{variable.getNameAsString() + (is_whole ? " = " + text + ";" : ".assign(" + text + ");")}};
}

// Returns the text of the arguments of a construction, without the brackets around them.
std::string arguments_text(clang::ASTContext& context, const clang::VarDecl& variable,
                           const clang::CXXConstructExpr& construction) {
  const clang::SourceRange brackets = construction.getParenOrBraceRange();
  if (variable.getInitStyle() != clang::VarDecl::CInit || brackets.isValid()) {
    const std::string text = text_at(context, brackets);
    return text.size() < 2 || brackets.getBegin().isMacroID() ? std::string() : text.substr(1, text.size() - 2);
  }
  const clang::SourceRange range = variable.getInit()->getSourceRange();
  return range.getBegin().isMacroID() || range.getEnd().isMacroID() ? std::string() : text_at(context, range);
}

// Returns the construction of a variable. Before C++17, `std::string s = "text"` moves a temporary.
const clang::Expr* value_of(const clang::VarDecl& variable) {
  const clang::Expr* value = without_conversions(variable.getInit());
  const auto* construction = dyn_cast<clang::CXXConstructExpr>(value);
  while (construction != nullptr && construction->isElidable() && construction->getNumArgs() > 0) {
    value = without_conversions(construction->getArg(0));
    construction = dyn_cast<clang::CXXConstructExpr>(value);
  }
  return value;
}

std::vector<const clang::Expr*> arguments_of(const clang::CXXConstructExpr& construction) {
  std::vector<const clang::Expr*> arguments;
  for (const clang::Expr* argument : construction.arguments()) {
    if (!isa<clang::CXXDefaultArgExpr>(argument)) arguments.push_back(argument);
  }
  return arguments;
}

}  // namespace

const clang::Expr* lender_of(const clang::VarDecl& variable) {
  if (variable.getInit() == nullptr || variable.getInitStyle() != clang::VarDecl::CallInit) return nullptr;
  const auto* construction = dyn_cast<clang::CXXConstructExpr>(value_of(variable));
  if (construction == nullptr || !is_same_class(construction->getType(), variable.getType())) return nullptr;
  const std::vector<const clang::Expr*> arguments = arguments_of(*construction);
  if (arguments.empty()) return nullptr;
  const clang::Expr* last = without_conversions(arguments.back());
  const auto* conversion = dyn_cast<clang::CXXConstructExpr>(last);  // from the allocator of other elements
  if (conversion != nullptr && conversion->getNumArgs() == 1) last = without_conversions(conversion->getArg(0));
  const auto* call = dyn_cast<clang::CXXMemberCallExpr>(last);
  const clang::CXXMethodDecl* function = call == nullptr ? nullptr : call->getMethodDecl();
  const clang::CXXRecordDecl* allocator = call == nullptr ? nullptr : call->getType()->getAsCXXRecordDecl();
  if (function == nullptr || !is_std_function(*function) || name_of(function) != "get_allocator" ||
      allocator == nullptr || allocator->getQualifiedNameAsString() != "std::pmr::polymorphic_allocator") {
    return nullptr;
  }
  return call->getImplicitObjectArgument();
}

answer assignment_of(clang::ASTContext& context, const clang::VarDecl& variable) {
  const std::string name = variable.getNameAsString();
  const clang::SourceLocation location = variable.getLocation();
  const obstacle unknown{"how '" + name + "' is constructed cannot be written as an assignment", location};
  if (variable.getInit() == nullptr) return unknown;
  const clang::Expr* value = value_of(variable);
  const auto* construction = dyn_cast<clang::CXXConstructExpr>(value);
  if (construction == nullptr) {
    const obstacle result{"'" + name + "' takes over the memory of this value", value->getBeginLoc()};
    std::vector<const clang::Expr*> operands;
    add_operands(value, operands);
    if (operands.size() > 1) return answer_append(context, variable, operands);
    const auto* call = dyn_cast<clang::CXXMemberCallExpr>(value);
    const clang::CXXMethodDecl* function = call == nullptr ? nullptr : call->getMethodDecl();
    const bool is_part = function != nullptr && is_std_function(*function) && name_of(function) == "substr";
    return is_part ? part_assigned(context, variable, *call, result) : result;
  }
  if (!is_same_class(construction->getType(), variable.getType())) return unknown;
  std::vector<const clang::Expr*> arguments = arguments_of(*construction);
  const bool has_lender = lender_of(variable) != nullptr;
  if (has_lender) arguments.pop_back();
  const assignment cleared{{name + ".clear();"}};
  if (arguments.empty()) return cleared;
  const clang::CXXConstructorDecl* constructor = construction->getConstructor();
  if (constructor->isMoveConstructor())
    return obstacle{"'" + name + "' takes over the memory of this value", arguments[0]->getBeginLoc()};
  const bool is_string = is_std_class(variable.getType(), {"basic_string"});
  const clang::CXXRecordDecl* record = variable.getType()->getAsCXXRecordDecl();
  const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  const clang::QualType element = specialization->getTemplateArgs()[0].getAsType();
  const clang::QualType first = arguments[0]->getType().getNonReferenceType();
  const auto* literal = dyn_cast<clang::StringLiteral>(arguments[0]->IgnoreParenImpCasts());
  if (is_string && arguments.size() == 1 && literal != nullptr && literal->getLength() == 0) return cleared;
  std::string text = arguments_text(context, variable, *construction);
  if (has_lender && !text.empty())
    text = text_at(context, {arguments.front()->getBeginLoc(), arguments.back()->getEndLoc()});
  if (text.empty() || text.front() == '{') return unknown;
  if (!is_assignable(element)) return obstacle{"the elements of '" + name + "' may not be assignable", location};
  // An allocator would be one more class among the arguments.
  for (const clang::Expr* argument : arguments) {
    const clang::CXXRecordDecl* type = without_conversions(argument)->getType()->getAsCXXRecordDecl();
    if (type != nullptr && type->isInStdNamespace() && type->getIdentifier() != nullptr &&
        type->getName() == "allocator") {
      return unknown;
    }
  }
  const bool is_list = is_std_class(constructor->getParamDecl(0)->getType(), {"initializer_list"});
  if (arguments.size() == 1) {
    if (is_list) {
      const std::string list = text_at(context, construction->getParenOrBraceRange());
      return list.empty() || list.front() != '{' ? answer(unknown) : assignment{{name + " = " + list + ";"}};
    }
    const clang::Expr* source = without_conversions(arguments[0]);
    // A class with several conversions may have another one for an assignment.
    const auto* conversion = dyn_cast<clang::CXXMemberCallExpr>(source);
    if (conversion != nullptr && isa_and_nonnull<clang::CXXConversionDecl>(conversion->getMethodDecl()) &&
        !is_std_function(*conversion->getMethodDecl())) {
      return unknown;
    }
    if (is_same_class(source->getType(), variable.getType())) {
      if (constructor->isCopyConstructor() && source->isLValue()) return assignment{{name + " = " + text + ";"}};
      return unknown;
    }
    if (is_string && is_text(context, source->getType(), variable.getType()) &&
        !source->getType()->isAnyCharacterType())
      return assignment{{name + " = " + text + ";"}};
    if (!is_string && first->isIntegerType()) return assignment{{name + ".clear();", name + ".resize(" + text + ");"}};
    return unknown;
  }
  if (is_list || arguments.size() > 3) return unknown;
  if (arguments.size() == 3 && !(is_string && is_same_class(first, variable.getType()))) return unknown;
  return assignment{{name + ".assign(" + text + ");"}};
}

}  // namespace tarn::tidy
