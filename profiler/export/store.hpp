// A store of profiles, such as Pyroscope, which libcurl reaches by HTTP.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tarn::command {

class profile_store {
 public:
  enum class outcome { accepted, refused, unavailable };
  struct reply {
    outcome result = outcome::unavailable;
    int kind = 0;        // the HTTP status, or libcurl's error as a negative number
    std::string reason;  // one line
    std::chrono::seconds retry_after{};
  };

  // Throws a failure if `url` does not begin with http:// or https://, or if libcurl is missing.
  explicit profile_store(const std::string& url);

  // Sends `body` to the store's /ingest. A profile is `unavailable` where a later attempt may succeed. One that the
  // store has acknowledged is `accepted`, whatever follows in the answer.
  reply post(const std::string& query, std::string_view body, std::chrono::milliseconds longest) const;
  // Returns the URL without user and password.
  const std::string& name() const { return name_; }

 private:
  std::string url_, name_;
};

}  // namespace tarn::command
