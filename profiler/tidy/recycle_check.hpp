// tarn-recycle: a local container comes from the thread's cache, with the memory of an earlier one.
#pragma once

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// The declaration becomes tarn::recycle<T>() and a reference of the same name, so that no use changes. The object is
// cleared where it ended before. An edit is proven where nothing can tell the reference from the variable, no reference
// to the object is stored, and the unit can include tarn/recycle.hpp. The check needs a recording: most local
// containers are not worth a cache.
class recycle_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;

 private:
  verdict judge(clang::ASTContext& context, const clang::DeclStmt& statement,
                const clang::FunctionDecl& function) const;
};

}  // namespace tarn::tidy
