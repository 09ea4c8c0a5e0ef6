// tarn-buffered: '\n' in place of std::endl, so that a line stays in the buffer of its stream.
#pragma once

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// `out << text << std::endl;` becomes `out << text << '\n';`. Whether somebody waits for the line is not in the code,
// so every edit is to review. The check needs a recording: most lines are written seldom.
class buffered_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;

 private:
  verdict judge(clang::ASTContext& context, const clang::CXXOperatorCallExpr& line, const clang::Expr& end) const;
};

}  // namespace tarn::tidy
