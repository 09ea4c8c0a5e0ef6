#include "profiler/report/views.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace tarn::command {

std::vector<analyse::site_view> all_views(analyse::analysis& analysis) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds patience{1000}, step{100};
  const bool is_shown = ::isatty(STDERR_FILENO) == 1;
  auto next = clock::now() + patience;
  bool was_shown = false;
  std::vector<analyse::site_view> views;
  const std::size_t count = analysis.grouped_sites().size();
  views.reserve(count);
  for (const analyse::site& site : analysis.grouped_sites()) {
    views.push_back(analysis.view(site));
    if (!is_shown || clock::now() < next) continue;
    constexpr std::size_t width = 40;
    const std::size_t done = views.size() * width / count;
    fmt::print(stderr, "\rtarn: resolving names [{:#<{}}{:.<{}}] {} of {} sites ", "", done, "", width - done,
               views.size(), count);
    std::fflush(stderr);
    was_shown = true;
    next = clock::now() + step;
  }
  if (was_shown) fmt::print(stderr, "\r\x1b[K");
  return views;
}

}  // namespace tarn::command
