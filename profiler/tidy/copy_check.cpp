#include "profiler/tidy/copy_check.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/tidy/changes.hpp"
#include "profiler/tidy/references.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using clang::SourceLocation;

clang::QualType value_type(clang::QualType type) {
  return type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
}

// Returns the call of a constructor that makes an initial value, or null.
const clang::CXXConstructExpr* construction_of(const clang::Expr* value) {
  if (value == nullptr) return nullptr;
  if (const auto* usual_value = dyn_cast<clang::CXXDefaultArgExpr>(value)) value = usual_value->getExpr();
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(value)) value = cleanups->getSubExpr();
  if (const auto* list = dyn_cast<clang::InitListExpr>(value); list != nullptr && list->getNumInits() == 1)
    value = list->getInit(0);
  if (const auto* temporary = dyn_cast<clang::CXXBindTemporaryExpr>(value)) value = temporary->getSubExpr();
  return dyn_cast<clang::CXXConstructExpr>(value);
}

// Returns the object that an initial value copies, or null.
const clang::Expr* source_of(const clang::Expr* value) {
  const clang::CXXConstructExpr* construction = construction_of(value);
  if (construction == nullptr || !construction->getConstructor()->isCopyConstructor() ||
      construction->getNumArgs() < 1) {
    return nullptr;
  }
  const clang::Expr* source = construction->getArg(0);
  return source->isLValue() &&
                 value_type(source->IgnoreParenImpCasts()->getType()) == value_type(construction->getType())
             ? source
             : nullptr;
}

// Returns whether a copy of such an object takes memory, and does nothing else.
bool is_dear_copy(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->hasDefinition() && !record->hasTrivialCopyConstructor() && has_plain_copy(type);
}

// Returns the edits that make a reference to a constant of what a declaration names; none where its type is not
// written out alone.
std::vector<clang::FixItHint> edits_of(const clang::ASTContext& context, const clang::VarDecl& variable) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::TypeLoc whole = variable.getTypeSourceInfo()->getTypeLoc();
  const SourceLocation end = whole.getUnqualifiedLoc().getEndLoc();
  const SourceLocation begin = variable.getBeginLoc();
  if (!is_editable(context, {begin, end}) || whole.getBeginLoc().isInvalid()) return {};
  const SourceLocation behind = clang::Lexer::getLocForEndOfToken(end, 0, sources, context.getLangOpts());
  std::vector<clang::FixItHint> edits;
  const bool is_constant = variable.getType().isConstQualified();
  // `std::string const name` has the word behind the type.
  const SourceLocation name = variable.getLocation();
  if (name.isValid() && !variable.getName().empty()) {
    const std::string gap =
        clang::Lexer::getSourceText(clang::CharSourceRange::getCharRange(behind, name), sources, context.getLangOpts())
            .str();
    if (llvm::StringRef(gap).trim() != "") return {};
  }
  if (!is_constant) edits.push_back(clang::FixItHint::CreateInsertion(begin, "const "));
  edits.push_back(clang::FixItHint::CreateInsertion(behind, "&"));
  return edits;
}

bool is_decltype_auto(clang::QualType type) {
  const clang::AutoType* deduced = type->getContainedAutoType();
  return deduced != nullptr && deduced->isDecltypeAuto();
}

// Returns why the uses of a copy do not allow a reference.
std::optional<obstacle> changing_use(clang::ASTContext& context, const clang::VarDecl& variable,
                                     llvm::ArrayRef<variable_use> uses) {
  for (const variable_use& use : uses) {
    const SourceLocation location = use.reference->getBeginLoc();
    if (use.is_in_lambda) return obstacle{"a lambda uses " + quote(variable), location};
    if (!only_reads(context, *use.reference))
      return obstacle{quote(variable) + " may be changed or given away", location};
  }
  return std::nullopt;
}

// Returns the statements of a block in which a copy is used, those before its last use included.
std::vector<const clang::Stmt*> code_with(clang::ASTContext& context, const clang::Stmt& scope, SourceLocation begin,
                                          llvm::ArrayRef<variable_use> uses) {
  std::vector<const clang::Stmt*> result;
  const auto* block = dyn_cast<clang::CompoundStmt>(&scope);
  if (block == nullptr) return {&scope};
  const clang::SourceManager& sources = context.getSourceManager();
  std::size_t needed = 0;
  for (const clang::Stmt* next : block->body()) {
    if (sources.isBeforeInTranslationUnit(next->getEndLoc(), begin) || next->getBeginLoc() == begin) continue;
    result.push_back(next);
    if (llvm::any_of(uses, [&](const variable_use& use) {
          return is_within(context, use.reference->getSourceRange(), next->getSourceRange());
        })) {
      needed = result.size();
    }
  }
  // Something that refers to it may be used later.
  const bool is_kept =
      llvm::any_of(uses, [&](const variable_use& use) { return trace_of(context, *use.reference) != trace::nothing; });
  if (!is_kept) result.resize(needed);
  return result;
}

