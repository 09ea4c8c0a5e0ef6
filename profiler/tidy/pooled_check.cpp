#include "profiler/tidy/pooled_check.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>

#include <string>
#include <utility>

#include "profiler/tidy/kept_container.hpp"
#include "profiler/tidy/syntax.hpp"
#include "profiler/tidy/uses.hpp"

namespace tarn::tidy {
namespace {

using clang::SourceLocation;

constexpr const char* pooled_header = "tarn/pooled.hpp";
constexpr const char* name_in_base = "pooled";  // each class has its own name inside, and so have those derived from it

// Returns a base whose objects cannot be deleted for those of the class, or null. Then `delete` would not find the
// operator of the class.
const clang::CXXRecordDecl* base_without_virtual_end(const clang::CXXRecordDecl& record) {
  for (const clang::CXXBaseSpecifier& base : record.bases()) {
    const clang::CXXRecordDecl* type = base.getType()->getAsCXXRecordDecl();
    if (type == nullptr || !type->hasDefinition()) return &record;
    const clang::CXXDestructorDecl* destructor = type->getDestructor();
    if (destructor == nullptr || !destructor->isVirtual()) return type;
  }
  return nullptr;
}

// Returns a base that may itself become one of tarn::pooled, or null. The class would then have two operators new. A
// base in the file of the class is known to each unit that is asked, so that `new_classes` has it where an object is
// made.
const clang::CXXRecordDecl* base_with_objects(const clang::ASTContext& context, const clang::CXXRecordDecl& record,
                                              const llvm::DenseSet<const clang::CXXRecordDecl*>& new_classes) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::CXXRecordDecl* result = nullptr;
  record.forallBases([&](const clang::CXXRecordDecl* base) {
    const bool is_unmade = sources.isWrittenInSameFile(base->getLocation(), record.getLocation()) &&
                           !new_classes.contains(base->getCanonicalDecl());
    if (!base->isAbstract() && !is_unmade && !sources.isInSystemHeader(base->getLocation())) result = base;
    return result == nullptr;
  });
  return result;
}

// Returns where the text of a class, or of its functions, has the name of the base; else an invalid location.
SourceLocation name_of_base_in(const clang::ASTContext& context, const clang::CXXRecordDecl& record) {
  const auto find_name = [&](clang::SourceRange range) {
    for (const auto& [word, location] : free_names(context, range)) {
      if (word == name_in_base) return location;
    }
    return SourceLocation();
  };
  if (!is_editable(context, record.getSourceRange())) return {};
  SourceLocation result = find_name(record.getSourceRange());
  for (const clang::CXXMethodDecl* method : record.methods()) {
    const clang::FunctionDecl* body = nullptr;
    if (result.isInvalid() && method->hasBody(body) && is_editable(context, body->getSourceRange()))
      result = find_name(body->getSourceRange());
  }
  return result;
}

// Returns whether the compiler may run code that makes or ends an object of a class. It has no operators but its own.
bool may_run_while_compiling(clang::ASTContext& context, const clang::CXXRecordDecl& record,
                             const clang::Expr& expression) {
  if (!record.hasDefinition() || !record.getDefinition()->hasConstexprDestructor()) return false;
  for (const clang::DynTypedNode& node : nodes_around(context, expression)) {
    const auto* variable = node.get<clang::VarDecl>();
    const auto* function = node.get<clang::FunctionDecl>();
    const auto* lambda = node.get<clang::LambdaExpr>();
    if (function == nullptr && lambda != nullptr) function = lambda->getCallOperator();
    if ((variable != nullptr && variable->isConstexpr()) || (function != nullptr && function->isConstexpr()) ||
        node.get<clang::FieldDecl>() != nullptr || node.get<clang::StaticAssertDecl>() != nullptr) {
      return true;
    }
  }
  return false;
}

// Returns whether an expression of a template names operator new or delete of a class that the template does not know.
bool is_operator_for_memory(const clang::Expr& expression) {
  clang::DeclarationName name;
  if (const auto* scoped = llvm::dyn_cast<clang::DependentScopeDeclRefExpr>(&expression)) name = scoped->getDeclName();
  if (const auto* member = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(&expression)) name = member->getMember();
  switch (name.getCXXOverloadedOperator()) {
    case clang::OO_New:
    case clang::OO_Array_New:
    case clang::OO_Delete:
    case clang::OO_Array_Delete: return true;
    default: return false;
  }
}

// Returns whether a shared_ptr takes over a new object. std::make_shared, which saves more, takes no memory from a
// class.
bool is_for_shared_ptr(clang::ASTContext& context, const clang::Expr& creation) {
  const clang::Stmt* node = &creation;
  const clang::Stmt* user = user_of(context, node);
  const auto is_shared = [](clang::QualType type) { return is_std_class(type, {"shared_ptr", "__shared_ptr"}); };
  if (const auto* construction = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(user))
    return is_shared(construction->getType());
  const auto* call = llvm::dyn_cast_or_null<clang::CXXMemberCallExpr>(user);
  return call != nullptr && is_shared(call->getObjectType());
}

}  // namespace

