// A service that greets its clients by name, and counts them: the program of docs/guide/tutorial.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <tarn/io.hpp>
#include <tarn/tarn.hpp>

namespace {

struct settings {
  std::string greeting_path;
  std::string journal_path;
  std::uint16_t port = 0;
};
struct texts {
  std::string greeting;
};
using visits = std::map<std::string, long, std::less<>>;
constexpr std::size_t max_names = 10'000;

// Until the next start.
tarn::read_only<settings> chosen_settings;
// Until the next reload.
tarn::reloadable<texts> current(tarn::reload_options{.name = "texts"}, texts{});
// Changed by every request.
tarn::shared<visits> visitors{tarn::rank{10, "visitors"}};

// Set by the initialiser.
std::optional<tarn::io::journal> journal;
tarn::io::file listening;

texts read_texts(const std::string& path) {
  tarn::io::reader file(path);
  const auto line = file.line();
  if (!line || line->empty()) throw std::runtime_error(path + ": the first line must be the greeting");
  return {std::string(*line)};
}

[[noreturn]] void fail(const char* call) { throw std::system_error(errno, std::generic_category(), call); }

tarn::io::file listen_at(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail("socket");
  tarn::io::file listener = tarn::io::file::adopt(descriptor, "listening socket");
  const int enabled = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0) fail("bind");
  if (listen(descriptor, 64) != 0) fail("listen");
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("listening at port %d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return listener;
}

long count_visit(std::string_view name) {
  return visitors.with([name](visits& counts) {
    auto position = counts.find(name);
    if (position == counts.end()) {
      if (counts.size() >= max_names) return 0L;  // strangers are greeted, and not counted
      position = counts.emplace(name, 0).first;
    }
    return ++position->second;
  });
}

void append_number(tarn::arena_string& text, long number) {
  char digits[20];
  text += std::string_view(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void reply_to(std::string_view name, tarn::io::writer& replies) {
  tarn::stack_arena<1024> memory;  // everything of a request ends here, at once
  tarn::arena_string reply(memory);
  const auto now = current.snapshot();  // one version of the texts for the whole request
  reply += now->greeting;
  reply += ", ";
  reply += name;
  reply += ": visit ";
  append_number(reply, count_visit(name));
  replies.line(reply.view());
  replies.flush();
  journal->append(reply.view());  // kept, even if the process is killed in the next instruction
}

void serve(tarn::worker& me, tarn::io::file client) {
  const int descriptor = client.descriptor();
  const tarn::watched_socket watched(me, descriptor, tarn::wake::at_deadline);
  tarn::io::reader requests(tarn::io::file::borrow(descriptor, "client"),
                            {.buffer_bytes = 512, .max_record_bytes = 512});
  tarn::io::writer replies(tarn::io::file::borrow(descriptor, "client"), {.buffer_bytes = 4096});
  while (!me.is_stopping()) {
    const auto name = requests.line();
    if (!name) return;  // the client has gone, or the deadline has come
    me.set_activity("a request");
    reply_to(*name, replies);
  }
}

void work(tarn::worker& me) {
  tarn::accept_backoff backoff("greeter");
  pollfd polled[] = {{me.stop_descriptor(), POLLIN, 0}, {listening.descriptor(), POLLIN, 0}};
  while (!me.is_stopping()) {
    me.set_activity("waiting for a client");
    if (poll(polled, 2, -1) < 0 || polled[0].revents != 0) continue;
    const int client = accept4(listening.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      if (!backoff.may_retry(errno)) fail("accept");
      // Without descriptors, the clients wait; otherwise another worker was faster, or the client gave up.
      if (backoff.must_pause()) poll(polled, 1, tarn::accept_backoff::pause.count());
      continue;
    }
    try {
      serve(me, tarn::io::file::adopt(client, "client"));
    } catch (const tarn::io::error& failed) {
      journal->append(failed.what());  // a line that is too long, or a client that does not take its reply
    }
  }
}

int run(settings options) {
  tarn::application server({.name = "greeter",
                            .workers = 2,
                            .stop_timeout = std::chrono::seconds(1),
                            .forced_stop_timeout = std::chrono::seconds(20)});
  server.on_initialise([&] {
    current.publish(read_texts(options.greeting_path));
    journal.emplace(options.journal_path, tarn::io::journal_options{.bytes = 4 << 20});
    listening = listen_at(options.port);
    chosen_settings.build(std::move(options));
  });
  server.on_work(work);
  server.on_reload([] {  // SIGHUP
    journal->reopen();
    current.publish(read_texts(chosen_settings->greeting_path));
  });
  return server.run();
}

}  // namespace

int main(int count, char** arguments) {
  std::uint16_t port = 0;
  const std::string_view number = count == 4 ? arguments[3] : "";
  const auto read = std::from_chars(number.data(), number.data() + number.size(), port);
  if (count != 4 || read.ec != std::errc() || read.ptr != number.data() + number.size()) {
    std::fprintf(stderr, "Usage: %s GREETING JOURNAL PORT\n", arguments[0]);
    return 2;
  }
  return run({arguments[1], arguments[2], port});
}