// Returns where an argument of a call may change what another one copies, or where the call is not known.
SourceLocation change_by_arguments(clang::ASTContext& context, const clang::CallExpr& call, unsigned copied) {
  const clang::Expr* source = copied < call.getNumArgs() ? source_of(call.getArg(copied)) : nullptr;
  if (source == nullptr) return {};
  const clang::FunctionDecl* function = function_around(context, call);
  if (function == nullptr) return call.getBeginLoc();
  std::vector<const clang::VarDecl*> variables;
  walk(*source, [&](const clang::Stmt& part, bool) {
    const auto* reference = dyn_cast<clang::DeclRefExpr>(&part);
    const auto* variable = reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
    if (variable != nullptr) variables.push_back(variable);
    return true;
  });
  for (unsigned index = 0; index < call.getNumArgs(); ++index) {
    if (index == copied) continue;
    const clang::Expr* argument = call.getArg(index);
    if (change_in(context, {argument}, source->getType(), variables, *function)) return argument->getBeginLoc();
  }
  return {};
}

// Returns where a function uses what lets another thread run.
SourceLocation thread_in(const clang::Stmt& code) {
  SourceLocation result;
  walk(code, [&](const clang::Stmt& part, bool) {
    if (lets_threads_run(part)) result = part.getBeginLoc();
    return result.isInvalid();
  });
  return result;
}

}  // namespace

void copy_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) { match_functions(finder); }

void copy_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const clang::FunctionDecl* function = recorded_function(result);
  if (function == nullptr) return;
  clang::ASTContext& context = *result.Context;
  const auto is_recorded = [&](clang::SourceRange range) {
    return sites().find(*result.SourceManager, range) != nullptr;
  };
  walk(*function->getBody(), [&](const clang::Stmt& part, bool) {
    if (const auto* declarations = dyn_cast<clang::DeclStmt>(&part)) {
      for (const clang::Decl* next : declarations->decls()) {
        const auto* variable = dyn_cast<clang::VarDecl>(next);
        if (variable != nullptr && is_recorded(declarations->getSourceRange())) judge_variable(context, *variable);
      }
    }
    const auto* call = dyn_cast<clang::CallExpr>(&part);
    const clang::FunctionDecl* called = call == nullptr ? nullptr : call->getDirectCallee();
    if (called == nullptr || isa<clang::CXXOperatorCallExpr>(call) || is_std_function(*called)) return true;
    for (unsigned index = 0; index < call->getNumArgs() && index < called->getNumParams(); ++index) {
      const clang::Expr* argument = call->getArg(index);
      if (source_of(argument) != nullptr && is_recorded(argument->getSourceRange()))
        judge_argument(context, *called, index);
    }
    return true;
  });
}

void copy_check::judge_variable(clang::ASTContext& context, const clang::VarDecl& variable) {
  if (!variable.hasLocalStorage() || variable.isImplicit() || variable.getType()->isReferenceType() ||
      isa<clang::DecompositionDecl>(variable) || !is_dear_copy(variable.getType())) {
    return;
  }
  const clang::Expr* source = source_of(variable.getInit());
  const clang::DynTypedNodeList statements = context.getParents(variable);
  const auto* statement = statements.empty() ? nullptr : statements[0].get<clang::DeclStmt>();
  if (source == nullptr || statement == nullptr) return;
  const clang::FunctionDecl* function = function_around(context, *statement);
  const clang::DynTypedNodeList owners = context.getParents(*statement);
  const auto* owner = owners.empty() ? nullptr : owners[0].get<clang::Stmt>();
  const auto* loop = dyn_cast_or_null<clang::CXXForRangeStmt>(owner);
  if (loop != nullptr) source = loop->getRangeInit();
  const clang::Stmt* scope = loop != nullptr ? loop->getBody() : dyn_cast_or_null<clang::CompoundStmt>(owner);
  if (function == nullptr || function->getBody() == nullptr || scope == nullptr) return;
  add(variable.getLocation(), judge(context, variable, *source, *scope, *function));
}

