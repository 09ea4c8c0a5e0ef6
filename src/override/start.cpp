// What the drop-in does when it is loaded, and when the program ends.
#include <pthread.h>
#include <sys/auxv.h>
#include <csignal>
#include <cstring>

#include "base/options.hpp"
#include "front/statistics.hpp"
#include "front/statistics_text.hpp"
#include "guard/guard.hpp"
#include "heap/registry.hpp"
#include "override/fast.hpp"
#include "platform/platform.hpp"
#include "thread/threads.hpp"

namespace {

using namespace tarn;

void draw_mark() noexcept {
  std::uintptr_t drawn;
  std::memcpy(&drawn, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), sizeof drawn);
  heaps::free_mark = heaps::mark_high_bits | (drawn >> 8);
  heaps::marks_blocks = true;
}

// Comes by when nobody else does. Not in forked children, which have one thread.
void* purge_for_ever(void*) noexcept {
  const std::uint32_t delay_ms = base::current_options().purge_delay_ms;
  for (;;) {
    platform::sleep_ms(delay_ms / 4 + 10);
    heaps::central().purge(platform::now_ms(), delay_ms);
  }
}

void start_purging() noexcept {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);  // the program's signals are for its own threads
  if (pthread_attr_init(&attributes) != 0) {
    return;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, std::size_t{64} << 10);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  (void)pthread_create(&thread, &attributes, purge_for_ever, nullptr);  // or it goes without
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

// Right after the engine, whose fork handlers are first: before the program's own.
[[gnu::constructor(102)]] void early() noexcept { (void)guard::wanted(); }

[[gnu::constructor]] void loaded() noexcept {
  draw_mark();
  if (threads::initialise()) {
    const base::options& options = base::current_options();
    front::open_statistics_output(options);
    if (options.background_purge) {
      start_purging();
    }
  }
}

// After the program's own destructors, as its allocator.
[[gnu::destructor]] void unloaded() noexcept {
  if (base::current_options().stats != base::stats_mode::off) {
    front::print_now();
  }
}

}  // namespace
