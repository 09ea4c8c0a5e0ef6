#include "profiler/tidy/include_places.hpp"

#include <clang/AST/Decl.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <utility>

namespace tarn::tidy {
namespace {

using clang::SourceLocation;

// The include guard, or the `#pragma once`, that begins a file.
struct file_guard {
  SourceLocation condition;  // the `if` of a guard, as the recorder notes it
  SourceLocation end;        // of the lines; invalid if the file has none
};

file_guard guard_of(const clang::SourceManager& sources, const clang::LangOptions& language, clang::FileID file) {
  clang::Lexer lexer(file, sources.getBufferOrFake(file), sources, language);
  std::vector<clang::Token> tokens(6);
  for (clang::Token& token : tokens) lexer.LexFromRawLexer(token);
  const auto is_word = [&](std::size_t index, llvm::StringRef word) {
    return tokens[index].is(clang::tok::raw_identifier) && tokens[index].getRawIdentifier() == word;
  };
  if (!tokens[0].is(clang::tok::hash)) return {};
  if (is_word(1, "pragma") && is_word(2, "once")) return {{}, tokens[2].getEndLoc()};
  const bool is_guard = is_word(1, "ifndef") && tokens[3].is(clang::tok::hash) && is_word(4, "define") &&
                        tokens[2].is(clang::tok::raw_identifier) && is_word(5, tokens[2].getRawIdentifier());
  return is_guard ? file_guard{tokens[1].getLocation(), tokens[5].getEndLoc()} : file_guard();
}

// Returns the text of the line around a location, before and from it.
std::pair<llvm::StringRef, llvm::StringRef> line_around(const clang::SourceManager& sources, SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedLoc(location);
  const llvm::StringRef text = sources.getBufferData(file);
  const std::size_t begin = text.take_front(offset).rfind('\n') + 1;  // npos + 1 is 0
  return {text.slice(begin, offset), text.slice(offset, text.find('\n', offset))};
}

// Returns whether only comments stand between two lines of a file, no empty line.
bool is_one_block(const clang::SourceManager& sources, SourceLocation first, SourceLocation second) {
  const auto [file, offset] = sources.getDecomposedLoc(first);
  const llvm::StringRef text = sources.getBufferData(file).slice(offset, sources.getFileOffset(second));
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  return lines.size() >= 2 && llvm::all_of(llvm::ArrayRef(lines).drop_front().drop_back(),
                                           [](llvm::StringRef line) { return line.ltrim().startswith("//"); });
}

}  // namespace

class include_places::recorder : public clang::PPCallbacks {
 public:
  recorder(const clang::Preprocessor& preprocessor, include_places& places)
      : sources_(preprocessor.getSourceManager()), language_(preprocessor.getLangOpts()), places_(places) {}

  void FileChanged(SourceLocation location, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason == EnterFile) places_.files_.push_back(sources_.getFileID(location));
  }
  void InclusionDirective(SourceLocation hash, const clang::Token&, clang::StringRef name, bool is_angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, clang::StringRef, clang::StringRef,
                          const clang::Module*, clang::SrcMgr::CharacteristicKind) override {
    if (!hash.isFileID()) return;
    std::vector<SourceLocation> conditions;
    for (SourceLocation condition : open_) {
      if (sources_.isWrittenInSameFile(condition, hash)) conditions.push_back(condition);
    }
    places_.lines_.push_back({hash, name.str(), is_angled, std::move(conditions), keywords_.empty() && pushes_ == 0});
  }
  void MacroDefined(const clang::Token& name, const clang::MacroDirective*) override {
    places_.macros_.push_back(name.getLocation());
    if (is_keyword(name)) keywords_.insert(name.getIdentifierInfo());
  }
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition&, const clang::MacroDirective*) override {
    keywords_.erase(name.getIdentifierInfo());
  }
  void If(SourceLocation location, clang::SourceRange, ConditionValueKind) override { open(location); }
  void Ifdef(SourceLocation location, const clang::Token&, const clang::MacroDefinition&) override { open(location); }
  void Ifndef(SourceLocation location, const clang::Token&, const clang::MacroDefinition&) override { open(location); }
  void Else(SourceLocation location, SourceLocation) override { add(location); }
  void Endif(SourceLocation location, SourceLocation condition) override {
    add(location);
    places_.conditions_.emplace_back(condition, location);
    if (!open_.empty()) open_.pop_back();
  }
  void PragmaDirective(SourceLocation location, clang::PragmaIntroducerKind) override {
    add(location);
    const llvm::StringRef text = line_around(sources_, sources_.getExpansionLoc(location)).second;
    if (text.contains("push")) ++pushes_;
    if (text.contains("pop") && pushes_ > 0) --pushes_;
  }

 private:
  // A macro may write a pragma.
  void add(SourceLocation location) { places_.directives_.push_back(sources_.getExpansionLoc(location)); }
  void open(SourceLocation location) {
    add(location);
    open_.push_back(location);
  }
  bool is_keyword(const clang::Token& name) const {
    const SourceLocation location = name.getLocation();
    return name.getIdentifierInfo() != nullptr && name.getIdentifierInfo()->isKeyword(language_) &&
           !sources_.isInSystemHeader(location) && !sources_.isWrittenInBuiltinFile(location) &&
           !sources_.isWrittenInCommandLineFile(location);
  }

  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  include_places& places_;
  std::vector<SourceLocation> open_;
  llvm::DenseSet<const clang::IdentifierInfo*> keywords_;  // that are macros of the program
  int pushes_ = 0;
};