verdict copy_check::judge(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Expr& source,
                          const clang::Stmt& scope, const clang::FunctionDecl& function) const {
  const SourceLocation start = variable.getLocation();
  const std::string name = quote(variable);
  const auto refuse = [&](const std::string& text, SourceLocation location) {
    return refusal(start, {text, location});
  };
  if (!is_editable(context, variable.getSourceRange())) return refuse("a macro writes this code", start);
  const clang::DynTypedNodeList statements = context.getParents(variable);
  if (!statements[0].get<clang::DeclStmt>()->isSingleDecl())
    return refuse("the statement declares several variables", start);
  if (variable.hasAttrs() || variable.isConstexpr() || variable.getType().isVolatileQualified())
    return refuse(name + " has attributes", start);
  if (is_decltype_auto(variable.getTypeSourceInfo()->getType()) || is_decltype_auto(function.getDeclaredReturnType()))
    return refuse("decltype(auto) would make a reference of it", start);
  if (!has_type_of_pattern(variable)) return refuse(name + " may be of another type in another instantiation", start);
  if (!has_value_of_pattern(variable)) return refuse(name + " may be no copy in another instantiation", start);
  if (has_unusual_entry(function, *function.getBody()))
    return refuse("the function has labels or can be suspended", function.getLocation());
  if (has_directives(context.getSourceManager(), {variable.getBeginLoc(), scope.getEndLoc()}))
    return refuse("the block differs from configuration to configuration", scope.getBeginLoc());
  const std::vector<variable_use> uses = uses_of(context, variable, scope);
  if (const std::optional<obstacle> problem = changing_use(context, variable, uses)) return refusal(start, *problem);
  const origin original = origin_of(context, source, function, variable);
  if (original.kind == owner_kind::temporary)
    return refuse("the original of " + name + " may end before it, or is not known", source.getBeginLoc());

  const std::vector<clang::FixItHint> edits = edits_of(context, variable);
  if (edits.empty()) return refuse("the type of " + name + " is not written out alone", start);
  verdict result;
  result.level = certainty::proven;
  const std::vector<const clang::Stmt*> code = code_with(context, scope, variable.getBeginLoc(), uses);
  for (const clang::VarDecl* leading : original.variables) {
    for (const clang::Stmt* part : code) {
      for (const variable_use& use : uses_of(context, *leading, *part)) {
        if (use.is_in_lambda) return refuse("a lambda uses the original of " + name, use.reference->getBeginLoc());
        if (!only_reads(context, *use.reference) && !leading->getType()->isReferenceType())
          return refuse("the original of " + name + " may be changed while it is used", use.reference->getBeginLoc());
      }
    }
  }
  if (original.kind == owner_kind::elsewhere) {
    if (const std::optional<obstacle> problem =
            change_in(context, code, variable.getType(), original.variables, function))
      result.notes.push_back(*problem);
    if (const SourceLocation thread = thread_in(*function.getBody()); thread.isValid())
      result.notes.push_back({"another thread may change the original", thread});
  }
  if (!result.notes.empty()) result.level = certainty::review;
  result.location = start;
  result.text = name + " is only read: a reference to the original, in place of a copy";
  result.edits = edits;
  return result;
}

void copy_check::judge_argument(clang::ASTContext& context, const clang::FunctionDecl& called, unsigned index) {
  const clang::FunctionDecl* definition = nullptr;
  if (!called.isDefined(definition) || definition->getBody() == nullptr || definition->isTemplateInstantiation() ||
      definition->isDependentContext() || isa<clang::CXXConstructorDecl>(definition) ||
      definition->isOverloadedOperator()) {
    return;
  }
  const clang::ParmVarDecl& parameter = *definition->getParamDecl(index);
  if (parameter.getType()->isReferenceType() || !is_dear_copy(parameter.getType())) return;
  add(parameter.getLocation(), judge(context, parameter, *definition));
}

