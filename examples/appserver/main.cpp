// An HTTP/1.1 server whose objects are in locking categories, and whose requests live in arenas. docs/appserver.md.
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <tarn/tarn.hpp>

#include "server.hpp"

namespace {

struct command {
  std::string config;
  int port = -1;
  unsigned workers = 0;
  appserver::allocator_kind allocator = appserver::allocator_kind::tarn;

  appserver::configuration load() const {
    appserver::configuration made = appserver::load(config);
    made.server.port = port >= 0 ? static_cast<std::uint16_t>(port) : made.server.port;
    made.server.workers = workers != 0 ? workers : made.server.workers;
    return made;
  }
};

int serve(const command& given) {
  using enum appserver::allocator_kind;
  appserver::configuration first = given.load();
  tarn::application server({.name = "appserver",
                            .workers = first.server.workers,
                            .stop_after = first.server.stop_after,
                            .own_heaps = given.allocator == tarn,
                            .heap = {.initial = first.server.heap}});
  appserver::objects all(first.site);
  appserver::listeners sockets;

  server.on_initialise([&] {  // one thread: what is read-only, and all that may fail
    all.settings.build(first.server);
    all.metrics = std::make_unique<appserver::worker_metrics[]>(first.server.workers);
    if (!first.server.access_log.empty()) {
      all.access_log.emplace(first.server.access_log, tarn::io::journal_options{.bytes = first.server.access_log_size});
    }
    sockets.open(*all.settings);
    std::printf("appserver: http://%s:%u/, %u workers\n", all.settings->address.c_str(), sockets.port(),
                all.settings->workers);
    std::fflush(stdout);
  });
  server.on_work([&](tarn::worker& me) { appserver::work(me, sockets, all, given.allocator); });
  server.on_reload([&] {  // SIGHUP: workers go on, each request with the version that it began with
    appserver::configuration next = given.load();
    all.site.publish(next.site);
    std::printf("appserver: configuration %llu%s\n", static_cast<unsigned long long>(all.site.version_number()),
                next.server == *all.settings ? "" : "; [server] has changed, too: from the next start on");
    std::fflush(stdout);
  });
  return server.run();
}

}  // namespace

int main(int count, char** words) {
  command given;
  CLI::App line("A small HTTP/1.1 server on Tarn.", "appserver");
  line.add_option("--config", given.config, "TOML file")->required();
  line.add_option("--port", given.port, "instead of server.port; 0: one that is free")->check(CLI::Range(0, 65'535));
  line.add_option("--workers", given.workers, "instead of server.workers")->check(CLI::Range(1, 1'024));
  line.add_option("--allocator", given.allocator, "tarn (arenas and heaps), or global (the process heap), to compare")
      ->transform(CLI::CheckedTransformer(std::map<std::string, appserver::allocator_kind>{
          {"tarn", appserver::allocator_kind::tarn}, {"global", appserver::allocator_kind::global}}));
  CLI11_PARSE(line, count, words);
  try {
    return serve(given);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "appserver: %s\n", error.what());
    return 1;
  }
}
