#include "profiler/tidy/buffered_check.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;

// Returns the stream at the start of `stream << first << second`.
const clang::Expr* stream_of(const clang::Expr* expression) {
  for (;;) {
    expression = expression->IgnoreParenImpCasts();
    const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(expression);
    if (call == nullptr || call->getOperator() != clang::OO_LessLess || call->getNumArgs() == 0) return expression;
    expression = call->getArg(0);
  }
}

// Returns whether an expression names a stream of the library that keeps nothing in its buffer.
bool is_unbuffered(const clang::Expr& stream) {
  const auto* reference = dyn_cast<clang::DeclRefExpr>(&stream);
  return reference != nullptr && reference->getDecl()->isInStdNamespace() &&
         is_one_of(reference->getDecl()->getName(), {"cerr", "wcerr"});
}

}  // namespace

void buffered_check::registerMatchers(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  if (!has_sites()) return;
  const auto end = declRefExpr(hasDeclaration(functionDecl(hasName("::std::endl")))).bind("end");
  finder->addMatcher(cxxOperatorCallExpr(unless(isExpansionInSystemHeader()), hasOverloadedOperatorName("<<"),
                                         argumentCountIs(2), hasArgument(1, ignoringParenImpCasts(end)))
                         .bind("line"),
                     this);
}

void buffered_check::check(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const auto* line = result.Nodes.getNodeAs<clang::CXXOperatorCallExpr>("line");
  const auto* end = result.Nodes.getNodeAs<clang::Expr>("end");
  if (line->isInstantiationDependent() || sites().find(*result.SourceManager, line->getSourceRange()) == nullptr)
    return;
  add(end->getBeginLoc(), judge(*result.Context, *line, *end));
}

verdict buffered_check::judge(clang::ASTContext& context, const clang::CXXOperatorCallExpr& line,
                              const clang::Expr& end) const {
  const clang::SourceLocation start = end.getBeginLoc();
  if (!is_editable(context, end.getSourceRange())) return refusal(start, {"a macro writes this code", start});
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(line.getDirectCallee());
  const auto* stream_class =
      method == nullptr ? nullptr : dyn_cast<clang::ClassTemplateSpecializationDecl>(method->getParent());
  const bool is_ostream =
      stream_class != nullptr && stream_class->isInStdNamespace() && stream_class->getName() == "basic_ostream";
  const clang::QualType letter = is_ostream ? stream_class->getTemplateArgs()[0].getAsType() : clang::QualType();
  if (!is_ostream || !(letter->isCharType() || letter->isWideCharType()))
    return refusal(start, {"the stream is none of the library for char or wchar_t", start});
  const clang::Expr& stream = *stream_of(line.getArg(0));
  if (is_unbuffered(stream))
    return refusal(start, {"this stream writes each piece at once, with and without std::endl", stream.getBeginLoc()});
  verdict result;
  result.level = certainty::review;
  result.location = start;
  result.text =
      "std::endl writes each line at once, '\\n' leaves it in the buffer; but a reader may wait for the line, "
      "and a crash would lose it";
  result.notes.push_back({"who reads this stream is not in the code", stream.getBeginLoc()});
  result.edits.push_back(
      clang::FixItHint::CreateReplacement(end.getSourceRange(), letter->isWideCharType() ? "L'\\n'" : "'\\n'"));
  return result;
}

}  // namespace tarn::tidy
