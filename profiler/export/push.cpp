#include "profiler/export/push.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "profiler/base/failure.hpp"
#include "profiler/export/gzip.hpp"
#include "profiler/export/store.hpp"

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

// Returns "service{version=1.4,host=h17}". The store ends a value at a comma or a brace.
std::string name_of(const exports::row_labels& labels) {
  const auto plain = [](std::string value) {
    std::replace_if(
        value.begin(), value.end(),
        [](char letter) { return letter == ',' || letter == '{' || letter == '}' || (letter >= 0 && letter < 0x20); },
        '_');
    return value;
  };
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, plain(value));
  };
  add("version", labels.version);
  add("host", labels.host);
  add("container", labels.container);
  std::istringstream others(labels.others);
  for (std::string label; std::getline(others, label, ';');) {
    const std::size_t sign = label.find('=');
    add(label.substr(0, sign), label.substr(sign + 1));
  }
  return fmt::format("{}{{{}}}", plain(labels.service), text);
}

}  // namespace

profile_upload upload_of(const exports::profile& profile, const exports::row_labels& labels,
                         const exports::time_range& time) {
  return {fmt::format("name={}&from={}&until={}&format=pprof&spyName=tarn",
                      encoded(name_of(exports::complete_labels(labels, profile))), time.from_ns, time.until_ns),
          exports::gzip(exports::as_pprof(profile, time))};
}

void push(const exports::profile& profile, const std::string& url, const exports::row_labels& labels) {
  const profile_store store(url);
  const profile_upload upload = upload_of(profile, labels, exports::time_of(profile));
  const profile_store::reply reply = store.post(upload.query, upload.body, std::chrono::minutes(1));
  if (reply.result != profile_store::outcome::accepted)
    fail(exit_code::io_error, "{} did not take the profile: {}", store.name(), reply.reason);
}

}  // namespace tarn::command
