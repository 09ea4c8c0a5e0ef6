#pragma once

#include <string>

#include "profiler/export/formats.hpp"
#include "profiler/export/profile.hpp"

namespace tarn::command {

// A profile as a store gets it: the query of /ingest, and pprof. Both are equal whenever they are made of one recording
// and one time, so that a store can tell a profile that is sent twice.
struct profile_upload {
  std::string query, body;
};
profile_upload upload_of(const exports::profile& profile, const exports::row_labels& labels,
                         const exports::time_range& time);

// Sends the profile to the store at `url`. Throws a failure if it cannot be reached or refuses it, or without libcurl.
void push(const exports::profile& profile, const std::string& url, const exports::row_labels& labels);

}  // namespace tarn::command
