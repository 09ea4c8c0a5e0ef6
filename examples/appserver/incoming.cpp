#include "incoming.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace appserver {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t framing = 6;     ///< bytes around one byte of a body, in the smallest chunks
constexpr std::size_t least_left = 5;  ///< bytes that an unfinished chunked body still needs: 0\r\n\r\n

}  // namespace

incoming::incoming(allocator memory, const server_settings& limits)
    : parser_(std::piecewise_construct, std::make_tuple(memory), std::make_tuple(memory)), limits_(limits) {
  parser_.header_limit(static_cast<std::uint32_t>(limits.header));
  parser_.body_limit(limits.body);
}

bool incoming::take(read_buffer& from, part wanted) {
  error_code error;
  while (!refused() && !(wanted == part::header ? parser_.is_header_done() : parser_.is_done())) {
    const bool in_header = !parser_.is_header_done();
    // Beast 1.81 takes the first line of the last chunk for itself, and asserts that the rest has arrived as far.
    if (!in_header && parser_.chunked() && from.size() < least_left) {
      return false;
    }
    const std::size_t used = from.size() != 0 ? parser_.put(from.data(), error) : 0;
    from.consume(used);
    taken_ += used;
    // The parser limits only the bytes that arrive at once. Fields that arrive one by one or after the last chunk,
    // and chunk extensions, are counted here.
    const std::size_t all = taken_ + (error == http::error::need_more ? from.size() : 0);
    if (in_header) {
      header_ = all;
    }
    const std::size_t beside = all - std::min(all, header_ + framing * parser_.get().body().size());
    if (std::max(header_, beside) > limits_.header) {
      error = http::error::header_limit;
    }
    if (error && error != http::error::need_more) {
      refuse(error);
    } else if (error || used == 0) {
      return false;
    } else if (in_header && parser_.is_header_done()) {
      check_header();
    }
  }
  return true;
}

void incoming::end() {
  error_code error;
  parser_.put_eof(error);
  refuse(error ? error : error_code(http::error::partial_message));
}

void incoming::refuse(const error_code& error) {
  refused_.status = 400;
  refused_.why = error.message();
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    refused_.status = 431;
  } else if (error == http::error::body_limit) {
    refused_.status = 413;
  } else if (error == http::error::bad_version) {
    refused_.status = 505;
  }
}

/// Refuses requests that the parser accepts but another server may understand differently: request smuggling uses
/// them.
void incoming::check_header() {
  const message& asked = parser_.get();
  const std::string_view host = asked[http::field::host];
  const std::size_t hosts = asked.count(http::field::host);
  const std::size_t codings = asked.count(http::field::transfer_encoding);
  if (hosts > 1 || (asked.version() == 11 && hosts == 0) || host.find_first_of(" \t,/@") != host.npos) {
    refused_ = {400, "one Host field is needed"};
  } else if (codings > 1 ||
             (codings == 1 &&
              (asked.version() != 11 || !boost::beast::iequals(asked[http::field::transfer_encoding], "chunked")))) {
    refused_ = {400, "a body is chunked, or has a length"};
  }
}

}  // namespace appserver
