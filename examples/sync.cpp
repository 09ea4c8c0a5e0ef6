// Shows the locking categories, one by one; docs/guide/sync.md explains them.
#include <cstdio>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

#include <tarn/tarn.hpp>

namespace {

struct session {
  std::string user;
  int hits = 0;
};

int with_shared_data() {
  tarn::shared<std::map<int, session>> sessions{tarn::rank{10, "sessions"}};
  tarn::shared<std::vector<std::string>> log{tarn::rank{20, "log"}};

  sessions.with([](auto& all) { all[7] = {"ada", 0}; });  // the lock is held while the function runs
  const int hits = sessions.with([](auto& all) { return ++all[7].hits; });

  std::thread reader([&] {
    auto lines = log.lock();                                   // the same for a scope
    lines.wait([](const auto& all) { return !all.empty(); });  // woken by whoever makes it true
    lines->push_back("read");
  });
  tarn::with(sessions, log, [](auto& all, auto& lines) {  // both, without deadlock
    lines.push_back(all[7].user);
  });
  reader.join();
  return hits + static_cast<int>(log.read([](const auto& lines) { return lines.size(); }));
}

struct routes {
  std::map<std::string, int> port_of;
};

int with_reloadable_data() {
  tarn::reloadable<routes> table(tarn::reload_options{.name = "routes"}, routes{{{"/", 80}}});

  const auto now = table.snapshot();     // one version for the whole request
  table.publish(routes{{{"/", 8080}}});  // by any thread, at any time: nobody waits
  const int before = now->port_of.at("/");

  const int after = table.with([](const routes& r) { return r.port_of.at("/"); });
  std::string report;
  for (const tarn::parked_reader& reader : table.parked()) {
    report += reader.name + " still reads version " + std::to_string(reader.version) + "\n";
  }
  return before + after + (report.empty() ? 0 : 1);
}

struct proxy {
  std::string host;
};
struct config {
  std::vector<std::string> hosts;
  tarn::deep<std::unique_ptr<proxy>> via;  // const access through a const config
};

std::size_t with_read_only_data() {
  static tarn::read_only<config> settings;
  settings.build({{"one", "two"}, std::make_unique<proxy>()});  // by the initialiser, once
  const tarn::working from_here_on;                             // and now the workers

  std::size_t seen = 0;
  std::thread([&] { seen = settings->hosts.size() + settings->via->host.size(); }).join();
  return seen;
}

std::size_t with_transient_data() {
  tarn::arena request;
  tarn::transient<std::pmr::string> reply("a reply", &request);
  reply->append(" of this thread");

  const tarn::thread_checked<tarn::arena*> mine(&request);  // a pointer that other threads may not use
  return reply->size() + mine->copy("!").size();
}

}  // namespace

int main() {
  std::printf("%d %d %zu %zu\n", with_shared_data(), with_reloadable_data(), with_read_only_data(),
              with_transient_data());
}
