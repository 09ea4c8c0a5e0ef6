// The module that clang-tidy finds in this library when it loads it.
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/tidy/buffered_check.hpp"
#include "profiler/tidy/copy_check.hpp"
#include "profiler/tidy/hoist_check.hpp"
#include "profiler/tidy/make_shared_check.hpp"
#include "profiler/tidy/move_check.hpp"
#include "profiler/tidy/pooled_check.hpp"
#include "profiler/tidy/recycle_check.hpp"
#include "profiler/tidy/reserve_check.hpp"

namespace tarn::tidy {
namespace {

using make_check = std::unique_ptr<edit_check> (*)(llvm::StringRef, clang::tidy::ClangTidyContext*);

template <typename Check>
std::unique_ptr<edit_check> make(llvm::StringRef name, clang::tidy::ClangTidyContext* context) {
  return std::make_unique<Check>(name, context);
}

constexpr std::pair<const char*, make_check> checks[] = {
    {"tarn-buffered", make<buffered_check>}, {"tarn-copy", make<copy_check>},
    {"tarn-hoist", make<hoist_check>},       {"tarn-make-shared", make<make_shared_check>},
    {"tarn-move", make<move_check>},         {"tarn-pooled", make<pooled_check>},
    {"tarn-recycle", make<recycle_check>},   {"tarn-reserve", make<reserve_check>},
};

// tarn-sites: asks about many sites in one run. Each has the name of its check with a number, and an instance of the
// check of its own, so that no answer is about two sites.
class sites_check : public clang::tidy::ClangTidyCheck {
 public:
  sites_check(llvm::StringRef name, clang::tidy::ClangTidyContext* context) : ClangTidyCheck(name, context) {
    site_list sites;
    const std::string problem = sites.read(Options.getLocalOrGlobal("Sites", ""), "");
    if (!problem.empty()) configurationDiag("cannot read the sites: %0", clang::DiagnosticIDs::Error) << problem;
    for (const site& next : sites.entries()) {
      for (const auto& [check, make_instance] : checks) {
        if (llvm::StringRef(next.check).split('.').first == check)
          instances_.push_back(make_instance(next.check, context));
      }
    }
  }
  bool isLanguageVersionSupported(const clang::LangOptions& language) const override { return language.CPlusPlus11; }
  void registerPPCallbacks(const clang::SourceManager& sources, clang::Preprocessor* preprocessor,
                           clang::Preprocessor* expander) override {
    for (const auto& instance : instances_) instance->registerPPCallbacks(sources, preprocessor, expander);
  }
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override {
    for (const auto& instance : instances_) {
      instance->registerMatchers(finder);
      instance->match_sites(finder);
    }
  }

 private:
  std::vector<std::unique_ptr<edit_check>> instances_;
};

class check_module : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    for (const auto& [name, make_instance] : checks) factories.registerCheckFactory(name, make_instance);
    factories.registerCheck<sites_check>("tarn-sites");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<check_module> registration("tarn-module",
                                                                           "Edits that save allocations.");

}  // namespace
}  // namespace tarn::tidy
