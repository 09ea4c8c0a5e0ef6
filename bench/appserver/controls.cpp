// The server of examples/appserver with two more pages, which `./dev bench appserver` compares with its own:
//   /bare?rows=N             the same page without a separate text for each part, in a reply reserved at once
//   /read?rows=N&by=WAY      the same page, which reads the configuration in each row, in one of the ways below
// bench-appserver PORT tarn|global: the sample configuration, two workers, until SIGTERM.
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include <tarn/tarn.hpp>

#include "pages.hpp"
#include "server.hpp"

namespace {

struct page_text {
  std::string currency = "in cents";
};

/// Holds one configuration for each way to share it.
struct shared_texts {
  const page_text plain;
  std::mutex mutex;
  std::shared_mutex shared_mutex;
  page_text guarded;
  std::atomic<std::shared_ptr<const page_text>> by_shared_ptr = std::make_shared<const page_text>();
  tarn::read_only<page_text> read_only;
  tarn::reloadable<page_text> reloadable{page_text{}};
};

shared_texts& all_texts() {
  static shared_texts every_kind;
  return every_kind;
}

void append_number(std::pmr::string& text, std::uint64_t number) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

std::size_t rows_of(std::string_view target) {
  std::size_t rows = 0;
  const std::string_view text = target.substr(target.find("rows=") + 5);
  std::from_chars(text.begin(), text.end(), rows);
  return rows;
}

void bare(std::string_view target, appserver::reply& reply) {
  const std::size_t rows = rows_of(target);
  reply.body.reserve(100 + 90 * rows);
  reply.body += "<!doctype html><title>Tarn</title>\n<table>\n";
  for (std::size_t row = 1; row <= rows; ++row) {
    reply.body += "<tr><td>customer number ";
    append_number(reply.body, row);
    reply.body += "</td><td>balance, in cents</td><td>";
    append_number(reply.body, row * row % 100'000);
    reply.body += "</td></tr>\n";
  }
  reply.body += "</table>\n<p>\n";
}

/// `with_words(use)` calls use(const words&) in one of the ways.
template <class Reading>
void page(std::size_t rows, appserver::reply& reply, Reading with_text) {
  reply.body += "<!doctype html><title>Tarn</title>\n<table>\n";
  for (std::size_t row = 1; row <= rows; ++row) {
    std::pmr::string name("customer number ", reply.body.get_allocator());
    append_number(name, row);
    std::pmr::string line("<tr><td>", reply.body.get_allocator());
    line.append(name).append("</td><td>balance, ");
    with_text([&](const page_text& read) { line.append(read.currency); });
    line.append("</td><td>");
    append_number(line, row * row % 100'000);
    line.append("</td></tr>\n");
    reply.body += line;
  }
  reply.body += "</table>\n<p>\n";
}

void read(std::string_view target, appserver::reply& reply) {
  shared_texts& kinds = all_texts();
  const std::size_t rows = rows_of(target);
  const std::string_view way = target.substr(target.find("by=") + 3);
  if (way == "const") {
    page(rows, reply, [&](auto use) { use(kinds.plain); });
  } else if (way == "mutex") {
    page(rows, reply, [&](auto use) {
      const std::lock_guard lock(kinds.mutex);
      use(kinds.guarded);
    });
  } else if (way == "shared_mutex") {
    page(rows, reply, [&](auto use) {
      const std::shared_lock lock(kinds.shared_mutex);
      use(kinds.guarded);
    });
  } else if (way == "shared_ptr") {
    page(rows, reply, [&](auto use) { use(*kinds.by_shared_ptr.load()); });
  } else if (way == "request_lock") {
    const std::lock_guard lock(kinds.mutex);
    page(rows, reply, [&](auto use) { use(kinds.guarded); });
  } else if (way == "read_only") {
    page(rows, reply, [&](auto use) { use(*kinds.read_only); });
  } else if (way == "snapshot") {
    const auto now = kinds.reloadable.snapshot();
    page(rows, reply, [&](auto use) { use(*now); });
  } else if (way == "snapshots") {
    page(rows, reply, [&](auto use) { kinds.reloadable.with(use); });
  } else {
    appserver::refuse(404, "no such way", reply);
  }
}

void answer(const appserver::request& request, appserver::objects& objects, appserver::worker_metrics& metrics,
            appserver::reply& reply) noexcept {
  try {
    if (request.target.substr(0, 6) == "/bare?") {
      bare(request.target, reply);
    } else if (request.target.substr(0, 6) == "/read?") {
      read(request.target, reply);
    } else {
      appserver::answer(request, objects, metrics, reply);
    }
  } catch (...) {
    std::abort();
  }
}

int serve(std::uint16_t port, appserver::allocator_kind allocator) {
  appserver::server_settings settings;
  settings.port = port;
  tarn::application server({.name = "bench",
                            .workers = settings.workers,
                            .has_own_heaps = allocator == appserver::allocator_kind::tarn,
                            .heap = {.initial = settings.heap}});
  appserver::objects everything(appserver::site_settings{});
  appserver::listeners sockets;
  server.on_initialise([&] {
    all_texts().read_only.build(page_text{});
    everything.settings.build(settings);
    everything.metrics.emplace(settings.all_workers());
    everything.budget.emplace(settings.memory);
    sockets.open(*everything.settings);
    std::printf("appserver: http://127.0.0.1:%u/\n", sockets.port());
    std::fflush(stdout);
  });
  server.on_work([&](tarn::worker& me) { appserver::work(me, sockets, everything, allocator, answer); });
  return server.run();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("bench-appserver PORT tarn|global\n", stderr);
    return 2;
  }
  try {
    const std::string_view kind = arguments[2];
    return serve(static_cast<std::uint16_t>(std::atoi(arguments[1])),
                 kind == "tarn" ? appserver::allocator_kind::tarn : appserver::allocator_kind::global);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-appserver: %s\n", error.what());
    return 1;
  }
}
