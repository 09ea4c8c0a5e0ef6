#include "tarn/push.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "exports/formats.hpp"
#include "exports/gzip.hpp"
#include "tarn/failure.hpp"
#include "tarn/helper.hpp"

namespace tarn::command {
namespace {

// Escapes a value for the query of a URL.
std::string encoded(const std::string& text) {
  std::string made;
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9') || each == '-' || each == '.' || each == '_';
    made += is_plain ? std::string(1, each) : fmt::format("%{:02X}", code);
  }
  return made;
}

// Describes the types of the profile; without this the server accepts only the types that it knows.
std::string types_of(const exports::profile& of) {
  nlohmann::json all;
  for (const exports::measure each : of.used()) {
    const exports::measure_info& info = exports::measures[each];
    const char* const units = info.in == exports::unit::bytes         ? "bytes"
                              : info.in == exports::unit::nanoseconds ? "lock_nanoseconds"
                                                                      : "objects";
    all[std::string(info.name)] = {
        {"units", units}, {"display-name", info.name}, {"aggregation", "sum"}, {"sampled", false}};
  }
  return all.dump();
}

}  // namespace

void push(const exports::profile& of, const std::string& url, const std::string& name) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    fail(exit_code::usage, "{}: an address begins with http:// or https://", url);
  }
  const format::recording& in = of.recorded();
  const std::string program = in.program.words.empty() ? "program" : exports::file_name(in.program.words.front());
  const std::uint64_t seconds = in.ended ? (in.end.wall_us + 999'999) / 1'000'000 : 0;
  const std::string address =
      fmt::format("{}/ingest?name={}&from={}&until={}&format=pprof&spyName=tarn",
                  url.substr(0, url.find_last_not_of('/') + 1), encoded(name.empty() ? program : name),
                  in.program.started, in.program.started + std::max<std::uint64_t>(seconds, 1));
  const helper_result sent =
      run_helper({"curl", "--fail-with-body", "--silent", "--show-error", "--max-time", "60", "--globoff",  //
                  "--form", "profile=@-;filename=profile.pb.gz",                                            //
                  "--form", "sample_type_config=" + types_of(of) + ";filename=types.json", "--url", address},
                 exports::gzip(exports::as_pprof(of)), true);
  if (sent.code == 127) fail(exit_code::usage, "curl sends profiles, and is not here: apt install curl");
  if (sent.code != 0) {
    std::string answer = sent.output.substr(0, 200);
    std::replace_if(
        answer.begin(), answer.end(), [](char each) { return static_cast<unsigned char>(each) < 0x20; }, ' ');
    fail(exit_code::usage, "{} did not take the profile{}{}", url, answer.empty() ? "" : ": ", answer);
  }
}

}  // namespace tarn::command
