#include "profiler/tidy/reserve_check.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <llvm/ADT/STLExtras.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/tidy/empty_start.hpp"
#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/loop_count.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr llvm::StringRef growing[] = {"vector", "basic_string"};
constexpr std::uint64_t min_elements = 4;             // fewer grow once or twice
constexpr std::uint64_t min_characters = 32;          // a short string has no buffer
constexpr std::uint64_t max_unused_bytes = 64 << 10;  // of a constant number of elements, where the loop may end early

// The container of a growth, as the code names it: `v.`, `p->`, or `` for a member that only has its own name.
struct named_container {
  const clang::ValueDecl* declaration = nullptr;
  const clang::Expr* object = nullptr;
  std::string access;
  clang::QualType type;
};

std::optional<named_container> container_of(clang::ASTContext& context, const clang::Expr& call) {
  const clang::Expr* object = nullptr;
  bool is_arrow = false;
  if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(&call)) {
    object = operation->getArg(0);
  } else if (const auto* member_call = dyn_cast<clang::CXXMemberCallExpr>(&call)) {
    object = member_call->getImplicitObjectArgument();
    const auto* member = dyn_cast<clang::MemberExpr>(member_call->getCallee()->IgnoreParenImpCasts());
    is_arrow = member != nullptr && member->isArrow();
  }
  if (object == nullptr) return std::nullopt;
  object = object->IgnoreParenImpCasts();
  named_container result;
  result.object = object;
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(object)) {
    result.declaration = dyn_cast<clang::VarDecl>(reference->getDecl());
  } else if (const auto* member = dyn_cast<clang::MemberExpr>(object)) {
    if (isa<clang::CXXThisExpr>(member->getBase()->IgnoreParenImpCasts())) {
      result.declaration = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    }
  }
  if (result.declaration == nullptr) return std::nullopt;
  result.type = is_arrow ? object->getType()->getPointeeType() : object->getType();
  const std::string text = text_at(context, object->getSourceRange());
  if (text.empty() || !is_std_class(result.type, growing)) return std::nullopt;
  result.access = text + (is_arrow ? "->" : ".");
  return result;
}

// Returns how many elements a recorded buffer has, without the end of a string; 0 where that is not known.
std::uint64_t recorded_elements(clang::ASTContext& context, const named_container& container, const site* recorded) {
  const clang::QualType element = element_of(container.type);
  if (recorded == nullptr || recorded->bytes == 0 || element.isNull() || element->isIncompleteType() ||
      element->isBooleanType()) {
    return 0;
  }
  const std::uint64_t count =
      recorded->bytes / static_cast<std::uint64_t>(context.getTypeSizeInChars(element).getQuantity());
  return count > 0 && is_std_class(container.type, {"basic_string"}) ? count - 1 : count;
}

// Returns whether a growth adds exactly one element and runs once in each iteration of the loop directly around it.
bool grows_once_an_iteration(clang::ASTContext& context, const clang::Expr& call, const clang::Stmt& loop) {
  const auto* function = dyn_cast_or_null<clang::CXXMethodDecl>(
      isa<clang::CallExpr>(call) ? clang::cast<clang::CallExpr>(call).getDirectCallee() : nullptr);
  if (function == nullptr) return false;
  const bool is_named = function->getIdentifier() != nullptr;
  const bool adds_one = (is_named && (function->getName() == "push_back" || function->getName() == "emplace_back")) ||
                        (!is_named && function->getNumParams() == 1 &&
                         function->getParamDecl(0)->getType().getNonReferenceType()->isAnyCharacterType());
  if (!adds_one) return false;
  const clang::Stmt* body = body_of_loop(&loop);
  if (body == &call) return true;
  for (const clang::DynTypedNode& node : nodes_around(context, call)) {
    const auto* statement = node.get<clang::Stmt>();
    if (statement == nullptr) continue;
    const auto* logical = dyn_cast<clang::BinaryOperator>(statement);
    if (isa<clang::AbstractConditionalOperator, clang::IfStmt, clang::SwitchStmt, clang::CXXTryStmt>(statement) ||
        (logical != nullptr && logical->isLogicalOp()) || body_of_loop(statement) != nullptr) {
      return false;
    }
    if (statement == body) return true;
  }
  return false;
}

// Returns whether a growth runs whenever its loop starts, so that the container gets a buffer in any case.
bool surely_grows(clang::ASTContext& context, const clang::Expr& call, const clang::Stmt& loop) {
  if (!grows_once_an_iteration(context, call, loop) || can_leave_early(*body_of_loop(&loop))) return false;
  const std::optional<loop_count> count = count_of(context, loop);
  return isa<clang::DoStmt>(loop) || (count && count->constant && *count->constant > 0);
}

