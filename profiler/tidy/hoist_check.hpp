// tarn-hoist: a container that a loop declares moves out of the loop, and keeps its memory.
#pragma once

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// The declaration becomes clear() or an assignment, at the same place, so that no path through an iteration skips it.
// An edit is proven where nothing can tell the old object from the new one: the container has the library's allocator,
// its elements have no destructor that does more than free memory, and no reference to it is stored.
class hoist_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;

 private:
  verdict judge(clang::ASTContext& context, const clang::DeclStmt& statement, const clang::VarDecl& variable) const;
};

}  // namespace tarn::tidy
