// One worker: an io_context, an acceptor, and a coroutine for each connection. All of it runs in one thread, so
// nothing is locked.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <list>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>

#include <tarn/asio/coroutine.hpp>
#include <tarn/asio/listener.hpp>
#include <tarn/io/format.hpp>

#include "incoming.hpp"
#include "pages.hpp"
#include "server.hpp"

namespace appserver {

namespace {

namespace net = tarn::asio::net;
namespace http = boost::beast::http;
using tarn::asio::background;
using tarn::asio::error_code;
using tarn::asio::tcp_socket;
using timer = tarn::asio::steady_timer;
using step = tarn::asio::task<bool>;  ///< gives true if its caller should go on
using net::ip::tcp;
using clock = std::chrono::steady_clock;

constexpr std::size_t first_bytes = 1'024;       ///< the first read of a request: most fit
constexpr std::size_t read_ahead = 4'096;        ///< room for the requests that follow in the same packets
constexpr std::size_t max_logged_bytes = 1'024;  ///< bytes of a target in the log
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::chrono::milliseconds tick{100};
constexpr std::chrono::milliseconds last_words{1'000};  ///< the time that a client has to receive an error
constexpr int max_waits = 10;                           ///< ticks that a request waits while memory is short

enum class phase : unsigned char { idle, reading, writing, ending };

struct connection {
  connection(tarn::worker& owner, tcp_socket client, const tcp::endpoint& peer, std::size_t limit,
             std::pmr::memory_resource& memory)
      : socket(std::move(client)),
        watched(owner, socket.native_handle(), tarn::wake::at_deadline),
        unread(limit, allocator(&memory)) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(peer.data())->sin_addr, address, sizeof address);
  }

  tcp_socket socket;
  tarn::watched_socket watched;
  char address[INET_ADDRSTRLEN] = "-";  ///< the client's
  read_buffer unread;
  phase now = phase::idle;
  bool is_late = false;
  clock::time_point until = clock::time_point::max();  ///< its wait is cancelled then
};

class worker {
 public:
  worker(tarn::worker& me, int listening, objects& state, allocator_kind kind, answering& pages, memory_budget& budget)
      : me_(me),
        state_(state),
        settings_(*state.settings),
        counters_((*state.metrics)[me.number()]),
        kind_(kind),
        pages_(pages),
        memory_(kind == allocator_kind::tarn ? tarn::current_heap() : *std::pmr::new_delete_resource()),
        budget_(budget),
        memories_(kind, settings_.arena, memory_, budget),
        max_connections_((settings_.connections + settings_.all_workers() - 1) / settings_.all_workers()),
        listener_(io_, listening, memory_),
        stop_(io_, me),
        timer_(io_),
        connections_(&memory_) {}

  void run() {
    counters_.connections.set(0);  // a dead worker of this number may have left some
    look_around();
    listener_.accept([this](tcp_socket socket, const tcp::endpoint& peer) { admit(std::move(socket), peer); });
    watch_time();
    stop_.async_wait([this](const error_code&) { stop(); });
    io_.run();
  }

  std::pmr::memory_resource& memory() noexcept { return memory_; }  ///< for coroutines and their waits

 private:
  template <class Start>
  tarn::asio::wait<Start> wait(Start start, std::size_t* bytes = nullptr) {
    return {memory_, std::move(start), bytes};
  }

  void admit(tcp_socket socket, const tcp::endpoint& peer) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.non_blocking(true, ignored);
    if (connections_.size() >= max_connections_) {
      static constexpr std::string_view full =
          "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
      char unread[read_ahead];
      socket.write_some(net::buffer(full), ignored);
      socket.shutdown(tcp_socket::shutdown_send, ignored);
      while (socket.read_some(net::buffer(unread), ignored) != 0) {  // closing earlier would discard the reply
      }
      counters_.replied(503, {});
      return;
    }
    const std::size_t before = connections_.size();
    try {
      connections_.emplace_back(me_, std::move(socket), peer, settings_.header + read_ahead, memory_);
      serve(std::prev(connections_.end()));
    } catch (const std::bad_alloc&) {  // drops this client; the others notice nothing
      if (connections_.size() != before) {
        connections_.pop_back();
      }
    }
    counters_.connections.set(connections_.size());
  }