verdict copy_check::judge(clang::ASTContext& context, const clang::ParmVarDecl& parameter,
                          const clang::FunctionDecl& function) const {
  const SourceLocation start = parameter.getLocation();
  const std::string name = quote(parameter);
  const auto refuse = [&](const std::string& text, SourceLocation location) {
    return refusal(start, {text, location});
  };
  const clang::Stmt& body = *function.getBody();
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  if (method != nullptr && method->isVirtual())
    return refuse("the function is virtual: those that override it have the same parameters", function.getLocation());
  if (method != nullptr && method->getParent()->isLambda()) return refuse("the function is a lambda", start);
  if (function.isMain() || function.isVariadic() || function.isExternC())
    return refuse("the function has a type that is not its own", function.getLocation());
  if (parameter.hasAttrs() || parameter.getType().isVolatileQualified()) return refuse(name + " has attributes", start);
  if (has_unusual_entry(function, body))
    return refuse("the function has labels or can be suspended", function.getLocation());
  if (has_directives(context.getSourceManager(), {function.getBeginLoc(), body.getEndLoc()}))
    return refuse("the function differs from configuration to configuration", function.getLocation());
  for (const clang::NamedDecl* next : function.getDeclContext()->getRedeclContext()->lookup(function.getDeclName())) {
    if (next->getCanonicalDecl() != function.getCanonicalDecl())
      return refuse("another function has this name", next->getLocation());
  }
  // Its address has a type with the parameter's.
  using namespace clang::ast_matchers;
  const auto named = functionDecl(hasName(function.getNameAsString()));
  for (const BoundNodes& node : match(declRefExpr(hasDeclaration(named)).bind("name"), context)) {
    const auto* reference = node.getNodeAs<clang::DeclRefExpr>("name");
    if (reference->getDecl()->getCanonicalDecl() != function.getCanonicalDecl()) continue;
    const clang::Stmt* inner = reference;
    const auto* call = dyn_cast_or_null<clang::CallExpr>(user_of(context, inner));
    if (call == nullptr || call->getCallee() != inner)
      return refuse("the address of the function is used", reference->getBeginLoc());
  }
  const std::vector<variable_use> uses = uses_of(context, parameter, body);
  if (const std::optional<obstacle> problem = changing_use(context, parameter, uses)) return refusal(start, *problem);

  verdict result;
  result.level = certainty::proven;
  const auto* type = function.getType()->getAs<clang::FunctionProtoType>();
  if (type != nullptr && type->isNothrow())
    result.notes.push_back({"noexcept() of a call would be true, as no copy may throw", function.getLocation()});
  for (const clang::FunctionDecl* declaration : function.redecls()) {
    const clang::ParmVarDecl& declared = *declaration->getParamDecl(parameter.getFunctionScopeIndex());
    const std::vector<clang::FixItHint> edits = edits_of(context, declared);
    if (edits.empty()) return refuse("the type of " + name + " is not written out alone", declared.getBeginLoc());
    result.edits.insert(result.edits.end(), edits.begin(), edits.end());
  }
  for (const BoundNodes& node : match(callExpr(callee(named)).bind("call"), context)) {
    const auto& call = *node.getNodeAs<clang::CallExpr>("call");
    const clang::FunctionDecl* called = call.getDirectCallee();
    if (called == nullptr || called->getCanonicalDecl() != function.getCanonicalDecl()) continue;
    const SourceLocation change = change_by_arguments(context, call, parameter.getFunctionScopeIndex());
    if (change.isValid()) result.notes.push_back({"another argument may change the original", change});
    const unsigned index = parameter.getFunctionScopeIndex();
    const clang::CXXConstructExpr* value = index < call.getNumArgs() ? construction_of(call.getArg(index)) : nullptr;
    if (value != nullptr && value->getConstructor()->isMoveConstructor())
      result.notes.push_back({"this object gives its memory to " + name + ", and would keep it", value->getBeginLoc()});
  }
  const std::vector<const clang::Stmt*> code = code_with(context, body, body.getBeginLoc(), uses);
  if (const std::optional<obstacle> problem = change_in(context, code, parameter.getType(), {}, function))
    result.notes.push_back(*problem);
  if (const SourceLocation thread = thread_in(body); thread.isValid())
    result.notes.push_back({"another thread may change the original", thread});
  const clang::SourceManager& sources = context.getSourceManager();
  const bool is_shared = llvm::any_of(function.redecls(), [&](const clang::FunctionDecl* declaration) {
    return !sources.isWrittenInMainFile(sources.getExpansionLoc(declaration->getLocation()));
  });
  if (function.isExternallyVisible() || is_shared)
    result.notes.push_back({"another unit may declare the function, or use its address", function.getLocation()});
  if (!result.notes.empty()) result.level = certainty::review;
  result.location = start;
  result.text = name + " is only read: a reference to a constant, in place of a copy in each call";
  return result;
}

}  // namespace tarn::tidy