void pooled_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  if (!has_sites()) return;
  finder->addMatcher(cxxNewExpr().bind("creation"), this);
  finder->addMatcher(
      callExpr(unless(isExpansionInSystemHeader()), callee(functionDecl(hasName("::std::make_unique")))).bind("call"),
      this);
  finder->addMatcher(cxxDeleteExpr().bind("end"), this);
  finder->addMatcher(callExpr(unless(isExpansionInSystemHeader()),
                              callee(functionDecl(anyOf(cxxDestructorDecl(), hasName("::operator delete"),
                                                        matchesName("^::std::(.*::)?destroy(_at|_n)?$")))))
                         .bind("free"),
                     this);
  finder->addMatcher(
      cxxRecordDecl(isDefinition(), unless(isExpansionInSystemHeader()), unless(isImplicit())).bind("class"), this);
  finder->addMatcher(staticAssertDecl(unless(isExpansionInSystemHeader())).bind("assertion"), this);
  const internal::VariadicDynCastAllOfMatcher<clang::Stmt, clang::DependentScopeDeclRefExpr> dependent_name;
  finder->addMatcher(
      expr(anyOf(dependent_name(), cxxDependentScopeMemberExpr()), unless(isExpansionInSystemHeader())).bind("member"),
      this);
  finder->addMatcher(varDecl(hasType(hasUnqualifiedDesugaredType(recordType(hasDeclaration(
                                 cxxRecordDecl(hasAnyName("::tarn::heap", "::tarn::scoped_current_heap")))))))
                         .bind("heap"),
                     this);
}

