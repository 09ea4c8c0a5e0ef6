#include "incoming.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace appserver {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t framing = 6;   ///< bytes around one byte of a body, in the smallest chunks
constexpr std::size_t min_left = 5;  ///< bytes that an unfinished chunked body still needs: 0\r\n\r\n

}  // namespace

incoming::incoming(allocator memory, const server_settings& limits)
    : parser_(std::piecewise_construct, std::make_tuple(memory), std::make_tuple(memory)), limits_(limits) {
  parser_.header_limit(static_cast<std::uint32_t>(limits.header));
  parser_.body_limit(limits.body);
}

bool incoming::take(read_buffer& input, part next_part) {
  error_code error;
  while (!refused() && !(next_part == part::header ? parser_.is_header_done() : parser_.is_done())) {
    const bool is_in_header = !parser_.is_header_done();
    if (is_in_header && !check_lines(input)) {
      return refused();
    }
    // Beast 1.81 takes the first line of the last chunk for itself, and asserts that the rest has arrived as far.
    if (!is_in_header && parser_.chunked() && input.size() < min_left) {
      return false;
    }
    const std::size_t parsed_bytes = input.size() != 0 ? parser_.put(input.data(), error) : 0;
    input.consume(parsed_bytes);
    taken_bytes_ += parsed_bytes;
    // The parser limits only the bytes that arrive at once. Fields that arrive one by one or after the last chunk,
    // and chunk extensions, are counted here.
    const std::size_t message_bytes = taken_bytes_ + (error == http::error::need_more ? input.size() : 0);
    if (is_in_header) {
      header_ = message_bytes;
    }
    const std::size_t framing_bytes =
        message_bytes - std::min(message_bytes, header_ + framing * parser_.get().body().size());
    if (std::max(header_, framing_bytes) > limits_.header) {
      error = http::error::header_limit;
    }
    if (error && error != http::error::need_more) {
      refuse(error);
    } else if (error || parsed_bytes == 0) {
      return false;
    } else if (is_in_header && parser_.is_header_done()) {
      check_header();
    }
  }
  return true;
}

/// Checks what Beast's parser would read in its own way: it takes one empty line before a request for a request, and a
/// folded field (obs-fold) for one line. Returns false when the input is refused, or more of it is needed.
bool incoming::check_lines(read_buffer& input) {
  const std::string_view text(static_cast<const char*>(input.data().data()), input.size());
  if (taken_bytes_ == 0 && text.starts_with('\r')) {
    if (text.size() < line_end.size()) {
      return false;
    }
    if (text.starts_with(line_end)) {  // some clients send one after a body
      input.consume(line_end.size());
      taken_bytes_ = line_end.size();
      return check_lines(input);
    }
  }
  // The parser takes no part of a header that is not whole, so all of it is here.
  const std::string_view header = text.substr(0, text.find("\r\n\r\n"));
  if (header.find("\r\n ") != header.npos || header.find("\r\n\t") != header.npos) {
    refused_ = {400, "a field has one line"};
    return false;
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
  const message& header = parser_.get();
  const std::string_view host = header[http::field::host];
  const std::size_t hosts = header.count(http::field::host);
  const std::size_t codings = header.count(http::field::transfer_encoding);
  if (hosts > 1 || (header.version() == 11 && hosts == 0) || host.find_first_of(" \t,/@") != host.npos) {
    refused_ = {400, "one Host field is needed"};
  } else if (codings > 1 ||
             (codings == 1 &&
              (header.version() != 11 || !boost::beast::iequals(header[http::field::transfer_encoding], "chunked")))) {
    refused_ = {400, "a body is chunked, or has a length"};
  }
}

}  // namespace appserver
