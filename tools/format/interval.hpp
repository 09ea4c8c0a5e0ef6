// A part of a recording, by time: what happened between two of its moments, as if it was all.
#pragma once

#include <cstdint>
#include <string_view>

#include "format/recording.hpp"

namespace tarn::format {

// From the last moment at or before `wanted.from_ns` to the first at or after `wanted.to_ns`; the start and the last
// moment are such, too. Needs moments.
interval to_moments(const recording& whole, const interval& wanted);

// `bytes` are those of `whole`, `which` is of to_moments. Counts are what was added in between, times of the end those
// of the interval. The longest waits are at most what is said: exact where the longest of all so far fell into it.
recording within(const recording& whole, std::string_view bytes, const interval& which);

}  // namespace tarn::format
