// What the drop-in does when it is loaded, and when the program ends.
#include <cstring>
#include <sys/auxv.h>

#include "base/options.hpp"
#include "front/statistics.hpp"
#include "front/statistics_text.hpp"
#include "override/fast.hpp"
#include "thread/threads.hpp"

namespace {

using namespace tarn;

void draw_mark() noexcept {
  std::uintptr_t drawn;
  std::memcpy(&drawn, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), sizeof drawn);
  heaps::free_mark = heaps::mark_high_bits | (drawn >> 8);
  heaps::marks_blocks = true;
}

[[gnu::constructor]] void loaded() noexcept {
  draw_mark();
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
