// One worker: an io_context, an acceptor, and a coroutine for each connection. All of it is of one thread.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <list>
#include <memory_resource>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "pages.hpp"
#include "server.hpp"

namespace appserver {

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;
using clock = std::chrono::steady_clock;

// Beast's types with memory that is given to them.
using allocator = std::pmr::polymorphic_allocator<char>;
using text_body = http::basic_string_body<char, std::char_traits<char>, allocator>;
using request_parser = http::request_parser<text_body, allocator>;
using response = http::response<text_body, http::basic_fields<allocator>>;
using read_buffer = boost::beast::basic_flat_buffer<allocator>;

constexpr std::size_t read_ahead = 4'096;  ///< of the requests that follow in the same packets
constexpr std::chrono::milliseconds tick{100};
constexpr std::chrono::milliseconds last_words{1'000};  ///< how long a client may take to hear an error out

enum class phase : unsigned char { idle, reading, writing, ending };

struct connection {
  connection(tarn::worker& by, tcp::socket with, std::size_t most, std::pmr::memory_resource& memory)
      : socket(std::move(with)),
        watched(by, socket.native_handle(), tarn::wake::at_deadline),
        unread(most, allocator(&memory)) {}

  tcp::socket socket;
  tarn::watched_socket watched;
  read_buffer unread;
  phase now = phase::idle;
  bool late = false;
  clock::time_point until = clock::time_point::max();  ///< then what it waits for is cancelled
};

unsigned status_of(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return 431;
  }
  if (error == http::error::body_limit) {
    return 413;
  }
  return error == http::error::bad_version ? 505 : 400;
}

class worker {
 public:
  worker(tarn::worker& me, int listening, objects& all, allocator_kind kind)
      : me_(me),
        all_(all),
        settings_(*all.settings),
        counted_(all.metrics[me.number()]),
        kind_(kind),
        memory_(kind == allocator_kind::tarn ? tarn::current() : *std::pmr::new_delete_resource()),
        memories_(kind, settings_.arena),
        most_((settings_.connections + settings_.workers - 1) / settings_.workers),
        acceptor_(io_, tcp::v4(), listening),
        stop_(io_, dup(me.stop_descriptor())),
        timer_(io_) {}

  void run() {
    look_around();
    net::co_spawn(io_, accept(), net::detached);
    net::co_spawn(io_, watch_time(), net::detached);
    net::co_spawn(io_, wait_for_stop(), net::detached);
    io_.run();
  }

 private:
  net::awaitable<void> accept() {
    while (acceptor_.is_open()) {
      error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
      if (!error) {
        admit(std::move(socket));
      } else if (acceptor_.is_open()) {  // no descriptors left, say: what is open goes on meanwhile
        net::steady_timer later(io_, tick);
        co_await later.async_wait(net::redirect_error(net::use_awaitable, error));
      }
    }
  }

  void admit(tcp::socket socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (connections_.size() >= most_) {
      static constexpr std::string_view full =
          "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
      char unread[read_ahead];
      socket.non_blocking(true, ignored);
      socket.write_some(net::buffer(full), ignored);
      socket.shutdown(tcp::socket::shutdown_send, ignored);
      while (socket.read_some(net::buffer(unread), ignored) != 0) {  // else the end would take the reply with it
      }
      counted_.replied(503, {});
      return;
    }
    connections_.emplace_back(me_, std::move(socket), settings_.header + read_ahead, memory_);
    counted_.connections.set(connections_.size());
    net::co_spawn(io_, serve(std::prev(connections_.end())), net::detached);
  }

  net::awaitable<void> serve(std::list<connection>::iterator at) {
    connection& with = *at;
    bool answered = false;  // and no other request may follow
    try {
      while (!answered) {
        // A statement each: GCC 12 waits for the second operand of && even where the first one is false.
        const bool more = co_await begins(with);
        if (!more) {
          break;
        }
        answered = !co_await exchange(with);
      }
    } catch (const std::exception&) {  // no memory, say: this client is done, the others notice nothing
    }
    if (answered) {
      co_await end(with);
    }
    connections_.erase(at);
    counted_.connections.set(connections_.size());
    if (me_.stopping() && connections_.empty()) {
      timer_.cancel();
    }
  }

  /// Whether a request begins. Until then the connection holds no memory for one.
  net::awaitable<bool> begins(connection& with) {
    if (with.unread.size() != 0) {  // pipelined
      co_return true;
    }
    with.unread.shrink_to_fit();
    error_code error;
    if (!me_.stopping()) {
      enter(with, phase::idle, settings_.idle);
      co_await with.socket.async_wait(tcp::socket::wait_read, net::redirect_error(net::use_awaitable, error));
    }
    error_code unknown;
    co_return (!error || me_.stopping()) && !with.late && (!me_.stopping() || with.socket.available(unknown) != 0);
  }