  background serve(std::pmr::list<connection>::iterator position) {
    connection& client = *position;
    bool is_answered = false;  // the connection ends after this reply
    try {
      while (!is_answered) {
        // One statement each: GCC 12 waits for the second operand of && even where the first one is false.
        const bool has_begun = co_await begins(client);
        if (!has_begun) {
          break;
        }
        if (budget_.is_short()) {
          co_await room();
        }
        is_answered = !co_await exchange(client);
      }
      if (is_answered) {
        co_await end(client);
      }
    } catch (const std::exception&) {  // no memory, say: drops this client; the others notice nothing
    }
    connections_.erase(position);
    counters_.connections.set(connections_.size());
    if (me_.is_stopping() && connections_.empty()) {
      timer_.cancel();
    }
  }

  /// Returns true when a request begins. Until then the connection holds memory only for its first bytes: waiting for
  /// readability first and reading then would cost one more system call.
  step begins(connection& client) {
    if (client.unread.size() != 0) {  // pipelined
      co_return true;
    }
    if (!me_.is_stopping()) {
      enter(client, phase::idle, settings_.idle);
      client.unread.shrink_to_fit();
      const auto room = client.unread.prepare(first_bytes);
      std::size_t come = 0;
      co_await wait([&](auto handler) { client.socket.async_read_some(room, std::move(handler)); }, &come);
      client.unread.commit(come);
    }
    error_code unknown;
    co_return client.unread.size() != 0 ||
        (me_.is_stopping() && !client.is_late && client.socket.available(unknown) != 0);
  }

  /// Back-pressure: while the requests in flight leave little of the memory budget, new ones stay unread for up to a
  /// second. Then they are served if they need little, and answered with 503 if they do not.
  step room() {
    for (int patience = max_waits; patience != 0 && budget_.is_short() && !me_.is_stopping(); --patience) {
      timer later(io_, tick);
      co_await wait([&](auto handler) { later.async_wait(std::move(handler)); });
    }
    co_return true;
  }

  /// Serves one request from memory that is free again afterwards. Returns true when another request may follow.
  step exchange(connection& client) {
    const auto memory = memories_.take();  // an arena
    const clock::time_point began = clock::now();
    enter(client, phase::reading, settings_.request);
    incoming came(&*memory, settings_);
    bool has_come = true;
    if (!came.take(client.unread, incoming::part::header)) {
      has_come = co_await receive(client, came, incoming::part::header);
    }
    if (has_come && !came.refused() && !came.is_done()) {
      if (came.get()[http::field::expect] == "100-continue") {
        co_await wait([&](auto handler) { net::async_write(client.socket, net::buffer(go_on), std::move(handler)); });
      }
      has_come = co_await receive(client, came, incoming::part::whole);
    }

    tarn::transient<reply> answer(*memory);
    const incoming::message& client_request = came.get();
    bool is_whole = false;  // the request's end is known
    if (client.is_late) {
      refuse(408, "the request took too long to come in", *answer);
    } else if (!has_come) {
      co_return false;  // the client has disconnected
    } else if (came.refused()) {
      refuse(came.why().status, came.why().why, *answer);
    } else {
      is_whole = true;
      pages_({client_request.method_string(), client_request.target(), client_request[http::field::cookie],
              client_request.body()},
             state_, counters_, *answer);
    }
    const bool keeps_open =
        is_whole && client_request.keep_alive() && (!me_.is_stopping() || client.unread.size() != 0);
    const unsigned status = answer->status;
    const std::size_t size = answer->body.size();
    const bool is_sent = co_await send(client, *answer, client_request, keeps_open, *memory);
    if (is_sent) {
      const clock::duration took = clock::now() - began;
      counters_.replied(status, took);
      log(client, client_request, status, size, took);
    }
    co_return (is_sent && keeps_open);
  }

  /// Reads the rest of a request. Returns false when it will not come.
  step receive(connection& client, incoming& message, incoming::part next_part) {
    while (!message.take(client.unread, next_part)) {
      const auto room = client.unread.prepare(read_ahead);
      std::size_t come = 0;
      const error_code error =
          co_await wait([&](auto handler) { client.socket.async_read_some(room, std::move(handler)); }, &come);
      client.unread.commit(come);
      if (error == net::error::eof) {
        message.end();
      } else if (error) {
        co_return false;
      }
    }
    co_return true;
  }

