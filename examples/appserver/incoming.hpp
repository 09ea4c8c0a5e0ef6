// A request while it comes in: Beast's parser, and the checks that Beast leaves to its user. It knows no sockets.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <string>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "settings.hpp"

namespace appserver {

// Beast's types, with the request's memory resource.
using allocator = std::pmr::polymorphic_allocator<char>;
using text_body = boost::beast::http::basic_string_body<char, std::char_traits<char>, allocator>;
using read_buffer = boost::beast::basic_flat_buffer<allocator>;

class incoming {
 public:
  using message = boost::beast::http::request<text_body, boost::beast::http::basic_fields<allocator>>;
  enum class part { header, whole };
  struct refusal {
    unsigned status = 0;  ///< 0: none
    std::string why;      ///< allocates nothing when it is empty
  };

  /// The limits must outlive this object.
  incoming(allocator memory, const server_settings& limits);

  /// Consumes as much as it can. Returns false when it needs more input, for which `input` has room. A refusal needs
  /// no more.
  bool take(read_buffer& input, part next_part);
  /// Tells the parser that the input has ended.
  void end();

  bool refused() const noexcept { return refused_.status != 0; }
  const refusal& why() const noexcept { return refused_; }
  bool is_done() const { return parser_.is_done(); }
  const message& get() const { return parser_.get(); }

 private:
  bool check_lines(read_buffer& input);
  void check_header();
  void refuse(const boost::system::error_code& error);

  boost::beast::http::request_parser<text_body, allocator> parser_;
  const server_settings& limits_;
  std::size_t taken_bytes_ = 0;
  std::size_t header_ = 0;  ///< bytes of the header
  refusal refused_;
};

}  // namespace appserver
