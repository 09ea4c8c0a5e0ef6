// Cuts a recording by time: the part between two of its moments becomes a recording of its own.
#pragma once

#include <string_view>

#include "profiler/format/recording.hpp"

namespace tarn::format {

// Widens `request` to snapshots of the recording: the last one at or before `request.from_ns` and the first one at or
// after `request.to_ns`. The start counts as a snapshot, too, and an end after the last snapshot becomes that snapshot.
// The recording must have snapshots.
interval to_snapshots(const recording& whole, const interval& request);

// `bytes` are those of `whole`, and `interval_to_cut` comes from to_snapshots. The result has the counts that were
// added in the interval, and the wall and CPU time of the interval. Its longest times are upper bounds: they are
// exact if the longest of all so far fell into the interval.
recording part_of(const recording& whole, std::string_view bytes, const interval& interval_to_cut);

// Returns the difference of `now` and `before`, an earlier state of the same recording: a recording of the time between
// them. Its tables are those of `now`. Its peak is the one of `now`, which must lie in that time; each cell has the
// difference of its values at the peak and in `before`. The snapshots are those of `now`, unchanged.
recording since(const recording& before, const recording& now);

}  // namespace tarn::format
