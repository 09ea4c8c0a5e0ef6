// The pages: from a request to a reply, without a word of sockets.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>

#include "objects.hpp"

namespace appserver {

/// Views of what was read; they last as long as the request.
struct request {
  std::string_view method;
  std::string_view target;
  std::string_view cookies;
  std::string_view body;
};

/// Transient: of one request, made in its memory.
struct reply {
  explicit reply(std::pmr::memory_resource& memory) : body(&memory), cookie(&memory) {}

  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string_view allow;     ///< the methods that there are, for 405
  bool retry = false;         ///< for 503: later there may be room
  std::uint64_t version = 0;  ///< of the configuration that served it
  std::pmr::string body;
  std::pmr::string cookie;  ///< empty: none is set
};

/// From a request to a reply. Never throws: what goes wrong is a reply, too. `counted` is of the calling worker.
using answering = void(const request&, objects&, worker_metrics& counted, reply&) noexcept;

/// The pages of this server.
void answer(const request& asked, objects& all, worker_metrics& counted, reply& into) noexcept;

/// What goes out before the body. `old`: to a client of HTTP/1.0; `keep`: the connection stays; `date`: now.
std::pmr::string head_of(const reply& made, bool old, bool keep, std::string_view date,
                         std::pmr::memory_resource& memory);

/// The reply is a status and what it means, in one line.
void refuse(unsigned status, std::string_view why, reply& into);

}  // namespace appserver
