// tarn-move: the last use of a local object moves it, in place of a copy.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// `v.push_back(text)` becomes `v.push_back(std::move(text))`. An edit is proven where the object is a container or a
// plain class of such members, nothing uses it afterwards, and nothing that still runs can refer to it. The check needs
// a recording: most copies cost nothing.
class move_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;

 private:
  void judge_reference(clang::ASTContext& context, const clang::DeclRefExpr& reference);
  verdict judge(clang::ASTContext& context, const clang::DeclRefExpr& reference, const clang::VarDecl& variable,
                const clang::Expr& copy, const clang::Stmt& statement) const;
};

}  // namespace tarn::tidy
