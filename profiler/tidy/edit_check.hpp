// The checks share these: the recording's sites, the certainty of an edit, and agreement between instantiations.
#pragma once

#include <clang-tidy/ClangTidyCheck.h>
#include <clang/AST/DeclCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceLocation.h>

#include <map>
#include <string>
#include <vector>

#include "profiler/tidy/include_places.hpp"
#include "profiler/tidy/sites.hpp"

namespace tarn::tidy {

// The condition that an edit fails, and the line that shows it.
struct obstacle {
  std::string text;
  clang::SourceLocation location;
};

enum class certainty { silent, no_edit, review, proven };

// The verdict of a check on one location.
struct verdict {
  certainty level = certainty::silent;
  clang::SourceLocation location;  // of the diagnostic
  std::string text;
  std::vector<clang::FixItHint> edits;
  std::vector<obstacle> notes;
  std::string header = {};                          // that the edited file must include; empty if it needs none
  const clang::CXXRecordDecl* container = nullptr;  // the class of the container whose capacity the edit changes
};

// The verdict that a condition of an edit fails.
verdict refusal(clang::SourceLocation location, obstacle problem);

// The base of the checks. A check adds a verdict for each location. They are reported at the end of the unit, when all
// instantiations of a template are known; an edit on which these differ is not made. A check with a number behind its
// name, such as tarn-reserve.7, is one of many in a run, whose edits would get into each other's way: it writes them
// into a folder with its name, in that of the option Edits.
class edit_check : public clang::tidy::ClangTidyCheck {
 public:
  edit_check(llvm::StringRef name, clang::tidy::ClangTidyContext* context);
  bool isLanguageVersionSupported(const clang::LangOptions& language) const override { return language.CPlusPlus11; }
  void storeOptions(clang::tidy::ClangTidyOptions::OptionMap& options) override;
  void registerPPCallbacks(const clang::SourceManager& sources, clang::Preprocessor* preprocessor,
                           clang::Preprocessor* expander) override;
  void onEndOfTranslationUnit() override;

  // Asks for the functions with a site, so that a unit in which they have other code says so.
  void match_sites(clang::ast_matchers::MatchFinder* finder) { finder->addMatcher(site_matcher(), &facts_); }

 protected:
  const clang::ASTContext& context() const { return *context_; }  // of the last match
  bool has_sites() const { return !path_.empty(); }
  const site_list& sites() const { return sites_; }

  // Asks for the functions of the program, if there are sites.
  void match_functions(clang::ast_matchers::MatchFinder* finder);
  // Returns the function that match_functions() has found, if it has a body with a site and is no pattern; else null.
  const clang::FunctionDecl* recorded_function(const clang::ast_matchers::MatchFinder::MatchResult& result) const;

  // Asks for code that reads the capacity of a container. An edit that changes it is to review then.
  void match_capacity(clang::ast_matchers::MatchFinder* finder) { finder->addMatcher(capacity_matcher(), &facts_); }

  // Adds a verdict. `key` is the location of the judged code, which is the same in each instantiation of a template.
  void add(clang::SourceLocation key, verdict result);

  // Returns whether an include folder of the unit has a header.
  bool finds_header(llvm::StringRef header) const;

  // Returns whether a line in a range begins with # and chooses between configurations, or speaks to a compiler.
  bool has_directives(const clang::SourceManager& sources, clang::SourceRange range) const;

 private:
  struct judgement {
    clang::SourceLocation key;
    verdict result;
  };
  // What the unit has, beside the code that a check judges.
  class unit_facts : public clang::ast_matchers::MatchFinder::MatchCallback {
   public:
    explicit unit_facts(const edit_check& check) : check_(check) {}
    void run(const clang::ast_matchers::MatchFinder::MatchResult& result) override;
    std::map<clang::FileID, clang::SourceLocation> site_functions;            // by inclusion of the file
    std::map<const clang::CXXRecordDecl*, clang::SourceLocation> capacities;  // by class of the container

   private:
    const edit_check& check_;
  };
  static clang::ast_matchers::DeclarationMatcher site_matcher();
  static clang::ast_matchers::StatementMatcher capacity_matcher();

  // Says that an inclusion of a file has code with a site, and no judgement of it.
  void report_other_code(const std::vector<judgement>& judgements);

  void run(const clang::ast_matchers::MatchFinder::MatchResult& result) final;
  // Adds the include of the header that the edited file needs, if it has none; refuses the edit where no place is sure.
  void add_include(verdict& result);

  const clang::ASTContext* context_ = nullptr;
  const clang::SourceManager* sources_ = nullptr;
  bool has_number_;
  std::string edits_;  // the folder for them; empty if no file gets them
  std::string path_;
  site_list sites_;
  std::vector<std::string> include_folders_;
  include_places places_;
  std::vector<judgement> judgements_;
  unit_facts facts_{*this};
};

}  // namespace tarn::tidy
