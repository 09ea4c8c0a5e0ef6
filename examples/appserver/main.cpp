// An HTTP/1.1 server whose objects are in locking categories, and whose requests live in arenas.
// docs/guide/appserver.md.
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <tarn/tarn.hpp>

#include "server.hpp"

namespace {

struct command {
  std::string config;
  int port = -1;
  unsigned workers = 0;
  int processes = -1;
  appserver::allocator_kind allocator = appserver::allocator_kind::tarn;

  appserver::configuration load() const {
    appserver::configuration loaded = appserver::load(config);
    loaded.server.port = port >= 0 ? static_cast<std::uint16_t>(port) : loaded.server.port;
    loaded.server.workers = workers != 0 ? workers : loaded.server.workers;
    loaded.server.processes = processes >= 0 ? static_cast<unsigned>(processes) : loaded.server.processes;
    return loaded;
  }
};

void open_access_log(appserver::objects& shared_objects, const std::string& suffix = "") {
  if (const appserver::server_settings& settings = *shared_objects.settings; !settings.access_log.empty()) {
    shared_objects.access_log.emplace(settings.access_log + suffix,
                                      tarn::io::journal_options{.bytes = settings.access_log_size});
  }
}

int serve(const command& options) {
  using enum appserver::allocator_kind;
  appserver::configuration first = options.load();
  tarn::application server({.name = "appserver",
                            .workers = first.server.workers,
                            .processes = first.server.processes,
                            .stop_timeout = first.server.stop_timeout,
                            .has_own_heaps = options.allocator == tarn,
                            .heap = {.initial = first.server.heap}});
  appserver::objects shared_objects(first.site);
  appserver::listeners sockets;

  server.on_initialise([&] {  // one thread: what is read-only, and all that may fail
    shared_objects.settings.build(first.server);
    shared_objects.metrics.emplace(first.server.all_workers());
    shared_objects.budget.emplace(first.server.memory);
    sockets.open(*shared_objects.settings);
    if (first.server.processes == 0) {
      open_access_log(shared_objects);
    }
    std::printf("appserver: http://%s:%u/, %u workers\n", first.server.address.c_str(), sockets.port(),
                first.server.all_workers());
    std::fflush(stdout);
  });
  bool is_parent = true;
  server.on_process([&](unsigned number) {  // a journal is one process's
    is_parent = false;
    open_access_log(shared_objects, "." + std::to_string(number));
  });
  server.on_work([&](tarn::worker& me) { appserver::work(me, sockets, shared_objects, options.allocator); });
  server.on_reload([&] {  // SIGHUP: workers go on, each request with the version that it began with
    appserver::configuration next = options.load();
    shared_objects.site.publish(next.site);
    if (is_parent) {
      std::printf("appserver: configuration %llu%s\n",
                  static_cast<unsigned long long>(shared_objects.site.version_number()),
                  next.server == *shared_objects.settings ? "" : "; [server] has changed, too: from the next start on");
      std::fflush(stdout);
    }
  });
  return server.run();
}

}  // namespace

int main(int count, char** arguments) {
  command options;
  CLI::App line("A small HTTP/1.1 server on Tarn.", "appserver");
  line.add_option("--config", options.config, "TOML file")->required();
  line.add_option("--port", options.port, "instead of server.port; 0: one that is free")->check(CLI::Range(0, 65'535));
  line.add_option("--workers", options.workers, "instead of server.workers")->check(CLI::Range(1, 1'024));
  line.add_option("--processes", options.processes, "instead of server.processes; 0: none but this one")
      ->check(CLI::Range(0, 1'024));
  line.add_option("--allocator", options.allocator, "tarn (arenas and heaps), or global (the process heap), to compare")
      ->transform(CLI::CheckedTransformer(std::map<std::string, appserver::allocator_kind>{
          {"tarn", appserver::allocator_kind::tarn}, {"global", appserver::allocator_kind::global}}));
  CLI11_PARSE(line, count, arguments);
  try {
    return serve(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "appserver: %s\n", error.what());
    return 1;
  }
}
