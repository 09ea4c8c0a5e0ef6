// Marks the end of single-threaded initialisation: while a `work_phase` exists, workers run.
#pragma once

#include <source_location>

#include <tarn/detail/config.hpp>

namespace tarn {

/// const tarn::work_phase from_here_on;   // the threads start after this
///
/// While one exists, building a read_only object is a named fault. Only one may exist at a time: a second one is a
/// fault. Threads: the one that starts the workers constructs it before them and destroys it after they have ended; any
/// thread may call is_running(). Cost: a store at each end; is_running() is a call and one load.
class work_phase {
 public:
  /// `since` appears in the message of a fault.
  explicit work_phase(std::source_location since = std::source_location::current()) noexcept;
  ~work_phase();
  work_phase(const work_phase&) = delete;
  work_phase& operator=(const work_phase&) = delete;

  /// Returns true while a `work_phase` exists.
  static bool is_running() noexcept;
};

}  // namespace tarn
