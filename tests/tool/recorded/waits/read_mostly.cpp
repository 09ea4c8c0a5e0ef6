// A configuration under a mutex: two threads read it for each row of a page, and a third one replaces it now and then.
// That is the first step of docs/guide/server-steps.md.
#include <charconv>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

constexpr int pages = 2000;
constexpr int rows = 100;
constexpr int reloads = 10;

using site = std::map<std::string, std::string>;
std::mutex site_lock;
site current{{"title", "Tarn"}, {"footer", "the end"}};

[[gnu::noinline]] std::size_t write_row() {
  const std::lock_guard hold(site_lock);
  return current.find("title")->second.size();
}

[[gnu::noinline]] void reload(int number) {
  const std::lock_guard hold(site_lock);
  for (int setting = 0; setting < 200; ++setting) {
    current[std::to_string(setting)] = std::string(100, 'a') + std::to_string(number);
  }
}

// The work outside the lock is more, so that a thread which loses its processor seldom has the lock.
[[gnu::noinline]] std::size_t serve() {
  std::size_t bytes = 0;
  char text[32];
  for (int page = 0; page < pages; ++page) {
    for (int row = 0; row < rows; ++row) {
      bytes += write_row();
      for (int column = 0; column < 10; ++column) {
        bytes += static_cast<std::size_t>(std::to_chars(text, text + sizeof text, row * column).ptr - text);
      }
    }
  }
  return bytes;
}

}  // namespace

int main() {
  std::size_t bytes[2] = {};
  std::thread first([&] { bytes[0] = serve(); });
  std::thread second([&] { bytes[1] = serve(); });
  for (int number = 0; number < reloads; ++number) {
    reload(number);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  first.join();
  second.join();
  return bytes[0] == bytes[1] ? 0 : 1;
}
