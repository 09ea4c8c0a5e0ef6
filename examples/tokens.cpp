// Creates, splits and destroys strings as a server does for each request: naively, and with warm objects. `tokens
// naive|warm CYCLES` runs one of them; tokens_test.py counts the allocations of each under valgrind.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <tarn/tarn.hpp>

namespace {

/// The input: a line of five words, the second with a path of four parts and a query of three fields.
std::string_view arrive(char (&buffer)[256], unsigned long cycle) {
  const int length =
      std::snprintf(buffer, sizeof buffer,
                    "GET /sessions/student-%lu/messages/unread-since-yesterday?from=%lu&order=newest-first&"
                    "format=text/plain;charset=utf-8 HTTP/1.1 Host:server-of-the-class.example keep-alive",
                    cycle % 10'000, cycle % 1'000);
  return {buffer, static_cast<std::size_t>(length)};
}

namespace naive {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string answer(std::string_view received) {
  const std::string line(received);
  std::string reply;
  for (const std::string& word : split(line, ' ')) {
    for (const std::string& part : split(word, '/')) {
      for (const std::string& field : split(part, '&')) {
        reply += field;
        reply += '\n';
      }
    }
  }
  return reply;
}

}  // namespace naive

namespace warm {

tarn::recycled_object<std::string> answer(std::string_view received) {
  auto line = tarn::recycle<std::string>();  // with the capacity of one before
  line->assign(received);
  auto reply = tarn::recycle<std::string>();
  for (const std::string_view word : tarn::split(*line, ' ')) {  // views into the line, in a list that is warm, too
    for (const std::string_view part : tarn::split(word, '/')) {
      for (const std::string_view field : tarn::split(part, '&')) {
        *reply += field;
        *reply += '\n';
      }
    }
  }
  return reply;
}

}  // namespace warm

std::size_t sum_of(std::string_view reply) {
  std::size_t sum = reply.size();
  for (const char letter : reply) {
    sum = sum * 31 + static_cast<unsigned char>(letter);
  }
  return sum;
}

std::size_t run(bool is_warm, unsigned long cycles) {
  char buffer[256];
  std::size_t sum = 0;
  for (unsigned long cycle = 0; cycle < cycles; ++cycle) {
    const std::string_view received = arrive(buffer, cycle);
    sum += is_warm ? sum_of(*warm::answer(received)) : sum_of(naive::answer(received));
  }
  return sum;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3) {
    const bool is_warm = std::strcmp(arguments[1], "warm") == 0;
    std::printf("%zu\n", run(is_warm, std::strtoul(arguments[2], nullptr, 10)));
  } else {
    std::printf("%s\n", run(true, 1000) == run(false, 1000) ? "the same replies" : "other replies");
  }
}