void include_places::watch(clang::Preprocessor& preprocessor) {
  *this = {};
  preprocessor.addPPCallbacks(std::make_unique<recorder>(preprocessor, *this));
}

bool include_places::is_at_file_scope(const clang::ASTContext& context, SourceLocation location) const {
  const clang::SourceManager& sources = context.getSourceManager();
  return llvm::none_of(context.getTranslationUnitDecl()->decls(), [&](const clang::Decl* declaration) {
    const SourceLocation begin = sources.getExpansionLoc(declaration->getBeginLoc());
    const SourceLocation end = sources.getExpansionLoc(declaration->getEndLoc());
    return begin.isValid() && end.isValid() && begin != location &&
           sources.isBeforeInTranslationUnit(begin, location) && sources.isBeforeInTranslationUnit(location, end);
  });
}

include_places::answer include_places::place_for(const clang::ASTContext& context, const std::string& header,
                                                 SourceLocation user) {
  const clang::SourceManager& sources = context.getSourceManager();
  user = sources.getExpansionLoc(user);
  const clang::FileID file = sources.getFileID(user);
  const SourceLocation start = sources.getLocForStartOfFile(file);
  if (files_with_line_.contains({file, header})) return {true, std::nullopt};
  // A file may be included in several places.
  for (clang::FileID next : files_) {
    const SourceLocation next_start = sources.getLocForStartOfFile(next);
    if (sources.isWrittenInSameFile(start, next_start) ||
        sources.getFileEntryForID(file) == sources.getFileEntryForID(next)) {
      if (!is_at_file_scope(context, next_start)) return {};
    }
  }
  file_guard guard = guard_of(sources, context.getLangOpts(), file);
  if (guard.condition.isValid()) {
    // Nothing follows the #endif of an include guard.
    const auto whole = llvm::find_if(conditions_, [&](const auto& pair) { return pair.first == guard.condition; });
    const bool is_guard =
        whole != conditions_.end() && clang::Lexer::findNextToken(whole->second, sources, context.getLangOpts())
                                          .value_or(clang::Token())
                                          .is(clang::tok::eof);
    if (!is_guard) guard = {};
  }
  std::vector<const include_line*> lines;
  for (const include_line& line : lines_) {
    if (sources.getFileID(line.hash) != file || sources.isBeforeInTranslationUnit(user, line.hash)) continue;
    const bool is_unconditional =
        line.conditions.empty() || (line.conditions.size() == 1 && line.conditions[0] == guard.condition);
    if (!is_unconditional || !is_at_file_scope(context, line.hash)) continue;
    if (line.name == header) return {true, std::nullopt};
    const auto [before, after] = line_around(sources, line.hash);
    if (line.is_usual && before.trim().empty() && !after.contains("/*") && !after.contains("\\\n"))
      lines.push_back(&line);
  }
  const auto insert = [&](SourceLocation location, const std::string& text) -> answer {
    files_with_line_.insert({file, header});
    return {true, clang::FixItHint::CreateInsertion(location, text)};
  };
  const std::string text = "#include <" + header + ">";
  const bool has_carriage_returns = line_around(sources, start).second.endswith("\r");
  const std::string line_end = has_carriage_returns ? "\r\n" : "\n";
  if (lines.empty()) {
    if (guard.end.isValid()) return insert(guard.end, line_end + line_end + text);
    // A macro of the file may be meant for the headers that follow.
    const bool has_macro = llvm::any_of(macros_, [&](SourceLocation macro) {
      return sources.getFileID(sources.getExpansionLoc(macro)) == file &&
             sources.isBeforeInTranslationUnit(macro, user);
    });
    return has_macro ? answer() : insert(start, text + line_end + line_end);
  }
  // In the first block of lines with angle brackets, at the place of its name; else behind the last line of the first
  // block.
  const auto first = llvm::find_if(lines, [](const include_line* line) { return line->is_angled; });
  const auto begin = first == lines.end() ? lines.begin() : first;
  const include_line* last = *begin;
  for (auto next = begin; next != lines.end(); ++next) {
    if (*next != last && ((*next)->is_angled != last->is_angled || !is_one_block(sources, last->hash, (*next)->hash)))
      break;
    last = *next;
    if (last->is_angled && last->name > header) {
      const auto indentation = static_cast<int>(line_around(sources, last->hash).first.size());
      return insert(last->hash.getLocWithOffset(-indentation), text + line_end);
    }
  }
  llvm::StringRef after = line_around(sources, last->hash).second;
  after.consume_back("\r");
  return insert(last->hash.getLocWithOffset(static_cast<int>(after.size())), line_end + text);
}

}  // namespace tarn::tidy
