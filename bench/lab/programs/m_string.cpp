// lab-m-string: a server of a line protocol splits `requests` requests of one client and answers each, as a student
// project with an allocation cache for each thread did. The forms hold its strings in different ways. Unit: one
// request. valgrind counts the allocations from outside.
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <tarn/recycle.hpp>
#include <tarn/tokens.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::string_view program = "m-string";

/// The source's string: an envelope and a buffer that it owns, both from malloc.
struct m_string {
  char* data = nullptr;
  std::size_t length = 0, capacity = 0;

  void append(std::string_view text) {
    if (text.empty()) return;
    if (data == nullptr || length + text.size() > capacity) {
      capacity = length + text.size() < 2 * capacity ? 2 * capacity : length + text.size();
      data = static_cast<char*>(std::realloc(data, capacity));
      if (data == nullptr) std::abort();
    }
    std::memcpy(data + length, text.data(), text.size());
    length += text.size();
  }
  std::string_view view() const { return {data, length}; }
};

/// The usual way to write it.
struct without_cache {
  static m_string* make() {
    void* const storage = std::malloc(sizeof(m_string));
    if (storage == nullptr) std::abort();
    return ::new (storage) m_string;
  }
  static void end(m_string* text) {
    std::free(text->data);
    std::free(text);
  }
};

/// The source's way: keeps freed strings with their buffers in an array of the thread.
class with_cache {
 public:
  static m_string* make() {
    cache* const own_cache = of_thread();
    if (own_cache->count == 0) return without_cache::make();
    m_string* const reused = own_cache->strings[--own_cache->count];
    reused->length = 0;
    return reused;
  }
  static void end(m_string* text) {
    cache* const own_cache = of_thread();
    if (own_cache->count == own_cache->strings.size()) return without_cache::end(text);
    own_cache->strings[own_cache->count++] = text;
  }

 private:
  struct cache {
    std::size_t count = 0;
    std::array<m_string*, 64> strings;
  };

  static pthread_key_t key() {
    static const pthread_key_t created = [] {
      pthread_key_t new_key;
      if (pthread_key_create(&new_key, empty) != 0) std::abort();
      return new_key;
    }();
    return created;
  }
  static cache* of_thread() {
    void* value = pthread_getspecific(key());
    if (value == nullptr) {
      value = new cache;
      pthread_setspecific(key(), value);
    }
    return static_cast<cache*>(value);
  }
  static void empty(void* thread_cache) {
    auto* const own_cache = static_cast<cache*>(thread_cache);
    while (own_cache->count > 0) without_cache::end(own_cache->strings[--own_cache->count]);
    delete own_cache;
  }
};

