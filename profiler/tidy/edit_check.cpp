#include "profiler/tidy/edit_check.hpp"

#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/DiagnosticsYaml.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <set>
#include <utility>

namespace tarn::tidy {
namespace {

using clang::SourceLocation;

bool is_same_edit(const clang::FixItHint& first, const clang::FixItHint& second) {
  return first.RemoveRange.getAsRange() == second.RemoveRange.getAsRange() && first.CodeToInsert == second.CodeToInsert;
}

bool is_same(const verdict& first, const verdict& second) {
  return first.level == second.level && first.edits.size() == second.edits.size() &&
         std::equal(first.edits.begin(), first.edits.end(), second.edits.begin(), is_same_edit);
}

// Writes edits into a new file of a folder, as clang-apply-replacements reads them; none where they overlap, or where a
// macro has a part of what they replace.
void write_edits(const clang::SourceManager& sources, const clang::LangOptions& language,
                 const std::vector<clang::FixItHint>& edits, const std::string& folder) {
  // An edit of a diagnostic is made once, however many units ask for it.
  clang::tooling::TranslationUnitDiagnostics unit;
  clang::tooling::Diagnostic& diagnostic = unit.Diagnostics.emplace_back();
  diagnostic.DiagLevel = clang::tooling::Diagnostic::Warning;
  for (const clang::FixItHint& edit : edits) {
    const clang::CharSourceRange range = clang::Lexer::makeFileCharRange(edit.RemoveRange, sources, language);
    if (range.isInvalid()) return;
    const auto [source, begin] = sources.getDecomposedLoc(range.getBegin());
    const clang::FileEntry* entry = sources.getFileEntryForID(source);
    if (entry == nullptr) return;
    const std::string path = real_path(entry->getName());
    const unsigned length = sources.getDecomposedLoc(range.getEnd()).second - begin;
    if (llvm::errorToBool(diagnostic.Message.Fix[path].add({path, begin, length, edit.CodeToInsert}))) return;
    unit.MainSourceFile = path;
  }
  llvm::SmallString<256> path;
  int descriptor = -1;
  if (llvm::sys::fs::create_directories(folder) ||
      llvm::sys::fs::createUniqueFile(folder + "/%%%%%%%%.yaml", descriptor, path)) {
    return;
  }
  llvm::raw_fd_ostream file(descriptor, true);
  llvm::yaml::Output output(file);
  output << unit;
}

// Returns a macro of the unit that would take the place of a name which the edits write; empty if there is none.
std::string macro_in(const clang::ASTContext& context, const verdict& result) {
  for (llvm::StringRef name : {"std", "tarn", "move", "make_shared", "recycle", "pooled", "reserve", "clear", "assign",
                               "append", "resize", "get_allocator", "size"}) {
    const auto identifier = context.Idents.find(name);
    if (identifier == context.Idents.end() || !identifier->second->hadMacroDefinition()) continue;
    const auto has_name = [&](const clang::FixItHint& edit) {
      const llvm::StringRef text = edit.CodeToInsert;
      const auto is_letter = [&](std::size_t index) {
        return index < text.size() && (llvm::isAlnum(text[index]) || text[index] == '_');
      };
      for (std::size_t position = text.find(name); position != llvm::StringRef::npos;
           position = text.find(name, position + 1)) {
        if (!(position > 0 && is_letter(position - 1)) && !is_letter(position + name.size())) return true;
      }
      return false;
    };
    if (llvm::any_of(result.edits, has_name)) return name.str();
  }
  return {};
}

}  // namespace

verdict refusal(SourceLocation location, obstacle problem) {
  verdict result;
  result.level = certainty::no_edit;
  result.location = location;
  result.text = problem.text;
  result.notes.push_back(std::move(problem));
  return result;
}

edit_check::edit_check(llvm::StringRef name, clang::tidy::ClangTidyContext* context)
    : ClangTidyCheck(name, context),
      has_number_(name.contains('.')),
      path_(Options.getLocalOrGlobal("Sites", "").str()) {
  const llvm::StringRef edits = Options.getLocalOrGlobal("Edits", "");
  if (has_number_ && !edits.empty()) edits_ = (edits + "/" + name).str();
  if (path_.empty()) return;
  const std::string problem = sites_.read(path_, name);
  if (!problem.empty())
    configurationDiag("cannot read the sites in '%0': %1", clang::DiagnosticIDs::Error) << path_ << problem;
}

void edit_check::storeOptions(clang::tidy::ClangTidyOptions::OptionMap& options) {
  Options.store(options, "Sites", path_);
}

void edit_check::registerPPCallbacks(const clang::SourceManager& sources, clang::Preprocessor* preprocessor,
                                     clang::Preprocessor*) {
  sources_ = &sources;
  places_.watch(*preprocessor);
  // Preprocessor::LookupFile would need the location of an #include.
  include_folders_.clear();
  for (const clang::DirectoryLookup& folder : preprocessor->getHeaderSearchInfo().search_dir_range())
    include_folders_.push_back(folder.getName().str());
}

bool edit_check::finds_header(llvm::StringRef header) const {
  return llvm::any_of(include_folders_,
                      [&](const std::string& folder) { return llvm::sys::fs::exists(folder + "/" + header.str()); });
}

void edit_check::run(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  context_ = result.Context;
  check(result);
}

void edit_check::match_functions(clang::ast_matchers::MatchFinder* finder) {
  using namespace clang::ast_matchers;
  if (has_sites()) finder->addMatcher(functionDecl(unless(isExpansionInSystemHeader())).bind("function"), this);
}

const clang::FunctionDecl* edit_check::recorded_function(
    const clang::ast_matchers::MatchFinder::MatchResult& result) const {
  const auto* function = result.Nodes.getNodeAs<clang::FunctionDecl>("function");
  const bool is_recorded = function->doesThisDeclarationHaveABody() && !function->isDependentContext() &&
                           sites().find(*result.SourceManager, function->getSourceRange()) != nullptr;
  return is_recorded ? function : nullptr;
}

void edit_check::add(SourceLocation key, verdict result) { judgements_.push_back({key, std::move(result)}); }

bool edit_check::has_directives(const clang::SourceManager& sources, clang::SourceRange range) const {
  const SourceLocation begin = sources.getExpansionLoc(range.getBegin());
  const SourceLocation end = sources.getExpansionLoc(range.getEnd());
  return llvm::any_of(places_.directives(), [&](SourceLocation location) {
    return sources.isWrittenInSameFile(location, begin) && !sources.isBeforeInTranslationUnit(location, begin) &&
           !sources.isBeforeInTranslationUnit(end, location);
  });
}

void edit_check::unit_facts::run(const clang::ast_matchers::MatchFinder::MatchResult& result) {
  const clang::SourceManager& sources = *result.SourceManager;
  if (const auto* call = result.Nodes.getNodeAs<clang::CXXMemberCallExpr>("capacity")) {
    // A check sees itself how its function uses a local container.
    const auto* object = llvm::dyn_cast<clang::DeclRefExpr>(call->getImplicitObjectArgument()->IgnoreParenImpCasts());
    const auto* variable = object == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(object->getDecl());
    const bool is_local = variable != nullptr && variable->hasLocalStorage() &&
                          !variable->getType()->isReferenceType() && !llvm::isa<clang::ParmVarDecl>(variable);
    if (is_local) return;
    capacities.try_emplace(call->getMethodDecl()->getParent()->getCanonicalDecl(), call->getExprLoc());
    return;
  }
  const auto* function = result.Nodes.getNodeAs<clang::FunctionDecl>("function");
  if (function->isImplicit() || function->isDependentContext() || function->getBody() == nullptr ||
      check_.sites().find(sources, function->getSourceRange()) == nullptr) {
    return;
  }
  const clang::SourceLocation location = sources.getExpansionLoc(function->getLocation());
  site_functions.try_emplace(sources.getFileID(location), location);
}

clang::ast_matchers::DeclarationMatcher edit_check::site_matcher() {
  using namespace clang::ast_matchers;
  return functionDecl(isDefinition(), unless(isExpansionInSystemHeader())).bind("function");
}

clang::ast_matchers::StatementMatcher edit_check::capacity_matcher() {
  using namespace clang::ast_matchers;
  const auto containers = hasAnyName("::std::vector", "::std::basic_string");
  return cxxMemberCallExpr(unless(isExpansionInSystemHeader()),
                           callee(cxxMethodDecl(hasName("capacity"), ofClass(containers))))
      .bind("capacity");
}

void edit_check::report_other_code(const std::vector<judgement>& judgements) {
  std::set<clang::FileID> judged_files;
  for (const judgement& next : judgements)
    judged_files.insert(sources_->getFileID(sources_->getExpansionLoc(next.key)));
  for (const auto& [file, location] : facts_.site_functions) {
    // A check may judge the code of another file, such as a class.
    const bool is_elsewhere =
        llvm::any_of(judged_files, [&](clang::FileID judged) { return !facts_.site_functions.contains(judged); });
    if (judged_files.contains(file) || is_elsewhere) continue;
    diag(location, "silent: this unit has other code here");
    return;
  }
}

void edit_check::add_include(verdict& result) {
  const include_places::answer line = places_.place_for(*context_, result.header, result.location);
  if (line.edit) result.edits.push_back(*line.edit);
  if (!line.is_possible)
    result = refusal(result.location, {"no place is sure for #include <" + result.header + ">", result.location});
}

void edit_check::onEndOfTranslationUnit() {
  std::vector<judgement> judgements = std::move(judgements_);
  judgements_.clear();
  if (has_number_) report_other_code(judgements);
  std::stable_sort(judgements.begin(), judgements.end(),
                   [](const judgement& first, const judgement& second) { return first.key < second.key; });
  std::vector<verdict> reported;  // without includes, of which a file gets each once
  for (auto first = judgements.begin(); first != judgements.end();) {
    auto last = std::find_if(first, judgements.end(), [&](const judgement& next) { return next.key != first->key; });
    verdict& result = first->result;
    if (std::any_of(first, last, [&](const judgement& next) { return !is_same(next.result, result); })) {
      result.level = certainty::no_edit;
      result.edits.clear();
      result.location = first->key;
      result.text = "instantiations of the template need different edits";
      result.notes = {{"each instantiation of the template shares this code", first->key}};
    }
    first = last;
    const auto capacity = result.container == nullptr ? facts_.capacities.end()
                                                      : facts_.capacities.find(result.container->getCanonicalDecl());
    if (result.level == certainty::proven && capacity != facts_.capacities.end()) {
      result.level = certainty::review;
      result.notes.push_back({"this reads the capacity of such a container", capacity->second});
    }
    if (const std::string macro = macro_in(*context_, result); !macro.empty())
      result = refusal(result.location, {"a macro has the name '" + macro + "'", result.location});
    // Two lines of one loop may lead to the same edit.
    const bool is_repeated = !result.edits.empty() && llvm::any_of(reported, [&](const verdict& earlier) {
      return earlier.text == result.text && is_same(earlier, result);
    });
    if (is_repeated) continue;
    reported.push_back(result);
    if (!result.edits.empty() && !result.header.empty()) add_include(result);
    if (result.level == certainty::silent || (result.level == certainty::no_edit && !has_sites())) continue;
    const char* prefix = result.level == certainty::no_edit  ? "no edit: "
                         : result.level == certainty::review ? "review: "
                                                             : "";
    if (!edits_.empty() && !result.edits.empty()) write_edits(*sources_, getLangOpts(), result.edits, edits_);
    {
      clang::DiagnosticBuilder diagnostic = diag(result.location, "%0%1") << prefix << result.text;
      if (!has_number_) {
        for (const clang::FixItHint& edit : result.edits) diagnostic << edit;
      }
    }
    for (const obstacle& note : result.notes) {
      if (note.location.isValid()) diag(note.location, "%0", clang::DiagnosticIDs::Note) << note.text;
    }
  }
  facts_.site_functions.clear();
  facts_.capacities.clear();
}

}  // namespace tarn::tidy
