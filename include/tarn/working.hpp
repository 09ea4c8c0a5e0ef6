// Marks the end of single-threaded initialisation: while a `working` exists, workers run.
#pragma once

#include <source_location>

#include <tarn/detail/config.hpp>

namespace tarn {

/// const tarn::working from_here_on;   // the threads start after this
///
/// While one exists, building a read_only object is a named fault. Only one may exist at a time: a second one is a
/// fault. Threads: the one that starts the workers constructs it before them and destroys it after they have ended; any
/// thread may call now(). Cost: a store at each end; now() is a call and one load.
class working {
 public:
  /// `since` appears in the message of a fault.
  explicit working(std::source_location since = std::source_location::current()) noexcept;
  ~working();
  working(const working&) = delete;
  working& operator=(const working&) = delete;

  /// Returns true while a `working` exists.
  static bool now() noexcept;
};

}  // namespace tarn