template <class Take>
void for_each_word(std::string_view line, Take take) {
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    take(line.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Each form answers a line with its words, the last first.
template <class Cache>
struct of_m_strings {
  template <class Send>
  static void answer(std::string_view received, Send send) {
    m_string* const line = Cache::make();
    line->append(received);
    m_string* parts[16];
    std::size_t count = 0;
    for_each_word(line->view(), [&](std::string_view word) {
      if (count == 16) return;
      parts[count] = Cache::make();
      parts[count++]->append(word);
    });
    m_string* const reply = Cache::make();
    while (count > 0) {
      reply->append(parts[--count]->view());
      reply->append(count == 0 ? "\n" : " ");
      Cache::end(parts[count]);
    }
    send(reply->view());
    Cache::end(reply);
    Cache::end(line);
  }
};

struct of_std_strings {
  template <class Send>
  static void answer(std::string_view received, Send send) {
    const std::string line(received);
    std::vector<std::string> parts;
    for_each_word(line, [&](std::string_view word) { parts.emplace_back(word); });
    std::string reply;
    for (; !parts.empty(); parts.pop_back()) (reply += parts.back()) += parts.size() == 1 ? '\n' : ' ';
    send(reply);
  }
};

struct of_recycled {
  template <class Send>
  static void answer(std::string_view received, Send send) {
    const auto parts = tarn::split(received, ' ');  // views, in a warm list
    auto reply = tarn::recycle<std::string>();      // reuses the buffer of an earlier one
    for (std::size_t count_left = parts.size(); count_left > 0; --count_left)
      (*reply += parts[count_left - 1]) += count_left == 1 ? '\n' : ' ';
    send(*reply);
  }
};

/// Uses no library: views, and one reply for the connection.
struct of_views {
  template <class Send>
  static void answer(std::string_view received, Send send) {
    std::string_view parts[16];
    std::size_t count = 0;
    for_each_word(received, [&](std::string_view word) {
      if (count < 16) parts[count++] = word;
    });
    thread_local std::string reply;
    reply.clear();
    while (count > 0) {
      reply += parts[--count];
      reply += count == 0 ? '\n' : ' ';
    }
    send(reply);
  }
};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = write(descriptor, text.data(), text.size());
    if (sent <= 0) lab::give_up(program, "the connection broke");
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

constexpr std::uint64_t at_once = 32;  // requests that the client sends before it reads

/// Answers until the client closes; the replies to the requests of one read go out in one write.
template <class Form>
void serve(int connection) {
  std::string buffer, replies;
  for (char part[16 * 1024];;) {
    const ssize_t bytes = read(connection, part, sizeof part);
    if (bytes <= 0) return;
    buffer.append(part, static_cast<std::size_t>(bytes));
    std::size_t begin = 0;
    for (std::size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      Form::answer(std::string_view(buffer).substr(begin, end - begin),
                   [&](std::string_view reply) { replies += reply; });
    }
    buffer.erase(0, begin);
    write_all(connection, replies);
    replies.clear();
  }
}

std::uint64_t sum_of(std::string_view text, std::uint64_t sum) {
  for (const char letter : text) sum = sum * 31 + static_cast<unsigned char>(letter);
  return sum;
}

std::uint64_t ask(int connection, std::uint64_t requests) {
  std::uint64_t sum = 0;
  std::string lines;
  for (std::uint64_t request = 0; request < requests;) {
    lines.clear();
    for (std::uint64_t left = std::min(at_once, requests - request); left > 0; --left, ++request) {
      char line[200];
      const int length = std::snprintf(
          line, sizeof line,
          "msg user-%llu@promotion-2010.example ~/public/answers/%llu state away for lunch, back at %llu o'clock\n",
          static_cast<unsigned long long>(request % 1000), static_cast<unsigned long long>(request),
          static_cast<unsigned long long>(request % 24));
      lines.append(line, static_cast<std::size_t>(length));
    }
    write_all(connection, lines);
    for (std::size_t left = lines.size(); left > 0;) {  // replies are as long as their requests
      char part[16 * 1024];
      const ssize_t bytes = read(connection, part, std::min(left, sizeof part));
      if (bytes <= 0) lab::give_up(program, "the connection broke");
      sum = sum_of({part, static_cast<std::size_t>(bytes)}, sum);
      left -= static_cast<std::size_t>(bytes);
    }
  }
  return sum;
}

/// The server's thread starts before the clock, and has answered one batch by then.
template <class Form>
outcome run(const settings& parameters) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) lab::give_up(program, "no sockets");
  std::thread server(serve<Form>, ends[1]);
  ask(ends[0], at_once);
  outcome result{.units = parameters["requests"]};
  lab::stopwatch watch;
  result.checksum = ask(ends[0], result.units);
  watch.stop(result);
  close(ends[0]);
  server.join();
  close(ends[1]);
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, program, {{.name = "requests", .usual = 100'000, .maximum = 100'000'000}},
                      {{"m-string", run<of_m_strings<without_cache>>},
                       {"m-string-cache", run<of_m_strings<with_cache>>},
                       {"std-string", run<of_std_strings>},
                       {"recycle", run<of_recycled>},
                       {"views", run<of_views>}});
}