// Returns whether the construction of an element may refuse its arguments.
bool may_reject_element(const clang::Expr& call, clang::QualType element) {
  const auto* member = dyn_cast<clang::CXXMemberCallExpr>(&call);
  if (member == nullptr || member->getMethodDecl() == nullptr || member->getMethodDecl()->getIdentifier() == nullptr ||
      member->getMethodDecl()->getName() != "emplace_back") {
    return false;
  }
  const clang::CXXRecordDecl* record = element.isNull() ? nullptr : element->getAsCXXRecordDecl();
  return record != nullptr && !record->isAggregate() && !record->isInStdNamespace();
}

// Returns the obstacle in the loop, if there is one: code that removes elements or capacity.
std::optional<obstacle> hindrance_in(clang::ASTContext& context, const named_container& container,
                                     const clang::FunctionDecl& function, const clang::Stmt& loop) {
  const std::string name = quote(*container.declaration);
  for (const variable_use& use : uses_of(context, *container.declaration, *function.getBody())) {
    const clang::SourceLocation location = use.reference->getBeginLoc();
    if (use.kind == use_kind::capacity) return obstacle{"the code manages the room of " + name + " itself", location};
    if (!is_within(context, use.reference->getSourceRange(), loop.getSourceRange())) continue;
    if (use.kind == use_kind::clearing) return obstacle{name + " is cleared in the loop", location};
    if (use.kind == use_kind::change) return obstacle{name + " may lose its elements in the loop", location};
    if (use.kind == use_kind::growth && use.is_in_lambda) return obstacle{name + " grows in a lambda", location};
  }
  return std::nullopt;
}

// Returns whether a vector keeps its room from one run of a loop to the next, because it is cleared before the loop and
// not made anew. If the loop adds more each time, exact room is too little each time, where doubling soon suffices.
bool keeps_room(clang::ASTContext& context, const named_container& container, const clang::CompoundStmt& block,
                const clang::FunctionDecl& function) {
  if (!is_std_class(container.type, {"vector"}) || isa<clang::CXXConstructorDecl>(function)) return false;
  const auto* variable = dyn_cast<clang::VarDecl>(container.declaration);
  if (variable == nullptr || !variable->hasLocalStorage() || !variable->getType()->isRecordType()) return true;
  for (const clang::DynTypedNode& node : nodes_around(context, block)) {
    const auto* outer = node.get<clang::Stmt>();
    if (outer != nullptr && is_within(context, variable->getSourceRange(), outer->getSourceRange())) return false;
    if (outer != nullptr && body_of_loop(outer) != nullptr) return true;
  }
  return false;
}

}  // namespace

void reserve_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  const auto grows = cxxMethodDecl(hasAnyName("push_back", "emplace_back", "append", "operator+="),
                                   ofClass(hasAnyName("::std::vector", "::std::basic_string")));
  match_capacity(finder);
  finder->addMatcher(cxxMemberCallExpr(callee(grows)).bind("growth"), this);
  finder->addMatcher(cxxOperatorCallExpr(hasOverloadedOperatorName("+="), callee(grows)).bind("growth"), this);
}

void reserve_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const auto* call = result.Nodes.getNodeAs<clang::Expr>("growth");
  const site* recorded = has_sites() ? sites().find(*result.SourceManager, call->getSourceRange()) : nullptr;
  if (has_sites() && recorded == nullptr) return;
  if (result.SourceManager->isInSystemHeader(result.SourceManager->getExpansionLoc(call->getBeginLoc()))) return;
  const clang::FunctionDecl* function = function_around(*result.Context, *call);
  if (function == nullptr || function->isDependentContext()) return;
  add(call->getBeginLoc(), judge(*result.Context, *call, recorded));
}

