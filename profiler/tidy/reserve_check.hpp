// tarn-reserve: room for all elements before the loop that adds them one by one.
#pragma once

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// An edit is proven where the container is empty when the loop starts, because then nothing refers to its elements, and
// where nothing in the loop removes elements or capacity. The number of elements is that of the iterations, or the
// recorded one.
class reserve_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;

 private:
  verdict judge(clang::ASTContext& context, const clang::Expr& call, const site* recorded) const;
};

}  // namespace tarn::tidy
