#include "profiler/base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace tarn::command {

namespace {
constexpr std::chrono::milliseconds between_lines{200};
}

progress::progress(const char* task, std::FILE* output, std::chrono::milliseconds patience)
    : task_(task),
      output_(output),
      is_shown_(::isatty(::fileno(output)) == 1),
      next_(std::chrono::steady_clock::now() + patience) {}

progress::~progress() {
  if (has_line_) fmt::print(output_, "\r\x1b[K");
}

void progress::update(std::size_t count, std::size_t total) {
  if (!is_shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + between_lines;
  has_line_ = true;
  fmt::print(output_, "\r\x1b[Ktarn: {}: {} of {} sites, {} %", task_, count, total,
             100 * count / std::max<std::size_t>(total, 1));
  std::fflush(output_);
}

}  // namespace tarn::command