void pooled_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const clang::SourceManager& sources = *result.SourceManager;
  if (const auto* assertion = result.Nodes.getNodeAs<clang::StaticAssertDecl>("assertion")) {
    for (const auto& [name, location] : free_names(*result.Context, assertion->getAssertExpr()->getSourceRange()))
      objections_.push_back({nullptr, name, {"an assertion speaks of the class", location}});
    return;
  }
  if (const auto* derived = result.Nodes.getNodeAs<clang::CXXRecordDecl>("class")) {
    // A unit that makes no object may still have an objection.
    if (sites().find(sources, derived->getLocation()) != nullptr)
      candidates_.push_back({derived, derived->getLocation(), judge(*result.Context, *derived, nullptr)});
    if (derived->isDependentContext() || derived->getNumBases() == 0) return;
    if (derived->getNumBases() > 1)
      object_to_bases(*derived, {"a class has it and another base", derived->getLocation()});
    const SourceLocation shared_name = name_of_base_in(*result.Context, *derived);
    if (shared_name.isValid()) object_to_bases(*derived, {"tarn::pooled has this name, too", shared_name});
    return;
  }
  if (const auto* member = result.Nodes.getNodeAs<clang::Expr>("member")) {
    if (is_operator_for_memory(*member))
      objections_.push_back({nullptr, "", {"a template asks for the operators of a class", member->getBeginLoc()}});
    return;
  }
  if (const auto* heap = result.Nodes.getNodeAs<clang::VarDecl>("heap")) {
    objections_.push_back({nullptr, "", {"a heap of Tarn may end before the object", heap->getLocation()}});
    return;
  }
  if (const auto* end = result.Nodes.getNodeAs<clang::CXXDeleteExpr>("end")) {
    const clang::QualType type = end->getDestroyedType();
    if (type.isNull()) return;
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (type->isVoidType()) objections_.push_back({nullptr, "", {"the code deletes a void*", end->getBeginLoc()}});
    if (record == nullptr) return;
    if (end->isGlobalDelete()) object(*record, {"::delete frees the object", end->getBeginLoc()}, true);
    if (may_run_while_compiling(*result.Context, *record, *end))
      object(*record, {"the compiler may run this code", end->getBeginLoc()}, true);
    const clang::CXXRecordDecl* definition = record->getDefinition();
    // A template is instantiated at the end of the unit, with the class.
    if (definition != nullptr && !is_in_instantiation(*result.Context, *end) &&
        sources.isBeforeInTranslationUnit(end->getBeginLoc(), definition->getBeginLoc())) {
      object(*record, {"delete does not know the class here", end->getBeginLoc()}, true);
    }
    return;
  }
  if (const auto* free = result.Nodes.getNodeAs<clang::CallExpr>("free")) {
    object_to_free(*free);
    return;
  }
  clang::QualType type;
  const clang::Expr* expression = nullptr;
  if (const auto* creation = result.Nodes.getNodeAs<clang::CXXNewExpr>("creation")) {
    const clang::CXXRecordDecl* record = creation->getAllocatedType()->getAsCXXRecordDecl();
    const bool is_in_library = sources.isInSystemHeader(sources.getExpansionLoc(creation->getBeginLoc()));
    if (is_in_library || creation->isInstantiationDependent()) return;
    if (record != nullptr && (creation->isGlobalNew() || creation->getNumPlacementArgs() != 0)) {
      const char* const text = creation->isGlobalNew() ? "::new makes the object" : "the code chooses the memory here";
      object(*record, {text, creation->getBeginLoc()});
    }
    type = creation->getAllocatedType();
    if (record != nullptr) new_classes_.insert(record->getCanonicalDecl());
    expression = creation;
  } else {
    const auto* call = result.Nodes.getNodeAs<clang::CallExpr>("call");
    const clang::FunctionDecl* function = call->getDirectCallee();
    const clang::TemplateArgumentList* arguments =
        function == nullptr ? nullptr : function->getTemplateSpecializationArgs();
    if (arguments == nullptr || arguments->get(0).getKind() != clang::TemplateArgument::Type) return;
    type = arguments->get(0).getAsType();
    if (const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl())
      new_classes_.insert(record->getCanonicalDecl());
    expression = call;
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record != nullptr && may_run_while_compiling(*result.Context, *record, *expression))
    object(*record, {"the compiler may run this code", expression->getBeginLoc()});
  if (sites().find(sources, expression->getSourceRange()) == nullptr) return;
  if (record == nullptr || record->getDefinition() == nullptr) return;
  record = record->getDefinition();
  candidates_.push_back({record, expression->getBeginLoc(), judge(*result.Context, *record, expression)});
}

void pooled_check::object(const clang::CXXRecordDecl& record, const obstacle& problem, bool concerns_derived) {
  objections_.push_back({record.getCanonicalDecl(), "", problem, concerns_derived});
  if (record.hasDefinition()) object_to_bases(*record.getDefinition(), problem);
}

void pooled_check::object_to_bases(const clang::CXXRecordDecl& record, const obstacle& problem) {
  record.forallBases([&](const clang::CXXRecordDecl* base) {
    objections_.push_back({base->getCanonicalDecl(), "", problem});
    return true;
  });
}

// Code that ends an object without `delete` frees its memory itself.
void pooled_check::object_to_free(const clang::CallExpr& call) {
  const obstacle problem{"the code ends the object without delete", call.getBeginLoc()};
  if (const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(&call)) {
    object(*member->getRecordDecl(), problem, true);
    return;
  }
  for (const clang::Expr* argument : call.arguments()) {
    clang::QualType type = argument->IgnoreParenCasts()->getType();
    if (!type->getPointeeType().isNull()) type = type->getPointeeType();
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record != nullptr) object(*record, problem, true);
    if (type->isVoidType() || type->isCharType() || type->isStdByteType())
      objections_.push_back({nullptr, "", problem, true});
  }
}

