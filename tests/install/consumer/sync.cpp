// Uses the locking categories of an installed library: prints "ok".
#include <cstdio>
#include <string>

#include <tarn/application.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/with.hpp>

int main() {
  tarn::application app({.name = "consumer", .workers = 2});
  tarn::shared<int> a(0), b(0);
  tarn::reloadable<std::string> text("ok");
  app.on_work([&](tarn::worker&) { tarn::with(a, b, [](int& x, int& y) { ++x, ++y; }); });
  const int result = app.run();
  if (const int sum = a.unsafe_unlocked() + b.unsafe_unlocked(); result != 0 || sum != 4) {
    std::printf("run() returned %d, and the sum is %d; expected 0, and 4 by two workers\n", result, sum);
    return 1;
  }
  std::puts(text.with([](const std::string& t) { return t; }).c_str());
}
