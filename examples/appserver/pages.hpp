// The pages: they turn a request into a reply and know no sockets.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>

#include "objects.hpp"

namespace appserver {

/// Views of the bytes that were read; they last as long as the request.
struct request {
  std::string_view method;
  std::string_view target;
  std::string_view cookies;
  std::string_view body;
};

/// Transient: belongs to one request and is made in its memory.
struct reply {
  explicit reply(std::pmr::memory_resource& memory) : body(&memory), cookie(&memory) {}

  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string_view allow;     ///< the allowed methods, for 405
  bool can_retry = false;     ///< for 503: a later attempt may find room
  std::uint64_t version = 0;  ///< the version of the configuration that served it
  std::pmr::string body;
  std::pmr::string cookie;  ///< empty: no cookie is set
};

/// Turns a request into a reply. Never throws: an error becomes a reply, too. `counters` belongs to the calling
/// worker.
using answering = void(const request&, objects&, worker_metrics& counters, reply&) noexcept;

/// The pages of this server.
void answer(const request& client_request, objects& state, worker_metrics& counters, reply& output) noexcept;

/// Returns the bytes before the body. `is_old` means that the client speaks HTTP/1.0, and `keeps_open` that the
/// connection stays open. `date` is the current time.
std::pmr::string head_of(const reply& answer, bool is_old, bool keeps_open, std::string_view date,
                         std::pmr::memory_resource& memory);

/// Replies with a status and its reason, in one line.
void refuse(unsigned status, std::string_view why, reply& output);

}  // namespace appserver
