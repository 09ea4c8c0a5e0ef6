// Proves in a test that a path asks neither the kernel nor the heap for anything; docs/guide/quiet-region.md quotes it.
#include <gtest/gtest.h>
#include <tarn/io.hpp>
#include <tarn/quiet_region.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

struct request {
  std::string_view method, path;
};

request parse(std::string_view text) {
  const std::size_t first = text.find(' '), two = text.find(' ', first + 1);
  return {text.substr(0, first), text.substr(first + 1, two - first - 1)};
}

TEST(parse, asks_for_nothing) {
  tarn::violation_log violations;
  request result;
  {
    const tarn::quiet_region quiet{"parse request", violations};
    result = parse("GET /orders/17 HTTP/1.1");
  }
  EXPECT_EQ(violations.count(), 0u) << violations.text();
  EXPECT_EQ(result.path, "/orders/17");
}

TEST(journal, asks_for_nothing_either) {
  const std::string path = testing::TempDir() + "tarn-quiet.journal";
  tarn::violation_log violations;
  {
    tarn::io::journal log(path, {.bytes = 1 << 20});
    log.append("the first line of a thread takes a chunk");
    const tarn::quiet_region quiet{"append", violations};
    for (int line = 0; line < 100; ++line) log.append("order 17 is paid");
  }
  EXPECT_EQ(violations.count(), 0u) << violations.text();
  std::remove(path.c_str());
}

std::string reply(const request& client_request) {
  return "you asked for " + std::string(client_request.path) + ", and here it is";
}

TEST(reply, is_not_quiet) {
  tarn::violation_log violations;
  {
    const tarn::quiet_region quiet{"reply", violations};
    reply({"GET", "/orders/17"});
  }
  if (tarn::quiet_region::observes_heap()) {
    EXPECT_GT(violations.count(), 0u);
  }
}

}  // namespace
