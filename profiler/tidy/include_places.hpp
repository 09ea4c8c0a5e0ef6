// Finds where a file may get an #include.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceLocation.h>
#include <clang/Lex/Preprocessor.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tarn::tidy {

// The directives of a unit. A new #include stands where it means the same in each configuration: outside of #if, of
// declarations such as `extern "C"`, and of files that such a declaration includes.
class include_places {
 public:
  struct include_line {
    clang::SourceLocation hash;
    std::string name;
    bool is_angled;
    std::vector<clang::SourceLocation> conditions;  // the lines #if around it, in its file
    bool is_usual;  // no keyword is a macro here, and no #pragma has a state that is taken back later
  };

  // Notes the directives of the unit that the preprocessor reads.
  void watch(clang::Preprocessor& preprocessor);

  // Returns the directives that choose between configurations, and the pragmas.
  const std::vector<clang::SourceLocation>& directives() const { return directives_; }

  struct answer {
    bool is_possible = false;
    std::optional<clang::FixItHint> edit;  // none where the file has the line already
  };
  // Returns how the file around `user` gets a header in angle brackets, above `user`. It gets the line once.
  answer place_for(const clang::ASTContext& context, const std::string& header, clang::SourceLocation user);

 private:
  class recorder;
  bool is_at_file_scope(const clang::ASTContext& context, clang::SourceLocation location) const;

  std::vector<clang::SourceLocation> directives_;
  std::vector<include_line> lines_;
  std::vector<clang::FileID> files_;
  std::vector<clang::SourceLocation> macros_;                                        // that the unit defines
  std::vector<std::pair<clang::SourceLocation, clang::SourceLocation>> conditions_;  // from #if to #endif
  std::set<std::pair<clang::FileID, std::string>> files_with_line_;
};

}  // namespace tarn::tidy