  /// One request and its reply, in memory that is free again after it. Whether another one may follow.
  net::awaitable<bool> exchange(connection& with) {
    const auto memory = memories_.take();  // an arena
    const allocator in(&*memory);
    const clock::time_point began = clock::now();
    enter(with, phase::reading, settings_.request);
    with.unread.reserve(read_ahead / 2);

    request_parser parser(std::piecewise_construct, std::make_tuple(in), std::make_tuple(in));
    parser.header_limit(static_cast<std::uint32_t>(settings_.header));
    parser.body_limit(settings_.body);
    error_code error;
    co_await http::async_read_header(with.socket, with.unread, parser, net::redirect_error(net::use_awaitable, error));
    if (!error && !parser.is_done() && parser.get()[http::field::expect] == "100-continue") {
      static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await net::async_write(with.socket, net::buffer(go_on), net::redirect_error(net::use_awaitable, error));
    }
    if (!error && !parser.is_done()) {
      co_await http::async_read(with.socket, with.unread, parser, net::redirect_error(net::use_awaitable, error));
    }

    tarn::transient<reply> made(*memory);
    const auto& asked = parser.get();
    bool whole = false;  // and understood: where it ends is known
    if (with.late) {
      refuse(408, "the request took too long to come in", *made);
    } else if (error && error.category() != make_error_code(http::error::bad_method).category()) {
      co_return false;  // the client is gone
    } else if (error == http::error::end_of_stream) {
      co_return false;
    } else if (error) {
      refuse(status_of(error), error.message(), *made);
    } else if (asked.version() == 11 && asked.count(http::field::host) != 1) {
      refuse(400, "one Host field is needed", *made);
    } else {
      whole = true;
      answer({asked.method_string(), asked.target(), asked[http::field::cookie], asked.body()}, all_, counted_, *made);
    }
    const bool keep = whole && asked.keep_alive() && (!me_.stopping() || with.unread.size() != 0);
    const unsigned status = made->status;
    const bool sent = co_await send(with, *made, asked, keep, in);
    if (sent) {
      counted_.replied(status, clock::now() - began);
    }
    co_return (sent && keep);
  }

  net::awaitable<bool> send(connection& with, reply& made, const request_parser::value_type& asked, bool keep,
                            allocator in) {
    response message(std::piecewise_construct, std::make_tuple(std::move(made.body)), std::make_tuple(in));
    message.version(asked.version() == 10 ? 10 : 11);
    message.result(made.status);
    message.set(http::field::server, "tarn-appserver");
    message.set(http::field::date, date_);
    message.set(http::field::content_type, made.type);
    message.set(http::field::cache_control, "no-store");
    if (!made.allow.empty()) {
      message.set(http::field::allow, made.allow);
    }
    if (made.retry) {
      message.set(http::field::retry_after, "1");
    }
    if (made.status == 401) {
      message.set(http::field::www_authenticate, "Session");
    }
    if (!made.cookie.empty()) {
      message.set(http::field::set_cookie, made.cookie);
    }
    message.keep_alive(keep);
    message.content_length(message.body().size());
    if (asked.method() == http::verb::head) {
      message.body().clear();
    }
    http::serializer<false, text_body, http::basic_fields<allocator>> parts(message);
    enter(with, phase::writing, settings_.request);
    with.late = false;
    error_code error;
    co_await http::async_write(with.socket, parts, net::redirect_error(net::use_awaitable, error));
    co_return !error;
  }

  /// Says that nothing more comes, and hears what the client still sends: closing on that would take back the reply.
  net::awaitable<void> end(connection& with) {
    error_code error;
    with.socket.shutdown(tcp::socket::shutdown_send, error);
    enter(with, phase::ending, last_words);
    with.late = false;
    char unread[read_ahead];
    while (!error && !with.late) {
      co_await with.socket.async_read_some(net::buffer(unread), net::redirect_error(net::use_awaitable, error));
    }
  }

  static void enter(connection& with, phase now, std::chrono::milliseconds most) {
    with.now = now;
    with.until = clock::now() + most;
  }

  /// One timer for all connections: what takes too long is cancelled.
  net::awaitable<void> watch_time() {
    while (!me_.stopping() || !connections_.empty()) {
      timer_.expires_after(tick);
      error_code ignored;
      co_await timer_.async_wait(net::redirect_error(net::use_awaitable, ignored));
      look_around();
      const clock::time_point now = clock::now();
      for (connection& each : connections_) {
        if (each.until <= now) {
          each.late = true;
          each.socket.cancel(ignored);
        }
      }
    }
  }

  /// What need not be newer than a tick.
  void look_around() {
    char text[40];
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts)));
    if (kind_ == allocator_kind::tarn) {
      const tarn::heap_statistics heap = tarn::current().statistics();
      counted_.footprint.set(heap.footprint_bytes);
      counted_.footprint_most.set(heap.peak_footprint_bytes);
    }
  }

  /// At the stop: nobody else comes in, and who is idle goes. Requests in flight are answered.
  net::awaitable<void> wait_for_stop() {
    error_code error;
    co_await stop_.async_wait(net::posix::stream_descriptor::wait_read, net::redirect_error(net::use_awaitable, error));
    acceptor_.non_blocking(true, error);
    while (!error) {  // those whom the kernel has let in already
      tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (!error) {
        admit(std::move(socket));
      }
    }
    acceptor_.close(error);
    for (connection& each : connections_) {
      if (each.now == phase::idle) {
        each.socket.cancel(error);
      }
    }
    if (connections_.empty()) {
      timer_.cancel();
    }
  }

  tarn::worker& me_;
  objects& all_;
  const server_settings& settings_;
  worker_metrics& counted_;
  allocator_kind kind_;
  std::pmr::memory_resource& memory_;
  request_memories memories_;
  std::size_t most_;
  std::string date_;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  net::posix::stream_descriptor stop_;
  net::steady_timer timer_;
  std::list<connection> connections_;
};

}  // namespace

void work(tarn::worker& me, listeners& from, objects& all, allocator_kind kind) {
  me.now_doing("requests");
  worker(me, from.take(me.number()), all, kind).run();
}

}  // namespace appserver