  step send(connection& client, const reply& answer, const incoming::message& client_request, bool keeps_open,
            std::pmr::memory_resource& memory) {
    const std::pmr::string head = head_of(answer, client_request.version() == 10, keeps_open, date_, memory);
    const std::string_view body = client_request.method() == http::verb::head ? std::string_view() : answer.body;
    std::array<net::const_buffer, 2> unsent = {net::buffer(head), net::buffer(body)};
    enter(client, phase::writing, settings_.request);
    client.is_late = false;
    error_code error;
    std::size_t sent = client.socket.write_some(unsent, error);  // usually writes everything
    if (error == net::error::would_block) {
      error.clear();
    }
    for (net::const_buffer& part : unsent) {
      const std::size_t of_part = std::min(sent, part.size());
      part += of_part;
      sent -= of_part;
    }
    if (!error && net::buffer_size(unsent) != 0) {
      error = co_await wait([&](auto handler) { net::async_write(client.socket, unsent, std::move(handler)); });
    }
    co_return !error;
  }

  /// Logs a line in the format of other servers, followed by the microseconds.
  void log(const connection& client, const incoming::message& client_request, unsigned status, std::size_t size,
           clock::duration took) {
    if (state_.access_log) {
      const auto printable = [](std::string_view text, char* output) {  // nobody forges lines or ends a quoted part
        const std::size_t length = std::min(text.size(), max_logged_bytes);
        std::transform(text.begin(), text.begin() + length, output,
                       [](char c) { return c > ' ' && c <= '~' && c != '"' ? c : '?'; });
        return std::string_view(output, length);
      };
      char method[max_logged_bytes];
      char target[max_logged_bytes];
      tarn::io::print_line(*state_.access_log, "{} - - [{}] \"{} {} HTTP/{}.{}\" {} {} {}", client.address, log_date_,
                           printable(client_request.method_string(), method),
                           printable(client_request.target(), target), client_request.version() / 10,
                           client_request.version() % 10, status, size,
                           std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    }
  }

  /// Shuts down the sending side and reads what the client still sends: closing with unread bytes would discard the
  /// reply.
  step end(connection& client) {
    error_code error;
    client.socket.shutdown(tcp_socket::shutdown_send, error);
    enter(client, phase::ending, last_words);
    client.is_late = false;
    char unread[read_ahead];
    while (!error && !client.is_late) {
      error =
          co_await wait([&](auto handler) { client.socket.async_read_some(net::buffer(unread), std::move(handler)); });
    }
    co_return false;
  }

  void enter(connection& client, phase now, std::chrono::milliseconds duration) const {
    client.now = now;
    client.until = now_ + tick + duration;
  }

  /// Runs one timer for all connections and cancels those that take too long.
  background watch_time() {
    while (!me_.is_stopping() || !connections_.empty()) {
      timer_.expires_after(tick);
      co_await wait([&](auto handler) { timer_.async_wait(std::move(handler)); });
      look_around();
      for (connection& client : connections_) {
        if (client.until <= now_) {
          error_code ignored;
          client.is_late = true;
          client.socket.cancel(ignored);
        }
      }
    }
  }

  /// Updates the values that may be as old as one tick.
  void look_around() {
    now_ = clock::now();
    char text[40];
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts)));
    log_date_.assign(text, std::strftime(text, sizeof text, "%d/%b/%Y:%H:%M:%S +0000", &parts));
    if (kind_ == allocator_kind::tarn) {
      const tarn::heap_statistics heap = tarn::current_heap().statistics();
      counters_.footprint.set(heap.footprint_bytes);
      counters_.footprint_most.set(heap.peak_footprint_bytes);
    }
  }

  /// Stops the worker: it accepts nobody else and closes idle connections. Requests in flight are answered.
  void stop() {
    listener_.close([this](tcp_socket socket, const tcp::endpoint& peer) { admit(std::move(socket), peer); });
    for (connection& client : connections_) {
      if (client.now == phase::idle) {
        error_code ignored;
        client.socket.cancel(ignored);
      }
    }
    if (connections_.empty()) {
      timer_.cancel();
    }
  }

  tarn::worker& me_;
  objects& state_;
  const server_settings& settings_;
  worker_metrics& counters_;
  allocator_kind kind_;
  answering& pages_;
  std::pmr::memory_resource& memory_;
  memory_budget& budget_;
  request_memories memories_;
  std::size_t max_connections_;
  clock::time_point now_;
  std::string date_;
  std::string log_date_;
  net::io_context io_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};  // one thread: without locks
  tarn::asio::listener listener_;
  tarn::asio::worker_stop stop_;
  timer timer_;
  std::pmr::list<connection> connections_;
};

}  // namespace

void work(tarn::worker& me, listeners& sockets, objects& state, allocator_kind kind, answering& pages) {
  me.set_activity("requests");
  worker(me, sockets.take(me.number()), state, kind, pages, *state.budget).run();
}

}  // namespace appserver
