// tarn-make-shared: one block for an object and its counts.
#pragma once

#include <vector>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// shared_ptr<T>(new T(...)) becomes make_shared<T>(...). An edit is proven where std::make_shared can construct and
// destroy the object in the same way, and where no weak_ptr in the unit could keep its memory.
class make_shared_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;
  void onEndOfTranslationUnit() override;

 private:
  struct candidate {
    clang::SourceLocation key;
    clang::QualType type;
    verdict result;
  };
  struct weak_use {
    clang::QualType pointee;
    clang::SourceLocation location;
  };
  verdict judge(clang::ASTContext& context, const clang::Expr& owner, const clang::CXXNewExpr& creation) const;

  std::vector<candidate> candidates_;
  std::vector<weak_use> weak_uses_;
};

}  // namespace tarn::tidy
