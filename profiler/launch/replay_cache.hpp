// Keeps the results of replays on this machine, so that all reports of one recording say the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "profiler/predict/trace.hpp"

namespace tarn::command {

// The file replays.json beside the cost model (machine_cache.hpp). It has the results of the newest jobs, by a hash of
// the job.
class replay_cache {
 public:
  static constexpr std::size_t max_results = 1024;

  // Reads the file. Results of another machine, C library or build of Tarn, and a file that cannot be read, are none.
  replay_cache();
  std::optional<analyse::replayed> find(const analyse::replay_job& job) const;
  void add(const analyse::replay_job& job, const analyse::replayed& result);
  // Writes the file. Does nothing where it cannot be written: then each report replays.
  void write() const;
  // Empties the file.
  static void forget();

 private:
  struct entry {
    std::uint64_t key;
    analyse::replayed result;
  };
  std::vector<entry> entries_;                         // the oldest first
  std::map<std::uint64_t, std::size_t> index_by_key_;  // into `entries_`
};

}  // namespace tarn::command
