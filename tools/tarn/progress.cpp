#include "tarn/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace tarn::command {

namespace {
constexpr std::chrono::milliseconds between_lines{200};
}

progress::progress(const char* what, std::FILE* to, std::chrono::milliseconds patience)
    : what_(what), to_(to), shows_(::isatty(::fileno(to)) == 1), next_(std::chrono::steady_clock::now() + patience) {}

progress::~progress() {
  if (has_line_) fmt::print(to_, "\r\x1b[K");
}

void progress::at(std::size_t done, std::size_t all) {
  if (!shows_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + between_lines;
  has_line_ = true;
  fmt::print(to_, "\r\x1b[Ktarn: {}: {} of {}, {} %", what_, done, all, 100 * done / std::max<std::size_t>(all, 1));
  std::fflush(to_);
}

}  // namespace tarn::command
