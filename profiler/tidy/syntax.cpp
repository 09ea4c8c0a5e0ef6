#include "profiler/tidy/syntax.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::isa;

// The one visitor of all checks: each further one takes seconds to compile.
class walker : public clang::RecursiveASTVisitor<walker> {
 public:
  walker(llvm::function_ref<bool(const clang::Stmt&, bool)> visit, clang::SourceLocation location)
      : visit_(visit), location_(location) {}
  bool VisitStmt(clang::Stmt* statement) { return visit_(*statement, lambdas_ > 0); }
  bool VisitValueDecl(clang::ValueDecl* declaration) {
    if (location_.isInvalid() || declaration->getLocation() != location_) return true;
    declaration_at_location = declaration;
    return false;
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) {
    ++lambdas_;
    const bool goes_on = RecursiveASTVisitor::TraverseLambdaExpr(lambda);
    --lambdas_;
    return goes_on;
  }
  // `a != b` is `!(a == b)` with a call of the program's own operator.
  bool TraverseCXXRewrittenBinaryOperator(clang::CXXRewrittenBinaryOperator* operation) {
    return WalkUpFromCXXRewrittenBinaryOperator(operation) && TraverseStmt(operation->getSemanticForm());
  }
  const clang::ValueDecl* declaration_at_location = nullptr;

 private:
  llvm::function_ref<bool(const clang::Stmt&, bool)> visit_;
  clang::SourceLocation location_;
  int lambdas_ = 0;
};

// Returns the outermost template pattern around a declaration, or null where it is in no instantiation.
const clang::Decl* pattern_around(const clang::Decl& declaration) {
  const clang::Decl* result = nullptr;
  for (const clang::DeclContext* outer = declaration.getDeclContext(); outer != nullptr; outer = outer->getParent()) {
    if (const auto* function = dyn_cast<clang::FunctionDecl>(outer)) {
      if (const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern()) result = pattern;
    } else if (const auto* record = dyn_cast<clang::CXXRecordDecl>(outer)) {
      if (const clang::CXXRecordDecl* pattern = record->getTemplateInstantiationPattern()) result = pattern;
    }
  }
  return result;
}

// Returns whether a declaration is in a template's instantiation, also where its pattern is unknown.
bool is_instantiated(const clang::Decl& declaration) {
  for (const clang::DeclContext* outer = declaration.getDeclContext(); outer != nullptr; outer = outer->getParent()) {
    const auto* function = dyn_cast<clang::FunctionDecl>(outer);
    if (function != nullptr && function->isTemplateInstantiation()) return true;
    const auto* record = dyn_cast<clang::ClassTemplateSpecializationDecl>(outer);
    if (record != nullptr && !record->isExplicitSpecialization()) return true;
  }
  return false;
}

const clang::ValueDecl* pattern_of(const clang::ValueDecl& declaration) {
  const clang::Decl* pattern = pattern_around(declaration);
  if (pattern == nullptr) return nullptr;
  walker finder([](const clang::Stmt&, bool) { return true; }, declaration.getLocation());
  finder.TraverseDecl(const_cast<clang::Decl*>(pattern));
  return finder.declaration_at_location;
}

// Returns whether a namespace or a class of the program declares a namespace or a type of this name.
bool declares_inside(const clang::ASTContext& context, const clang::DeclContext& scope, llvm::StringRef name) {
  for (const clang::Decl* declaration : scope.decls()) {
    const auto* inner = dyn_cast<clang::DeclContext>(declaration);
    if (inner == nullptr || !isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::CXXRecordDecl>(declaration) ||
        context.getSourceManager().isInSystemHeader(declaration->getLocation())) {
      continue;
    }
    const bool has_name = llvm::any_of(inner->decls(), [&](const clang::Decl* part) {
      const auto* named = dyn_cast<clang::NamedDecl>(part);
      return named != nullptr && isa<clang::NamespaceDecl, clang::NamespaceAliasDecl, clang::TypeDecl>(named) &&
             !named->isImplicit() && named->getIdentifier() != nullptr && named->getName() == name;
    });
    const bool is_transparent = isa<clang::LinkageSpecDecl>(declaration);
    if ((has_name && !is_transparent) || declares_inside(context, *inner, name)) return true;
  }
  return false;
}

