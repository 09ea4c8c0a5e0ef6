// The module that clang-tidy finds in this library when it loads it.
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>

#include "profiler/tidy/hoist_check.hpp"
#include "profiler/tidy/make_shared_check.hpp"
#include "profiler/tidy/pooled_check.hpp"
#include "profiler/tidy/recycle_check.hpp"
#include "profiler/tidy/reserve_check.hpp"

namespace tarn::tidy {
namespace {

class check_module : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<hoist_check>("tarn-hoist");
    factories.registerCheck<make_shared_check>("tarn-make-shared");
    factories.registerCheck<pooled_check>("tarn-pooled");
    factories.registerCheck<recycle_check>("tarn-recycle");
    factories.registerCheck<reserve_check>("tarn-reserve");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<check_module> registration("tarn-module",
                                                                           "Edits that save allocations.");

}  // namespace
}  // namespace tarn::tidy
