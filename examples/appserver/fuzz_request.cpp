// Checks arbitrary client input, for ./dev fuzz request: the server's limits hold, each request is answered, and the
// result does not depend on how the bytes are split. A server that sees two requests where another one sees a single
// request can be smuggled to.
//
// The first byte says into which pieces the rest is split in the second run; in the first run it arrives whole.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <string>
#include <string_view>

#include "incoming.hpp"
#include "objects.hpp"
#include "pages.hpp"

namespace {

using namespace appserver;
namespace http = boost::beast::http;

constexpr std::size_t room = 512;  // bytes of the buffer besides a header; the server's is larger

void check(bool is_true) {
  if (!is_true) std::abort();
}

const server_settings& limits() {
  static const server_settings limits{.header = 1024, .body = 256};
  return limits;
}

objects& everything() {
  static objects& instance = *[] {
    auto* const server = new objects(site_settings{.rows = 50, .sessions = 4});
    server->settings.build(limits());
    server->metrics.emplace(1);
    return server;
  }();
  return instance;
}

void answered(const incoming::message& client_request, std::pmr::memory_resource& memory) {
  reply result(memory);
  answer({client_request.method_string(), client_request.target(), client_request[http::field::cookie],
          client_request.body()},
         everything(), (*everything().metrics)[0], result);
  check(result.status >= 200 && result.status < 600);
  const std::pmr::string head =
      head_of(result, client_request.version() == 10, client_request.keep_alive(), "now", memory);
  check(head.starts_with("HTTP/1.") && head.ends_with("\r\n\r\n") && head.find("\r\n\r\n") == head.size() - 4);
  check(std::count(head.begin(), head.end(), '\n') == std::count(head.begin(), head.end(), '\r'));
}

/// Returns what a connection understands of these bytes, read as worker::exchange reads them, one line for each
/// request. `pieces` says how the bytes are split; 0: they arrive whole.
std::string understood(std::string_view sent, std::uint8_t pieces, bool must_answer) {
  std::pmr::monotonic_buffer_resource memory;
  read_buffer unread(limits().header + room, allocator(&memory));
  std::uint32_t state = pieces;
  std::string understood_text;
  const auto more_comes = [&] {
    if (sent.empty()) return false;
    state = state * 1'664'525 + 1'013'904'223;
    const std::size_t free = unread.max_size() - unread.size();
    check(free != 0);  // the parser consumed or refused something: otherwise it could never receive more
    const std::size_t next = std::min({sent.size(), free, pieces == 0 ? free : 1 + (state >> 24) % pieces});
    std::memcpy(unread.prepare(next).data(), sent.data(), next);
    unread.commit(next);
    sent.remove_prefix(next);
    return true;
  };
  for (;;) {
    if (unread.size() == 0 && !more_comes()) return understood_text;
    incoming came(&memory, limits());
    for (const auto next_part : {incoming::part::header, incoming::part::whole}) {
      while (!came.refused() && !came.take(unread, next_part)) {
        if (!more_comes()) came.end();
      }
    }
    if (came.refused()) {
      check(came.why().status >= 400 && came.why().status < 600 && !came.why().why.empty());
      return understood_text + "refused\n";
    }
    const incoming::message& client_request = came.get();
    check(client_request.body().size() <= limits().body && client_request.target().size() <= limits().header);
    understood_text.append(client_request.method_string())
        .append(" ")
        .append(client_request.target())
        .append(" ")
        .append(client_request.body());
    understood_text.append(client_request.keep_alive() ? " +\n" : " -\n");
    if (must_answer) answered(client_request, memory);
    if (!client_request.keep_alive()) return understood_text;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count == 0) return 0;
  const std::string_view sent(reinterpret_cast<const char*>(bytes) + 1, count - 1);
  const std::string whole = understood(sent, 0, true);
  check(whole == understood(sent, static_cast<std::uint8_t>(bytes[0] % 64 + 1), false));
  return 0;
}