// Returns the type that a name refers to, through a reference or a pointer.
clang::QualType object_type(clang::QualType type) {
  type = type.getNonReferenceType();
  const clang::QualType pointee = type->getPointeeType();
  return pointee.isNull() ? type : pointee;
}

}  // namespace

std::vector<clang::DynTypedNode> nodes_around(clang::ASTContext& context, const clang::Stmt& statement) {
  std::vector<clang::DynTypedNode> result;
  clang::DynTypedNode node = clang::DynTypedNode::create(statement);
  for (;;) {
    const clang::DynTypedNodeList parents = context.getParents(node);
    if (parents.empty()) return result;
    node = parents[0];
    result.push_back(node);
    if (node.get<clang::FunctionDecl>() != nullptr || node.get<clang::LambdaExpr>() != nullptr) return result;
  }
}

const clang::FunctionDecl* function_around(clang::ASTContext& context, const clang::Stmt& statement) {
  const std::vector<clang::DynTypedNode> outer = nodes_around(context, statement);
  if (outer.empty()) return nullptr;
  if (const auto* lambda = outer.back().get<clang::LambdaExpr>()) return lambda->getCallOperator();
  return outer.back().get<clang::FunctionDecl>();
}

void walk(const clang::Stmt& root, llvm::function_ref<bool(const clang::Stmt&, bool)> visit) {
  walker(visit, {}).TraverseStmt(const_cast<clang::Stmt*>(&root));
}

std::vector<const clang::Expr*> added_expressions(const clang::Stmt& part) {
  if (const auto* argument = dyn_cast<clang::CXXDefaultArgExpr>(&part)) return {argument->getExpr()};
  if (const auto* value = dyn_cast<clang::CXXDefaultInitExpr>(&part)) return {value->getExpr()};
  llvm::ArrayRef<clang::Expr*> values;
  if (const auto* list = dyn_cast<clang::InitListExpr>(&part)) {
    const clang::InitListExpr* whole = list->isSemanticForm() ? list : list->getSemanticForm();
    if (whole != nullptr) values = whole->inits();
  } else if (const auto* parentheses = dyn_cast<clang::CXXParenListInitExpr>(&part)) {
    values = const_cast<clang::CXXParenListInitExpr*>(parentheses)->getInitExprs();
  }
  std::vector<const clang::Expr*> result;
  for (const clang::Expr* value : values) {
    if (const auto* added = dyn_cast<clang::CXXDefaultInitExpr>(value)) result.push_back(added->getExpr());
  }
  return result;
}

bool is_std_function(const clang::FunctionDecl& function) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  return method == nullptr ? function.isInStdNamespace() : method->getParent()->isInStdNamespace();
}

const clang::Stmt* body_of_loop(const clang::Stmt* statement) {
  if (statement == nullptr) return nullptr;
  if (const auto* loop = dyn_cast<clang::ForStmt>(statement)) return loop->getBody();
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(statement)) return loop->getBody();
  if (const auto* loop = dyn_cast<clang::WhileStmt>(statement)) return loop->getBody();
  if (const auto* loop = dyn_cast<clang::DoStmt>(statement)) return loop->getBody();
  return nullptr;
}

bool is_within(const clang::ASTContext& context, clang::SourceRange inner, clang::SourceRange outer) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::SourceLocation begin = sources.getExpansionLoc(inner.getBegin());
  const clang::SourceLocation end = sources.getExpansionLoc(inner.getEnd());
  const clang::SourceLocation outer_begin = sources.getExpansionLoc(outer.getBegin());
  const clang::SourceLocation outer_end = sources.getExpansionLoc(outer.getEnd());
  return !sources.isBeforeInTranslationUnit(begin, outer_begin) && !sources.isBeforeInTranslationUnit(outer_end, end);
}

std::string text_at(const clang::ASTContext& context, clang::SourceRange range) {
  return clang::Lexer::getSourceText(clang::CharSourceRange::getTokenRange(range), context.getSourceManager(),
                                     context.getLangOpts())
      .str();
}