verdict pooled_check::judge(clang::ASTContext& context, const clang::CXXRecordDecl& record,
                            const clang::Expr* expression) const {
  const SourceLocation creation = expression == nullptr ? record.getLocation() : expression->getBeginLoc();
  const std::string name = record.getNameAsString();
  const auto refuse = [creation](const std::string& text, SourceLocation location) {
    return refusal(creation, {text, location});
  };
  const SourceLocation start = record.getLocation();
  if (record.isInStdNamespace() || context.getSourceManager().isInSystemHeader(start))
    return refuse("the class is of a library", creation);
  if (expression != nullptr && is_for_shared_ptr(context, *expression))
    return refuse("a shared_ptr takes it over: std::make_shared saves more", creation);
  if (!context.getLangOpts().CPlusPlus20) return refuse("the unit is compiled for a C++ before C++20", creation);
  if (!finds_header(pooled_header))
    return refuse("no include folder of the unit has <" + std::string(pooled_header) + ">", creation);
  if (!is_editable(context, record.getSourceRange()) || !is_editable(context, record.getBraceRange()))
    return refuse("a macro writes the class", start);
  if (record.isUnion() || record.isLambda() || name.empty()) return refuse("the class has no name", start);
  if (record.getDescribedClassTemplate() != nullptr || record.isDependentContext() ||
      llvm::isa<clang::ClassTemplateSpecializationDecl>(record) ||
      record.getTemplateInstantiationPattern() != nullptr) {
    return refuse("a template writes the class", start);
  }
  if (record.getQualifier() != nullptr) return refuse("the class is defined outside of its scope", start);
  if (record.isAggregate())
    return refuse("the class is an aggregate: a base would take the first of its values", start);
  if (declares_own_delete(context, record)) return refuse("the class has its own operator new or delete", start);
  if (const clang::CXXRecordDecl* base = base_without_virtual_end(record))
    return refuse("'" + base->getNameAsString() + "' has no virtual destructor: delete may pass by the class",
                  base->getLocation());
  if (has_directives(context.getSourceManager(), record.getSourceRange()))
    return refuse("the class differs from configuration to configuration", start);
  const SourceLocation shared_name = name_of_base_in(context, record);
  if (shared_name.isValid()) return refuse("tarn::pooled has this name, too", shared_name);

  verdict result;
  result.level = certainty::proven;
  // Each library with Tarn inside has its own heaps. Only this unit can end an object of a class without linkage: a
  // destructor that is called by a base frees the memory itself.
  if (context.getLangOpts().PICLevel != 0 && !context.getLangOpts().PIE && record.isExternallyVisible()) {
    result.level = certainty::review;
    result.notes.push_back({"the unit is for a shared library: code outside of it must not delete the object", start});
  }
  if (record.hasTrivialDestructor() && record.isExternallyVisible()) {
    result.level = certainty::review;
    result.notes.push_back({"a unit that does not know the members of the class could delete the object", start});
  }
  result.location = start;
  result.text = "'" + name + "' is made on the heap of the thread, without a lock: tarn::pooled";
  result.header = pooled_header;
  const auto* final_mark = record.getAttr<clang::FinalAttr>();
  const SourceLocation last = record.getNumBases() != 0 ? (record.bases_end() - 1)->getEndLoc()
                              : final_mark != nullptr   ? final_mark->getLocation()
                                                        : start;
  const SourceLocation after =
      clang::Lexer::getLocForEndOfToken(last, 0, context.getSourceManager(), context.getLangOpts());
  const std::string base = "public " + outer_namespace(context, "tarn") + "::pooled<" + name + ">";
  result.edits.push_back(clang::FixItHint::CreateInsertion(after, (record.getNumBases() != 0 ? ", " : " : ") + base));
  return result;
}

void pooled_check::onEndOfTranslationUnit() {
  for (candidate& next : candidates_) {
    const auto match = llvm::find_if(objections_, [&](const objection& problem) {
      if (problem.record != nullptr) {
        return problem.record == next.record->getCanonicalDecl() ||
               (problem.concerns_derived && problem.record->getDefinition() != nullptr &&
                next.record->isDerivedFrom(problem.record));
      }
      return problem.name.empty() || problem.name == next.record->getName();
    });
    if (next.result.level >= certainty::review && match != objections_.end())
      next.result = refusal(next.creation, match->problem);
    const clang::CXXRecordDecl* base = base_with_objects(next.record->getASTContext(), *next.record, new_classes_);
    if (next.result.level >= certainty::review && base != nullptr) {
      next.result = refusal(next.creation, {"'" + base->getNameAsString() +
                                                "' may have objects of its own, and become "
                                                "pooled",
                                            base->getLocation()});
    }
    add(next.record->getLocation(), std::move(next.result));
  }
  candidates_.clear();
  objections_.clear();
  new_classes_.clear();
  edit_check::onEndOfTranslationUnit();
}

}  // namespace tarn::tidy
