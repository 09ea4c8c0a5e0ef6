// lab-categories: the three kinds of objects of a server in P. Sommerlad, Some Performance Patterns, EuroPLoP
// 2002: its configuration, its sessions, and the reply that grows by appends. The forms differ in how they synchronise
// threads; the objects and the work are the same. Unit: one request. Counted: the locks taken for a request.
#include <tarn/tarn.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "together.hpp"
#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::uint64_t sessions_made = 4096;
constexpr unsigned settings_made = 64;

using configuration = std::map<std::string, std::string>;
using sessions = std::unordered_map<std::uint64_t, std::uint64_t>;  // the number of requests of each session

configuration make_configuration() {
  configuration settings_map;
  for (unsigned index = 0; index < settings_made; ++index) {
    settings_map["setting." + std::to_string(index)] = "the value of number " + std::to_string(index);
  }
  return settings_map;
}
sessions make_sessions() {
  sessions session_map;
  for (std::uint64_t index = 0; index < sessions_made; ++index) session_map[index] = 0;
  return session_map;
}

std::uint64_t sum_of(const sessions& session_map) {
  std::uint64_t sum = 0;
  for (const auto& [number, requests] : session_map) sum += requests * (number + 1);
  return sum;
}

thread_local std::uint64_t locks_taken = 0;

/// Counts the locks that its thread takes.
template <class Mutex>
class counting_mutex : public Mutex {
 public:
  void lock() {
    ++locks_taken;
    Mutex::lock();
  }
  bool try_lock() {
    ++locks_taken;
    return Mutex::try_lock();
  }
  void lock_shared() {
    ++locks_taken;
    Mutex::lock_shared();
  }
};

/// Makes every object thread-safe by itself: a lock around each of its functions.
template <class Mutex, template <class> class Reading>
class behind_locks {
 public:
  std::string setting(const std::string& name) {
    const Reading<Mutex> lock(configuration_mutex_);
    return configuration_.at(name);
  }
  void touch(std::uint64_t session) {
    const std::lock_guard lock(sessions_mutex_);
    ++sessions_[session];
  }
  std::uint64_t touched() const { return sum_of(sessions_); }

  class reply {
   public:
    void append(std::string_view text) {
      const std::lock_guard lock(mutex_);
      text_ += text;
    }
    std::string text() {
      const Reading<Mutex> lock(mutex_);
      return text_;
    }

   private:
    Mutex mutex_;
    std::string text_;
  };
  static std::unique_ptr<reply> make_reply() { return std::make_unique<reply>(); }

 private:
  Mutex configuration_mutex_, sessions_mutex_;
  configuration configuration_ = make_configuration();
  sessions sessions_ = make_sessions();
};
using mutexes = behind_locks<counting_mutex<std::mutex>, std::lock_guard>;
using reader_writer_locks = behind_locks<counting_mutex<std::shared_mutex>, std::shared_lock>;

/// The reply belongs to one thread, so it needs no lock and stays warm.
class own_reply {
 public:
  void append(std::string_view text) { *text_ += text; }
  const std::string& text() const { return *text_; }
  own_reply* operator->() { return this; }

 private:
  tarn::recycled_object<std::string> text_ = tarn::recycle<std::string>();
};

/// Data that never changes, or is replaced while it is read.
class built_once {
 public:
  built_once() { configuration_.build(make_configuration()); }
  const std::string& setting(const std::string& name) const { return configuration_->at(name); }

 private:
  tarn::read_only<configuration> configuration_;
};
class replaceable {
 public:
  std::string setting(const std::string& name) const {
    return configuration_.with([&](const configuration& settings) { return settings.at(name); });
  }

 private:
  tarn::reloadable<configuration> configuration_{make_configuration()};
};

template <class Configuration>
class by_category {
 public:
  auto setting(const std::string& name) const -> decltype(auto) { return configuration_.setting(name); }
  void touch(std::uint64_t session) {
    sessions_.with([&](sessions& counts) { ++counts[session]; });
  }
  std::uint64_t touched() const {
    return sessions_.read([](const sessions& counts) { return sum_of(counts); });
  }
  static own_reply make_reply() { return {}; }

 private:
  Configuration configuration_;
  tarn::shared<sessions, counting_mutex<std::mutex>> sessions_{make_sessions()};
};

/// Uses three settings, a session, and a reply of as many pieces as the parameter says.
template <class Server>
std::uint64_t serve(Server& server, std::uint64_t request, std::uint64_t pieces) {
  server.touch(request * 7919 % sessions_made);
  auto reply = Server::make_reply();
  for (unsigned index = 0; index < 3; ++index) {
    reply->append(server.setting("setting." + std::to_string((request + index * 13) % settings_made)));
    reply->append("\n");
  }
  for (std::uint64_t piece = 0; piece < pieces; ++piece) reply->append("a row of the page that was asked for\n");
  std::uint64_t sum = 0;
  const auto& text = reply->text();
  for (const char letter : text) sum = sum * 31 + static_cast<unsigned char>(letter);
  return sum;
}

template <class Server>
outcome run(const settings& parameters) {
  const std::uint64_t requests = parameters["requests"], pieces = parameters["pieces"];
  const auto threads = static_cast<unsigned>(parameters["threads"]);
  Server server;
  outcome result{.units = requests};
  std::vector<std::uint64_t> sums(threads), locks(threads);
  lab::run_together(
      threads, result,
      [&](unsigned) {
        for (std::uint64_t index = 0; index < requests / 16; ++index) static_cast<void>(serve(server, index, pieces));
        locks_taken = 0;
      },
      [&](unsigned self) {
        std::uint64_t sum = 0;
        for (std::uint64_t index = self; index < requests; index += threads) sum += serve(server, index, pieces);
        sums[self] = sum;
        locks[self] = locks_taken;
      });
  std::uint64_t lock_count = 0;
  for (unsigned index = 0; index < threads; ++index) {
    result.checksum += sums[index];
    lock_count += locks[index];
  }
  result.checksum += server.touched();
  result.counts = {{"locks", static_cast<double>(lock_count) / static_cast<double>(requests)}};
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "categories",
                      {{.name = "requests", .usual = 100'000, .maximum = 1'000'000'000},
                       {.name = "threads", .usual = 2, .maximum = 256},
                       {.name = "pieces", .usual = 40, .minimum = 0, .maximum = 100'000}},
                      {{"mutexes", run<mutexes>},
                       {"reader-writer-locks", run<reader_writer_locks>},
                       {"categories", run<by_category<built_once>>},
                       {"categories-reloadable", run<by_category<replaceable>>}});
}