std::string new_line_at(const clang::ASTContext& context, clang::SourceLocation location) {
  const clang::SourceManager& sources = context.getSourceManager();
  const auto [file, offset] = sources.getDecomposedLoc(location);
  const llvm::StringRef text = sources.getBufferData(file);
  const std::size_t before = text.rfind('\n', offset);
  const std::size_t begin = before == llvm::StringRef::npos || before >= offset ? 0 : before + 1;
  const bool has_carriage_returns = begin >= 2 && text[begin - 2] == '\r';
  const llvm::StringRef line = text.substr(begin, offset - begin);
  return (has_carriage_returns ? "\r\n" : "\n") + line.take_while([](char c) { return c == ' ' || c == '\t'; }).str();
}

bool is_editable(const clang::ASTContext& context, clang::SourceRange range) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::SourceLocation begin = range.getBegin();
  const clang::SourceLocation end = range.getEnd();
  return begin.isValid() && end.isValid() && begin.isFileID() && end.isFileID() && !sources.isInSystemHeader(begin) &&
         sources.isWrittenInSameFile(begin, end);
}

bool is_std_class(clang::QualType type, llvm::ArrayRef<llvm::StringRef> names) {
  const clang::CXXRecordDecl* record = object_type(type)->getAsCXXRecordDecl();
  return record != nullptr && record->isInStdNamespace() && record->getIdentifier() != nullptr &&
         llvm::is_contained(names, record->getName());
}

bool is_std_class_in_all_instantiations(const clang::ValueDecl& declaration, llvm::ArrayRef<llvm::StringRef> names) {
  if (!is_std_class(declaration.getType(), names)) return false;
  if (!is_instantiated(declaration)) return true;
  const clang::ValueDecl* pattern = pattern_of(declaration);
  if (pattern == nullptr) return false;
  const clang::QualType type = object_type(pattern->getType());
  if (!type->isDependentType()) return is_std_class(type, names);
  const auto* specialization = type->getAs<clang::TemplateSpecializationType>();
  if (specialization == nullptr) return false;
  const clang::TemplateDecl* named = specialization->getTemplateName().getAsTemplateDecl();
  return named != nullptr && !specialization->isTypeAlias() && named->isInStdNamespace() &&
         llvm::is_contained(names, named->getName());
}

std::string outer_namespace(const clang::ASTContext& context, llvm::StringRef name,
                            const clang::FunctionDecl* function) {
  bool is_hidden = declares_inside(context, *context.getTranslationUnitDecl(), name);
  if (function != nullptr && function->getBody() != nullptr) {
    walk(*function->getBody(), [&](const clang::Stmt& part, bool) {
      const auto* declarations = dyn_cast<clang::DeclStmt>(&part);
      is_hidden |= declarations != nullptr && llvm::any_of(declarations->decls(), [&](const clang::Decl* next) {
                     const auto* named = dyn_cast<clang::NamedDecl>(next);
                     return named != nullptr && named->getIdentifier() != nullptr && named->getName() == name;
                   });
      return !is_hidden;
    });
  }
  return (is_hidden ? "::" : "") + name.str();
}

llvm::StringRef name_of(const clang::FunctionDecl* function) {
  return function == nullptr || function->getIdentifier() == nullptr ? llvm::StringRef() : function->getName();
}

bool is_one_of(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> names) { return llvm::is_contained(names, name); }

clang::QualType element_of(clang::QualType container) {
  const auto* record = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(container->getAsCXXRecordDecl());
  if (record == nullptr || record->getTemplateArgs().size() == 0) return {};
  const clang::TemplateArgument& argument = record->getTemplateArgs()[0];
  return argument.getKind() == clang::TemplateArgument::Type ? argument.getAsType() : clang::QualType();
}

std::string quote(const clang::NamedDecl& declaration) { return "'" + declaration.getNameAsString() + "'"; }

bool is_unevaluated(clang::ASTContext& context, const clang::Stmt& statement) {
  return llvm::any_of(nodes_around(context, statement), [](const clang::DynTypedNode& node) {
    const auto* outer = node.get<clang::Stmt>();
    return outer != nullptr &&
           isa<clang::CXXNoexceptExpr, clang::UnaryExprOrTypeTraitExpr, clang::CXXTypeidExpr, clang::RequiresExpr>(
               outer);
  });
}

