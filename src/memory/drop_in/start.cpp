// Starts the drop-in when it is loaded, and prints its report when the program ends.
#include "base/options.hpp"
#include "memory/api/statistics.hpp"
#include "memory/api/statistics_text.hpp"
#include "memory/drop_in/fast.hpp"
#include "memory/guard/guard.hpp"
#include "memory/guard/samples.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;

// Runs right after the engine, whose fork handlers come first, so that the guard's come before the program's own.
[[gnu::constructor(102)]] void configure_guard_samples() noexcept {
  if (!guard::is_enabled() && threads::initialise()) {
    const base::options& options = base::current_options();
    guard::samples::configure(options.limit == 0 ? options.sample_guards : 0);  // slots are not counted in the limit
  }
}

[[gnu::constructor]] void open_statistics() noexcept {
  heaps::draw_mark();
  if (threads::initialise()) api::open_statistics_output(base::current_options());
}

// Runs after the program's own destructors, since it is their allocator.
[[gnu::destructor]] void print_statistics() noexcept {
  if (base::current_options().stats != base::stats_mode::off) api::print_now();
}

}  // namespace
