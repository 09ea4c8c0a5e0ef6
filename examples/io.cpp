// Reads and writes files without a system call for each line; docs/guide/io.md quotes it.
#include <tarn/io.hpp>
#include <tarn/io/format.hpp>
#include <tarn/io/log.hpp>

#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

void write_orders(const std::string& path) {
  tarn::io::writer orders(path);
  for (int number = 0; number < 1000; ++number) {
    tarn::io::print(orders, "order {} of {:.2f}\n", number, number * 1.5);
  }
  orders.gather({"total", ": ", "1000", "\n"});
  orders.close();  // throws what the destructor could only print
}

std::size_t read_orders(const std::string& path) {
  tarn::io::reader orders(path);
  std::size_t count = 0;
  while (const auto line = orders.line()) {  // a view of the buffer, until the next call
    count += line->starts_with("order ");
  }
  return count;
}

std::size_t longest_order(const std::string& path) {
  const tarn::io::mapped_file orders(path);
  std::size_t longest = 0;
  for (const std::string_view line : tarn::io::lines(orders)) {
    longest = std::max(longest, line.size());
  }
  return longest;
}

std::uint64_t lines_in(const std::string& path) { return tarn::io::count(tarn::io::mapped_file(path), '\n'); }

std::string last_words(const std::string& path) {
  if (const pid_t server = fork(); server == 0) {
    tarn::io::journal log(path, {.bytes = 1 << 20});
    log.append("started");
    tarn::io::print_line(log, "order {} begins", 17);
    raise(SIGKILL);  // nothing is flushed, nothing is closed
  } else {
    waitpid(server, nullptr, 0);
  }
  const tarn::io::journal_reader log(path);
  return std::string(log.lines().back().text);  // "order 17 begins"
}

std::size_t lines_logged(const std::string& path) {
  tarn::io::journal file(path, {.bytes = 1 << 20});
  tarn::io::logger http(file, "http");
  http.info("served {}", "/page");
  http.warning({{"user", "ada"}, {"ms", 120}}, "slow: {}", "/page");
  http.debug("not logged: the level is info");
  http.set_min_level(tarn::io::level::debug);  // at any time, in any thread
  http.debug("logged");
  return tarn::io::journal_reader(path).lines().size();
}

std::optional<std::string> resolve(const std::string& name) {
  addrinfo hints{}, *addresses = nullptr;
  hints.ai_family = AF_INET;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &addresses) != 0) {
    return std::nullopt;  // remembered, too
  }
  char text[NI_MAXHOST] = "";
  getnameinfo(addresses->ai_addr, addresses->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(addresses);
  return text;
}

tarn::io::memo<std::string, std::string> addresses(resolve, {.ttl_ms = 60'000, .negative_ttl_ms = 5'000});

std::uint64_t questions_for_three_answers() {
  for (int request = 0; request < 3; ++request) {
    const std::optional<std::string> address = addresses.get("localhost");
    if (address && address->empty()) return 0;
  }
  return addresses.statistics().loads;
}

std::optional<std::string> load(const std::string& path) {
  const tarn::io::mapped_file file(path);
  return std::string(file.view());
}

std::string path_of(const std::string& path) { return path; }

tarn::io::memo<std::string, std::string> pages(load, {.check_ms = 100}, {}, {}, path_of);

std::size_t bytes_in(const std::vector<std::string>& paths) {
  tarn::io::batch files;
  for (const std::string& path : paths) files.read_file(path);
  std::size_t bytes = 0;
  files.run([&](const tarn::io::batch_content& content) {  // as they come
    if (content) {
      bytes += content.get().size();
    } else {
      std::puts(content.error()->what());  // of this one; the others are read
    }
  });
  return bytes;
}

bool is_changed(const std::string& path, const std::string& second_path) {
  tarn::io::batch files;
  const tarn::io::batch_content& text = files.read_file(path);
  const tarn::io::batch_status& before = files.status(path);
  const tarn::io::batch_status& now = files.status(second_path);
  files.run();
  return now.get().modified_ns > before.get().modified_ns || now.get().bytes != text.get().size();
}

std::string missing(const std::string& path) {
  try {
    tarn::io::reader orders(path);
    return {};
  } catch (const tarn::io::error& failed) {
    return failed.what();  // "/none: cannot be opened to read: No such file or directory"
  }
}

}  // namespace

int main() {
  char name[] = "/tmp/tarn-example-XXXXXX";
  close(mkstemp(name));
  write_orders(name);
  const std::size_t count = read_orders(name);
  const std::size_t longest = longest_order(name);
  const std::uint64_t lines = lines_in(name);
  const std::size_t bytes = bytes_in({name, name, pages.get(name)->empty() ? "/none" : name});
  const bool has_changed = is_changed(name, name);
  std::remove(name);
  const std::string message = last_words(name);
  std::remove(name);
  const std::size_t logged = lines_logged(name);
  std::remove(name);
  std::printf("%zu orders, %zu, %llu, %s, %zu logged, %llu question, %zu bytes, %s, %s\n", count, longest,
              static_cast<unsigned long long>(lines), message.c_str(), logged,
              static_cast<unsigned long long>(questions_for_three_answers()), bytes,
              has_changed ? "changed" : "the same", missing("/none").c_str());
}
