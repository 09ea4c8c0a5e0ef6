// The configuration: one part is fixed until the next start, a reload replaces the other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace appserver {

/// Read-only: [server] of the file. Sizes are in bytes.
struct server_settings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  ///< 0: any free port
  unsigned workers = 2;       ///< in each process
  unsigned processes = 0;     ///< 0: serve in this process
  std::chrono::milliseconds stop_timeout{5'000};
  std::chrono::milliseconds idle{30'000};     ///< the most time between two requests of a connection
  std::chrono::milliseconds request{10'000};  ///< the most time to receive a request, and to send its reply
  std::size_t connections = 1'024;            ///< in all workers; further ones are answered with 503
  std::size_t header = 8'192;                 ///< a larger one is answered with 431
  std::size_t body = 65'536;                  ///< a larger one is answered with 413
  std::size_t heap = 1 << 20;                 ///< for each worker, ready before the first request
  std::size_t arena = 1 << 16;                ///< the first chunk of a request's arena
  std::size_t memory = 256 << 20;             ///< for each process: memory of requests beyond their first chunk
  std::string access_log;                     ///< a journal; with several processes a number is appended. Empty: none
  std::size_t access_log_size = 64 << 20;     ///< the size of a new journal

  unsigned all_workers() const noexcept { return (processes == 0 ? 1 : processes) * workers; }
  bool operator==(const server_settings&) const = default;
};

/// Reloadable: [site] of the file.
struct site_settings {
  std::string title = "Tarn";
  std::string footer;
  std::size_t rows = 100'000;           ///< the most rows of a page; more are answered with 400
  std::size_t sessions = 10'000;        ///< more are answered with 503
  std::chrono::seconds session{1'800};  ///< the lifetime of a session
};

struct configuration {
  server_settings server;
  site_settings site;
};

/// Says what is wrong with the file, and where: "FILE:LINE:COLUMN: …".
class configuration_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a TOML file. Missing keys have their defaults; an unknown key or a number out of range throws
/// configuration_error.
configuration load(const std::string& file);

}  // namespace appserver
