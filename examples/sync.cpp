// The locking categories, one by one. docs/sync.md explains them.
#include <cstdio>
#include <map>
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

}  // namespace

int main() { std::printf("%d\n", with_shared_data()); }
