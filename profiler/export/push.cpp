#include "profiler/export/push.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"
#include "profiler/export/formats.hpp"
#include "profiler/export/gzip.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

// Escapes a value for the query of a URL.
std::string encoded(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_';
    escaped += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", code);
  }
  return escaped;
}

// Describes the types of the profile; without this the server accepts only the types that it knows.
std::string types_of(const exports::profile& profile) {
  nlohmann::json types;
  for (const exports::measure measure : profile.used_measures()) {
    const exports::measure_info& info = exports::measures[measure];
    const char* const units = info.value_unit == exports::unit::bytes         ? "bytes"
                              : info.value_unit == exports::unit::nanoseconds ? "lock_nanoseconds"
                                                                              : "objects";
    types[std::string(info.name)] = {
        {"units", units}, {"display-name", info.name}, {"aggregation", "sum"}, {"sampled", false}};
  }
  return types.dump();
}

}  // namespace

void push(const exports::profile& profile, const std::string& url, const std::string& name) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    fail(exit_code::usage, "{}: the URL must begin with http:// or https://", url);
  }
  const format::recording& recording = profile.recording();
  const std::string program =
      recording.program.arguments.empty() ? "program" : analyse::file_name(recording.program.arguments.front());
  const std::uint64_t seconds = recording.has_ended ? (recording.end.wall_us + 999'999) / 1'000'000 : 0;
  const std::string address =
      fmt::format("{}/ingest?name={}&from={}&until={}&format=pprof&spyName=tarn",
                  url.substr(0, url.find_last_not_of('/') + 1), encoded(name.empty() ? program : name),
                  recording.program.started, recording.program.started + std::max<std::uint64_t>(seconds, 1));
  const helper_result result =
      run_helper({"curl", "--fail-with-body", "--silent", "--show-error", "--max-time", "60", "--globoff",  //
                  "--form", "profile=@-;filename=profile.pb.gz",                                            //
                  "--form", "sample_type_config=" + types_of(profile) + ";filename=types.json", "--url", address},
                 exports::gzip(exports::as_pprof(profile)), true);
  if (result.code == 127) fail(exit_code::missing, "curl is needed to send profiles; apt install curl");
  constexpr int http_error = 22;  // with which curl ends where the server answered with one
  if (result.code != 0 && result.code != http_error)
    fail(exit_code::io_error, "{} did not take the profile: curl ended with exit code {}; is a server there?", url,
         result.code);
  if (result.code != 0) {
    std::string answer = result.output.substr(0, 200);
    std::replace_if(
        answer.begin(), answer.end(), [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, ' ');
    fail(exit_code::io_error, "{} rejected the profile{}{}", url, answer.empty() ? "" : ": ", answer);
  }
}

}  // namespace tarn::command
