// What the drop-in does when it is loaded, and when the program ends.
#include "base/options.hpp"
#include "front/statistics.hpp"
#include "front/statistics_text.hpp"
#include "thread/threads.hpp"

namespace {

using namespace tarn;

[[gnu::constructor]] void loaded() noexcept {
  if (threads::initialise()) {
    front::open_statistics_output(base::current_options());
  }
}

// After the program's own destructors, as its allocator.
[[gnu::destructor]] void unloaded() noexcept {
  if (base::current_options().stats != base::stats_mode::off) {
    front::print_now();
  }
}

}  // namespace
