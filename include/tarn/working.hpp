// Since when workers run: the end of the initialiser's time.
#pragma once

#include <source_location>

namespace tarn {

/// const tarn::working from_here_on;   // the threads start after this
///
/// While one exists, what is read-only may not be built: a named fault. One at a time, by the thread that starts the
/// workers; it ends after they do.
class working {
 public:
  explicit working(std::source_location since = std::source_location::current()) noexcept;
  ~working();
  working(const working&) = delete;
  working& operator=(const working&) = delete;

  /// Whether workers run.
  static bool now() noexcept;
};

}  // namespace tarn