bool is_in_instantiation(clang::ASTContext& context, const clang::Stmt& statement) {
  clang::DynTypedNode node = clang::DynTypedNode::create(statement);
  for (;;) {
    const auto* declaration = node.get<clang::Decl>();
    const auto* function = node.get<clang::FunctionDecl>();
    if (function != nullptr && function->isTemplateInstantiation()) return true;
    if (declaration != nullptr) return is_instantiated(*declaration);
    const clang::DynTypedNodeList parents = context.getParents(node);
    if (parents.empty()) return false;
    node = parents[0];
  }
}

bool has_type_of_pattern(const clang::ValueDecl& declaration) {
  if (!is_instantiated(declaration)) return true;
  const clang::ValueDecl* pattern = pattern_of(declaration);
  return pattern != nullptr && !pattern->getType()->isDependentType();
}

bool has_value_of_pattern(const clang::VarDecl& variable) {
  if (!is_instantiated(variable)) return true;
  const auto* pattern = llvm::dyn_cast_or_null<clang::VarDecl>(pattern_of(variable));
  return pattern != nullptr && pattern->getInit() != nullptr && !pattern->getInit()->isTypeDependent();
}

bool has_user_of_pattern(clang::ASTContext& context, const clang::DeclRefExpr& reference) {
  if (!is_instantiated(*reference.getDecl())) return true;
  const clang::Decl* pattern = pattern_around(*reference.getDecl());
  if (pattern == nullptr) return false;
  const clang::Stmt* node = nullptr;
  const auto find = [&](const clang::Stmt& part, bool) {
    if (isa<clang::DeclRefExpr>(part) && part.getBeginLoc() == reference.getBeginLoc()) node = &part;
    return node == nullptr;
  };
  walker(find, {}).TraverseDecl(const_cast<clang::Decl*>(pattern));
  if (node == nullptr) return false;
  for (;;) {
    const clang::DynTypedNodeList parents = context.getParents(*node);
    if (parents.empty()) return false;
    if (const auto* variable = parents[0].get<clang::VarDecl>()) return !variable->getType()->isDependentType();
    if (const auto* initializer = parents[0].get<clang::CXXCtorInitializer>())
      return initializer->isAnyMemberInitializer() && !initializer->getAnyMember()->getType()->isDependentType();
    const auto* user = parents[0].get<clang::Expr>();
    if (user == nullptr || user->isTypeDependent()) return false;
    const auto* list = dyn_cast<clang::InitListExpr>(user);
    if (list != nullptr && list->getType()->isVoidType()) return false;
    if (!isa<clang::CastExpr, clang::ParenExpr, clang::ParenListExpr, clang::InitListExpr, clang::CXXConstructExpr,
             clang::CXXBindTemporaryExpr, clang::MaterializeTemporaryExpr, clang::ExprWithCleanups>(user)) {
      return true;
    }
    node = user;
  }
}

bool declares_own_delete(clang::ASTContext& context, const clang::CXXRecordDecl& record) {
  const auto names_it = [&](const clang::CXXRecordDecl* type) {
    return !type->lookup(context.DeclarationNames.getCXXOperatorName(clang::OO_Delete)).empty() ||
           !type->lookup(context.DeclarationNames.getCXXOperatorName(clang::OO_New)).empty();
  };
  return names_it(&record) || !record.forallBases([&](const clang::CXXRecordDecl* base) { return !names_it(base); });
}

bool has_unusual_entry(const clang::FunctionDecl& function, const clang::Stmt& block) {
  if (function.getBody() == nullptr || isa<clang::CoroutineBodyStmt>(function.getBody())) return true;
  bool is_unusual = false;
  walk(block, [&](const clang::Stmt& statement, bool) {
    is_unusual = isa<clang::LabelStmt, clang::IndirectGotoStmt, clang::CoroutineBodyStmt, clang::CoreturnStmt,
                     clang::CoawaitExpr, clang::CoyieldExpr, clang::SEHTryStmt, clang::GCCAsmStmt>(statement);
    return !is_unusual;
  });
  return is_unusual;
}

}  // namespace tarn::tidy