verdict reserve_check::judge(clang::ASTContext& context, const clang::Expr& call, const site* recorded) const {
  if (!is_editable(context, call.getSourceRange()))
    return refusal(call.getBeginLoc(), {"a macro writes this code", call.getBeginLoc()});
  const std::optional<named_container> container = container_of(context, call);
  if (!container)
    return refusal(call.getBeginLoc(),
                   {"the container is no variable and no member of this object", call.getBeginLoc()});
  const clang::ValueDecl& declaration = *container->declaration;
  const clang::FunctionDecl& function = *function_around(context, call);
  if (!is_std_class_in_all_instantiations(declaration, growing)) {
    return refusal(call.getBeginLoc(),
                   {"'" + declaration.getNameAsString() + "' may be another class in another instantiation",
                    declaration.getLocation()});
  }

  const std::variant<empty_start, obstacle> start = find_empty_start(context, declaration, call, function);
  if (const auto* problem = std::get_if<obstacle>(&start)) return refusal(call.getBeginLoc(), *problem);
  const clang::Stmt& loop = *std::get<empty_start>(start).loop;
  const clang::CompoundStmt& block = *std::get<empty_start>(start).block;
  if (has_unusual_entry(function, block))
    return refusal(call.getBeginLoc(), {"the block has labels or can be suspended", block.getBeginLoc()});
  if (has_directives(context.getSourceManager(), block.getSourceRange())) {
    return refusal(call.getBeginLoc(), {"the block differs from configuration to configuration", block.getBeginLoc()});
  }
  if (!is_editable(context, loop.getSourceRange()))
    return refusal(call.getBeginLoc(), {"a macro writes the loop", loop.getBeginLoc()});
  if (std::optional<obstacle> problem = hindrance_in(context, *container, function, loop))
    return refusal(call.getBeginLoc(), *problem);

  // The number of elements is that of the loop's iterations if each adds one; otherwise it is the recorded number.
  const clang::Stmt& body = *body_of_loop(&loop);
  const std::vector<variable_use> uses = uses_of(context, declaration, loop);
  const auto growths = llvm::count_if(uses, [](const variable_use& use) { return use.kind == use_kind::growth; });
  std::optional<loop_count> count;
  if (growths == 1 && grows_once_an_iteration(context, call, loop) && !can_leave_early(body))
    count = count_of(context, loop);
  const bool is_string = is_std_class(container->type, {"basic_string"});
  const std::uint64_t min_count = is_string ? min_characters : min_elements;
  if (count && count->constant && *count->constant < min_count) count.reset();
  const std::uint64_t elements = recorded_elements(context, *container, recorded);
  const clang::QualType element = element_of(container->type);
  const bool is_small = count && count->constant && !element->isIncompleteType() &&
                        *count->constant <= max_unused_bytes / static_cast<std::uint64_t>(
                                                                   context.getTypeSizeInChars(element).getQuantity());
  const bool is_certain =
      count && (count->is_size || is_small || !(may_reject_input(body) || may_reject_element(call, element)));
  std::string reserve;
  std::string amount, origin;
  verdict result;
  result.level = certainty::proven;
  if (count && (is_certain || elements == 0)) {
    if (!is_certain) {
      result.level = certainty::review;
      result.notes.push_back({"an iteration may throw before there are so many", body.getBeginLoc()});
    }
    if (!count->constant && !is_within(context, declaration.getSourceRange(), block.getSourceRange()) &&
        keeps_room(context, *container, block, function)) {
      result.notes.push_back({"it keeps its room, and may grow less often without exact room for each run of the loop",
                              declaration.getLocation()});
    }
    amount = count->text;
    reserve = container->access + "reserve(" + count->text + ");";
    if (count->may_be_negative) {
      reserve = "if (" + count->text + " > 0) " + container->access + "reserve(static_cast<std::size_t>(" +
                count->text + "));";
    }
  } else if (elements >= min_count) {
    amount = std::to_string(elements);
    reserve = container->access + "reserve(" + amount + ");";
    origin = ", from the recording";
    if (count && !count->constant) {
      reserve = "if (" + count->text + " > 0) " + reserve;
    } else if (!count && !surely_grows(context, call, loop)) {
      result.level = certainty::review;
      origin += "; but a call that adds nothing leaves no trace in it, and would then allocate, too";
      result.notes.push_back({"this may never run", call.getBeginLoc()});
    }
  } else {
    return refusal(call.getBeginLoc(),
                   {"how many elements there will be is not known before the loop", loop.getBeginLoc()});
  }
  if (!has_library_allocator(container->type))
    result.notes.push_back({"the allocator is one of the program", declaration.getLocation()});
  if (!is_moved_quietly(element))
    result.notes.push_back({"the code that moves or ends an element would run less often", declaration.getLocation()});
  if (!result.notes.empty()) result.level = certainty::review;
  result.container = container->type->getAsCXXRecordDecl();
  result.location = loop.getBeginLoc();
  result.text = "'" + declaration.getNameAsString() + "' grows in this loop, one allocation instead of many: reserve(" +
                amount + ")" + origin;
  result.edits.push_back(
      clang::FixItHint::CreateInsertion(loop.getBeginLoc(), reserve + new_line_at(context, loop.getBeginLoc())));
  return result;
}

}  // namespace tarn::tidy
