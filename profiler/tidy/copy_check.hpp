// tarn-copy: a copy that nothing changes becomes a reference.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/StmtCXX.h>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// `std::string name = entry.name();` becomes `const std::string& name = entry.name();`, and so does the variable of a
// loop over a range, and a parameter by value. An edit is proven where the copy is only read, and no code that runs
// while it lives may change or end its source. The check needs a recording: most copies cost nothing.
class copy_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;

 private:
  void judge_variable(clang::ASTContext& context, const clang::VarDecl& variable);
  void judge_argument(clang::ASTContext& context, const clang::FunctionDecl& called, unsigned index);
  verdict judge(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Expr& source,
                const clang::Stmt& scope, const clang::FunctionDecl& function) const;
  verdict judge(clang::ASTContext& context, const clang::ParmVarDecl& parameter,
                const clang::FunctionDecl& function) const;
};

}  // namespace tarn::tidy
