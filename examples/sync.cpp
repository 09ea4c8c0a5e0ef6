// Shows the locking categories, one by one; docs/guide/sync.md explains them.
#include <atomic>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <tarn/async_shared.hpp>
#include <tarn/tarn.hpp>

namespace {

struct session {
  std::string user;
  int hits = 0;
};

namespace by_hand {

std::mutex sessions_lock;
std::map<int, session> sessions;

session& find(int id) {
  const std::lock_guard lock(sessions_lock);
  return sessions[id];  // the bug: the caller uses the session after the unlock
}
int hit(int id) { return ++find(id).hits; }

}  // namespace by_hand

namespace by_type {

tarn::shared<std::map<int, session>> sessions;

int hit(int id) {
  return sessions.with([id](auto& entries) { return ++entries[id].hits; });  // `entries[id]` cannot be returned
}

}  // namespace by_type

namespace by_design {

tarn::shared<std::map<std::string, std::atomic<int>>> hits;

std::atomic<int>& hits_of(const std::string& path) {
  return *hits.with([&](auto& entries) {
    return tarn::outlives(&entries[path]);  // no entry is ever erased, and each is atomic
  });
}

}  // namespace by_design

// Counts votes in several threads, which take the lock for each vote.
void count_under_lock(std::span<const std::string> votes, std::map<std::string, long>& counts, std::mutex& mutex) {
  for (const std::string& vote : votes) {
    const std::lock_guard lock(mutex);
    ++counts[vote];
  }
}

void count_in_parts(std::span<const std::string> votes, std::map<std::string, long>& counts, std::mutex& mutex) {
  std::map<std::string, long> part;  // of this thread alone: no lock
  for (const std::string& vote : votes) ++part[vote];
  const std::lock_guard lock(mutex);  // once for each thread
  for (const auto& [vote, count] : part) counts[vote] += count;
}

long with_parts() {
  const std::vector<std::string> votes = {"one", "two", "one"};
  std::map<std::string, long> counts;
  std::mutex mutex;
  std::thread second_thread([&] { count_under_lock(votes, counts, mutex); });
  count_in_parts(votes, counts, mutex);
  second_thread.join();
  return counts["one"];
}

int with_shared_data() {
  tarn::shared<std::map<int, session>> sessions{tarn::rank{10, "sessions"}};
  tarn::shared<std::vector<std::string>> log{tarn::rank{20, "log"}};

  sessions.with([](auto& entries) { entries[7] = {"ada", 0}; });  // the lock is held while the function runs
  const int hits = sessions.with([](auto& entries) { return ++entries[7].hits; });

  std::thread reader([&] {
    auto lines = log.lock();                                           // the same for a scope
    lines.wait([](const auto& entries) { return !entries.empty(); });  // woken by whoever makes it true
    lines->push_back("read");
  });
  tarn::with(sessions, log, [](auto& entries, auto& lines) {  // both, without deadlock
    lines.push_back(entries[7].user);
  });
  reader.join();
  return hits + static_cast<int>(log.read([](const auto& lines) { return lines.size(); }));
}

// The smallest coroutine that can wait: it runs at once, and nobody asks for its end.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

tarn::async_shared<std::map<int, session>> visitors;

detached visit(int id, std::string user) {
  auto lock = co_await visitors.lock();                                 // suspends while another coroutine holds it
  (*lock)[id] = {std::move(user), 1};                                   // `lock` may be kept across a co_await
  lock.unlock();                                                        // resumes the coroutine that has waited longest
  co_await visitors.with([id](auto& entries) { ++entries[id].hits; });  // the lock for one function
}

std::size_t with_coroutines() {
  visit(1, "ada");
  visit(2, "grace");
  return visitors.try_lock()->size();
}

struct routes {
  std::map<std::string, int> port_of;
};

int with_reloadable_data() {
  tarn::reloadable<routes> table(tarn::reload_options{.name = "routes"}, routes{{{"/", 80}}});

  const auto now = table.snapshot();     // one version for the whole request
  table.publish(routes{{{"/", 8080}}});  // by any thread, at any time: no reader waits
  const int before = now->port_of.at("/");

  const int after = table.with([](const routes& r) { return r.port_of.at("/"); });
  std::string report;
  for (const tarn::parked_reader& reader : table.parked_readers()) {
    report += reader.name + " still reads version " + std::to_string(reader.version) + "\n";
  }
  return before + after + (report.empty() ? 0 : 1);
}

int with_reloadable_data_by_key() {
  tarn::reloadable_map<std::string, int> limits({{"alpha", 10}, {"beta", 20}});
  limits.publish("alpha", 30);                    // replaces this value alone, or adds the key
  limits.update("beta", [](int& l) { l += 5; });  // loses no change; false without the key
  int alpha = 0;
  if (const auto limit = limits.find("alpha")) {  // a snapshot in a std::optional
    alpha = **limit;
  }
  const bool is_gone = limits.erase("beta");

  return is_gone ? alpha : 0;
}

struct proxy {
  std::string host;
};
struct config {
  std::vector<std::string> hosts;
  tarn::propagate_const<std::unique_ptr<proxy>> via;  // const access through a const config
};

std::size_t with_read_only_data() {
  static tarn::read_only<config> settings;
  settings.build({{"one", "two"}, std::make_unique<proxy>()});  // by the initialiser, once
  const tarn::work_phase from_here_on;                          // and now the workers

  std::size_t last_version = 0;
  std::thread([&] { last_version = settings->hosts.size() + settings->via->host.size(); }).join();
  return last_version;
}

std::size_t with_transient_data() {
  tarn::arena request;
  tarn::transient<std::pmr::string> reply("a reply", &request);
  reply->append(" of this thread");

  const tarn::thread_checked<tarn::arena*> own_arena(&request);  // a pointer that other threads may not use
  return reply->size() + own_arena->copy("!").size();
}

}  // namespace

int main() {
  std::printf("%d %d %d %ld %d %zu %d %d %zu %zu\n", by_hand::hit(7), by_type::hit(7), ++by_design::hits_of("/"),
              with_parts(), with_shared_data(), with_coroutines(), with_reloadable_data(),
              with_reloadable_data_by_key(), with_read_only_data(), with_transient_data());
}
