// tarn-pooled: `new` of a class takes memory from the thread's own heap.
#pragma once

#include <llvm/ADT/DenseSet.h>

#include <string>
#include <vector>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// The class gets the base tarn::pooled. An edit is proven where each `new` and `delete` of the class in the unit is one
// that the base replaces, and where an empty base changes neither the layout nor how the class is initialised. A site
// is a line that makes an object, or the line of the class: so each unit with the class can be asked.
class pooled_check : public edit_check {
 public:
  using edit_check::edit_check;
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override;
  void onEndOfTranslationUnit() override;

 private:
  struct candidate {
    const clang::CXXRecordDecl* record;
    clang::SourceLocation creation;
    verdict result;
  };
  // Code that may say more of a class than a base can change; `record` is null where it may mean any class.
  struct objection {
    const clang::CXXRecordDecl* record;
    std::string name;  // of the class, where only its name is known
    obstacle problem;
    bool concerns_derived = false;  // classes, as what is done to an object by a pointer to its base
  };
  // Adds an objection to a class and to its bases, whose operators a derived class inherits.
  void object(const clang::CXXRecordDecl& record, const obstacle& problem, bool concerns_derived = false);
  void object_to_bases(const clang::CXXRecordDecl& record, const obstacle& problem);
  void object_to_free(const clang::CallExpr& call);
  // `expression` makes an object; null where the site is the class.
  verdict judge(clang::ASTContext& context, const clang::CXXRecordDecl& record, const clang::Expr* expression) const;

  std::vector<candidate> candidates_;
  std::vector<objection> objections_;
  llvm::DenseSet<const clang::CXXRecordDecl*> new_classes_;  // by new or std::make_unique, in this unit
};

}  // namespace tarn::tidy
