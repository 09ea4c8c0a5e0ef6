// Shows a server's life: initialiser, workers, reloads and stop. Here the requests are numbers in a queue, and the
// server stops itself after the last one; docs/guide/application.md explains it.
#include <cstdio>
#include <deque>
#include <string>

#include <tarn/tarn.hpp>

namespace {

struct config {
  std::string greeting;
};
struct limits {
  int limit = 100;
};
struct queue {
  std::deque<int> waiting;
  long served = 0;
  bool is_closed = false;
};

tarn::read_only<config> settings;         // until the next start
tarn::reloadable<limits> current_limits;  // until the next reload
tarn::shared<queue> requests{tarn::rank{1, "requests"}};

void serve(tarn::worker& me) {
  while (!me.is_stopping()) {
    int request = 0;
    {
      auto lock = requests.lock();
      lock.wait([](const queue& q) { return q.is_closed || !q.waiting.empty(); });
      if (lock->is_closed) {
        return;
      }
      request = lock->waiting.front();
      lock->waiting.pop_front();
    }
    me.set_activity("a request");                // for the report, if it does not stop
    const auto now = current_limits.snapshot();  // one version for the whole request
    tarn::transient<std::pmr::string> reply(settings->greeting, &tarn::current_heap());
    reply->append(std::to_string(request));
    requests.with([&](queue& q) { q.served += request <= now->limit; });
  }
}

}  // namespace

int main() {
  tarn::application server({.name = "server", .workers = 2, .has_own_heaps = true, .heap = {.initial = 1 << 20}});
  server.on_initialise([&] {
    settings.build({"hello, "});
    requests.with([](queue& q) { q.waiting = {1, 2, 3, 4, 5}; });
  });
  server.on_work([&](tarn::worker& me) {
    if (me.number() == 0) {
      serve(me);
    } else {
      auto lock = requests.lock();
      lock.wait([](const queue& q) { return q.served == 5; });
      server.stop();  // as SIGTERM does
    }
  });
  server.on_reload([] { current_limits.publish(limits{200}); });  // SIGHUP
  server.on_stop([] { requests.with([](queue& q) { q.is_closed = true; }); });
  const int result = server.run();
  std::printf("%ld served, %d\n", requests.unsafe_unlocked().served, result);
  return result;
}
