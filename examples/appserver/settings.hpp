// The configuration: what holds until the next start, and what a reload replaces.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace appserver {

/// Read-only: [server] of the file. Sizes in bytes.
struct server_settings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  ///< 0: one that is free
  unsigned workers = 2;       ///< of each process
  unsigned processes = 0;     ///< 0: this one
  std::chrono::milliseconds stop_after{5'000};
  std::chrono::milliseconds idle{30'000};     ///< between two requests of a connection
  std::chrono::milliseconds request{10'000};  ///< for a request to come in, and for its reply to go out
  std::size_t connections = 1'024;            ///< of all workers; more are answered with 503
  std::size_t header = 8'192;                 ///< a larger one is answered with 431
  std::size_t body = 65'536;                  ///< a larger one is answered with 413
  std::size_t heap = 1 << 20;                 ///< of each worker, there before the first request
  std::size_t arena = 1 << 16;                ///< the first chunk of a request's arena
  std::string access_log;                     ///< a journal; of processes: with a number at its end. Empty: none
  std::size_t access_log_size = 64 << 20;     ///< of a new one

  unsigned all_workers() const noexcept { return (processes == 0 ? 1 : processes) * workers; }
  bool operator==(const server_settings&) const = default;
};

/// Reloadable: [site] of the file.
struct site_settings {
  std::string title = "Tarn";
  std::string footer;
  std::size_t rows = 100'000;           ///< the most of a page; more are answered with 400
  std::size_t sessions = 10'000;        ///< more are answered with 503
  std::chrono::seconds session{1'800};  ///< after that one ends
};

struct configuration {
  server_settings server;
  site_settings site;
};

/// What is wrong with the file, and where: "FILE:LINE:COLUMN: …".
class configuration_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a TOML file. What it does not say is as by default; what it says in vain (a key that is not known, a number
/// out of its range) is a configuration_error.
configuration load(const std::string& file);

}  // namespace appserver
